#!/usr/bin/env python3
"""Enlarges a collection and its evidence by hard links under new ids, to measure how ranking scales.

    replicate.py COLLECTION EVIDENCE N OUT      makes OUT/collection and OUT/evidence.sqlite with N images

The copies have the contents of their originals, so only the time and the memory of a run on them are meaningful.
"""
import hashlib, os, pathlib, shutil, sqlite3, sys

KEYED = ("document", "work", "page", "crawl_rank", "ocr_line", "ocr_block", "given_text", "picture", "clip", "sentence", "vader", "afinn")


def link(source, target):
    shutil.copytree(source, target, copy_function=os.link)


def main(collection, evidence, count, out):
    root, out = pathlib.Path(collection), pathlib.Path(out)
    originals = sorted((root / "images").glob("I??/I*"))
    (out / "collection").mkdir(parents=True)
    shutil.copy(root / "topics.xml", out / "collection")
    shutil.copy(evidence, out / "evidence.sqlite")
    store = sqlite3.connect(out / "evidence.sqlite")
    # an older store lacks some tables
    columns = {t: [row[1] for row in store.execute(f"PRAGMA table_info({t})")][1:] for t in KEYED}
    columns = {table: rest for table, rest in columns.items() if rest}
    for number in range(count):
        original = originals[number % len(originals)]
        copy = original.name
        if number >= len(originals):
            copy = "I" + hashlib.sha256(f"{original.name} {number}".encode()).hexdigest()[:16]
            for table, rest in columns.items():
                names = ", ".join(rest)
                store.execute(f"INSERT INTO {table} (document, {names}) SELECT ?, {names} FROM {table} WHERE document = ?",
                              (copy, original.name))
        link(original, out / "collection/images" / copy[:3] / copy)
    # each copy gets a different perceptual hash, otherwise all copies would count as one picture
    for number, (document,) in enumerate(store.execute("SELECT document FROM picture").fetchall()):
        digest = hashlib.sha256(document.encode()).hexdigest()[:16]
        store.execute("UPDATE picture SET phash = ? WHERE document = ?", (digest, document))
    store.commit()


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
