#!/usr/bin/env python3
"""Grows a collection and its evidence to any size by hard links under new ids: for measuring how ranking scales.

    replicate.py COLLECTION EVIDENCE N OUT      makes OUT/collection and OUT/evidence.sqlite with N images

The copies say the same as their originals, so a run on them shows time and memory and nothing else.
"""
import hashlib, os, pathlib, shutil, sqlite3, sys

KEYED = ("document", "work", "page", "crawl_rank", "ocr_line", "picture", "clip", "sentence", "vader", "afinn")


def link(source, target):
    shutil.copytree(source, target, copy_function=os.link)


def main(collection, evidence, count, out):
    root, out = pathlib.Path(collection), pathlib.Path(out)
    originals = sorted((root / "images").glob("I??/I*"))
    (out / "collection").mkdir(parents=True)
    shutil.copy(root / "topics.xml", out / "collection")
    shutil.copy(evidence, out / "evidence.sqlite")
    store = sqlite3.connect(out / "evidence.sqlite")
    columns = {t: [row[1] for row in store.execute(f"PRAGMA table_info({t})")][1:] for t in KEYED}
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
    # another hash for each copy, or they would all be one picture
    for number, (document,) in enumerate(store.execute("SELECT document FROM picture").fetchall()):
        digest = hashlib.sha256(document.encode()).hexdigest()[:16]
        store.execute("UPDATE picture SET phash = ? WHERE document = ?", (digest, document))
    store.commit()


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
