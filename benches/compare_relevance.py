#!/usr/bin/env python3
"""Compares riposte's relevance with BM25 over snapshot/text.txt, a baseline that it must clearly beat.

    compare_relevance.py COLLECTION QRELS EXPLAIN

EXPLAIN is a file written by `riposte images -i COLLECTION --explain EXPLAIN`. Both rank the images that QRELS judges for a
topic; the output is P@5, P@10 and average precision by the judgement ONTOPIC. The BM25 (k1 = 1.2, b = 0.75; lower-case words
without stop words and without the s of plurals) shares no code with riposte.
"""
import collections, json, math, pathlib, re, sys
import xml.etree.ElementTree as ET

STOP = set("a an and are as at be by can could do does for from has have if in into is it its more most no not of on or our "
           "should so such than that the their them these they this to was we were what when which who will with would you your".split())


def terms(text):
    words = re.findall(r"[a-z0-9]+", text.lower())
    return [w[:-1] if len(w) > 3 and w.endswith("s") and not w.endswith("ss") else w for w in words if w not in STOP]


def bm25(root):
    """Topic number -> image -> score, over the text of all pages of an image."""
    documents = {}
    for directory in sorted((root / "images").glob("I??/I*")):
        texts = [p.read_text(encoding="utf-8", errors="replace") for p in sorted(directory.glob("pages/*/snapshot/text.txt"))]
        documents[directory.name] = collections.Counter(terms(" ".join(texts)))
    lengths = {d: sum(c.values()) for d, c in documents.items()}
    mean = sum(lengths.values()) / max(1, len(lengths)) or 1
    frequency = collections.Counter(t for c in documents.values() for t in c)

    def score(document, query):
        total = 0.0
        for term in query:
            tf, df = documents[document][term], frequency[term]
            idf = math.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
            total += idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * lengths[document] / mean))
        return total

    topics = ET.parse(root / "topics.xml").getroot().iter("topic")
    return {t.findtext("number").strip(): {d: score(d, terms(t.findtext("title"))) for d in documents} for t in topics}


def relevance(explain):
    """Topic number -> image -> the relevance in its explanation."""
    scores = collections.defaultdict(dict)
    for line in open(explain, encoding="utf-8"):
        image = json.loads(line)
        parts = (image["pro"] or image["con"])["parts"]
        scores[image["topic"]][image["image"]] = next(p["value"] for p in parts if p["id"] == "relevance")
    return scores


def measures(scores, grades):
    order = sorted(grades, key=lambda d: (-scores.get(d, 0.0), d))
    hits = [grades[d] for d in order]
    average = sum(sum(hits[:k]) / k for k, hit in enumerate(hits, 1) if hit) / max(1, sum(hits))
    return sum(hits[:5]) / 5, sum(hits[:10]) / 10, average


def main(collection, qrels, explain):
    grades = collections.defaultdict(dict)
    for line in open(qrels, encoding="utf-8"):
        topic, question, image, grade = line.split()
        if question == "ONTOPIC":
            grades[topic][image] = int(int(grade) >= 1)
    print(f"{'on topic, judged images':24} topic     P@5    P@10      AP")
    for name, scores in (("BM25 over text.txt", bm25(pathlib.Path(collection))), ("riposte", relevance(explain))):
        rows = {t: measures(scores.get(t, {}), g) for t, g in sorted(grades.items()) if t in scores}
        rows["mean"] = tuple(sum(r[i] for r in rows.values()) / max(1, len(rows)) for i in range(3))
        for topic, (p5, p10, average) in rows.items():
            print(f"{name:24} {topic:>5}   {p5:.3f}   {p10:.3f}   {average:.3f}")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
