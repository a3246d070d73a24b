#!/usr/bin/env python3
"""Chooses the likeness from which an image illustrates an argument, on pairs whose sides are known.

    benches/illustrations.py SHEETS QRELS ARGUMENTS

SHEETS is the file of `riposte images --debate` for the sample, QRELS its judgements and ARGUMENTS its args-me.json. A pair is an image of a sheet with
the argument that it is most like. It is right if the image is judged to be on the side that the argument truly takes, and wrong otherwise; pairs that an
argument of the other side is as like are left out, as on the sheet. A limit errs on each wrong pair above it and on each right pair below it. For each
topic, the limit is the best one of the other topics, so that the printed error is that of topics it has not seen.
"""

import json
import sys
from collections import defaultdict

LIMITS = [round(0.3 + 0.05 * n, 2) for n in range(14)]


def true_side(argument, claim):
    """PRO or CON towards the claim by the argument's label; None for an argument without a side."""
    conclusion = argument["conclusion"].lower()
    if conclusion.endswith("?"):
        return None
    supports = argument["premises"][0]["stance"] == "PRO"
    return "PRO" if supports == (conclusion == claim.lower()) else "CON"


def pairs(sheets, qrels, arguments):
    """(topic, likeness, right) of each pair."""
    judged = defaultdict(dict)
    for line in open(qrels):
        topic, name, image, grade = line.split()
        judged[topic, image][name] = int(grade)
    arguments = {argument["id"]: argument for argument in json.load(open(arguments))["arguments"]}
    found = []
    for line in open(sheets):
        sheet = json.loads(line)
        for image in sheet["images"]:
            like = image.get("like")
            if like is None or like.get("other_side", -1.0) >= like["likeness"]:
                continue
            side = true_side(arguments[like["argument"]], sheet["claim"])
            right = side is not None and judged[sheet["topic"], image["image"]].get(side, 0) > 0
            found.append((sheet["topic"], like["likeness"], right))
    return found


def errors(found, limit):
    wrong = sum(likeness >= limit and not right for _, likeness, right in found)
    missed = sum(likeness < limit and right for _, likeness, right in found)
    return wrong, missed


def best(found):
    return min(LIMITS, key=lambda limit: sum(errors(found, limit)))


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    found = pairs(*sys.argv[1:])
    right = sum(right for *_, right in found)
    print(f"{len(found)} pairs, {right} of them right")
    print("limit  wrong  missed")
    for limit in LIMITS:
        wrong, missed = errors(found, limit)
        print(f"{limit:5.2f}  {wrong:5}  {missed:6}")
    total = 0
    for topic in sorted({topic for topic, *_ in found}):
        others = [pair for pair in found if pair[0] != topic]
        total += sum(errors([pair for pair in found if pair[0] == topic], best(others)))
    print(f"best limit: {best(found)}; error on topics it has not seen: {total} of {len(found)}")


main()
