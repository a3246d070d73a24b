#!/usr/bin/env python3
"""Counts what `riposte ask` shows on the right side, on the six questions of the sample.

    benches/answers.py RIPOSTE SAMPLE [OPTION]...

SAMPLE is a collection with topics.xml, qrels.txt and args-me.json; the options are passed to `riposte ask`. An image is on the right side if it is judged
to be, an argument if its label says so towards the claim. What is undecided, or below the line "less likely to be about it", is on no side.
"""

import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path


def true_side(argument, claim, counter_claim):
    """PRO or CON towards the claim by the argument's label; None for an argument without a side, or about something else."""
    conclusion = argument["conclusion"].lower()
    supports = argument["premises"][0]["stance"] == "PRO"
    if conclusion == claim.lower():
        return "PRO" if supports else "CON"
    if conclusion == counter_claim.lower():
        return "CON" if supports else "PRO"
    return None


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    riposte, sample, *options = sys.argv[1:]
    sample = Path(sample)
    titles = re.findall("<title>(.*?)</title>", (sample / "topics.xml").read_text())
    judged = defaultdict(dict)
    for line in (sample / "qrels.txt").read_text().splitlines():
        topic, name, image, grade = line.split()
        judged[topic, image][name] = int(grade)
    arguments = json.loads((sample / "args-me.json").read_text())["arguments"]
    arguments = {argument["id"]: argument for argument in arguments}
    counts = Counter()
    for number, title in enumerate(titles, 1):
        command = [riposte, "ask", "-q", "--json", title, "-i", str(sample), *options]
        answer = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        claims = [side["claim"] for side in answer["sides"]]
        for side in answer["sides"]:
            for image in side["images"]:
                grades = judged[str(number), image["id"]]
                if image["padding"]:
                    verdict = "below the line"
                elif grades.get(side["side"], 0) > 0:
                    verdict = "right"
                else:
                    verdict = "wrong side" if grades.get("ONTOPIC", 0) > 0 else "off topic"
                counts["images", verdict] += 1
            for argument in side["arguments"]:
                if argument["padding"]:
                    verdict = "below the line"
                elif true_side(arguments[argument["id"]], *claims) == side["side"]:
                    verdict = "right"
                else:
                    verdict = "wrong"
                counts["arguments", verdict] += 1
        for what in ["images", "arguments"]:
            counts[what, "undecided"] += len(answer["undecided"][what])
    for (what, verdict), count in sorted(counts.items()):
        print(f"{what:9}  {verdict:14}  {count}")


main()
