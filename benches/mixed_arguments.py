#!/usr/bin/env python3
"""Makes a large collection of arguments out of a small one: each has the conclusion of a real argument, and sentences of arguments with that conclusion.

    mixed_arguments.py ARGS-ME.JSON N OUT       writes OUT with N arguments

Unlike those of `collection-tools generate-arguments`, the arguments have real words, so models read as many pieces of them as of real ones, and questions
about them are questions. A third of the sentences is of other arguments. The lengths are about those of args.me.
"""
import json, random, re, sys


def sentences(text):
    return [part for part in re.split(r"(?<=[.!?])\s+", text) if part.strip()]


def main(source, count, out):
    drawn = random.Random(1)
    arguments = json.load(open(source))["arguments"]
    of, everything = {}, []
    for argument in arguments:
        found = [s for premise in argument["premises"] for s in sentences(premise["text"])]
        of.setdefault(argument["conclusion"], []).extend(found)
        everything.extend(found)
    with open(out, "w") as file:
        file.write('{"arguments": [\n')
        for number in range(count):
            argument = drawn.choice(arguments)
            own = of[argument["conclusion"]] or everything
            # half of the arguments of args.me have fewer than 230 words, and the mean is 440
            words, length, text = 0, max(8, int(drawn.lognormvariate(5.5, 0.95))), []
            while words < length and words < 6000:
                text.append(drawn.choice(own if drawn.random() < 2 / 3 else everything))
                words += len(text[-1].split())
            premise = {"text": " ".join(text), "stance": drawn.choice(["PRO", "CON"]), "annotations": []}
            new = {**argument, "id": f"S{number // 4:08x}-A{number:08x}", "premises": [premise]}
            file.write(("" if number == 0 else ",\n") + json.dumps(new))
        file.write("\n]}\n")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
