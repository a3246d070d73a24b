#!/usr/bin/env python3
"""Makes the reference values of sentiment with the usual Python packages.

    python -m venv venv && venv/bin/pip install vaderSentiment==3.3.2 afinn==0.1
    venv/bin/python tests/reference/sentiment.py make
    venv/bin/python tests/reference/sentiment.py lexicon
    venv/bin/python tests/reference/sentiment.py score LINES.txt > VALUES.json

make     writes tests/reference/vader.json and tests/reference/afinn.json: invented lines, at least one for
         each rule, and random combinations of rules, with the values that the packages compute.
lexicon  writes src/evidence/sentiment/{lexicon,emoji}.tsv from the files of vaderSentiment: the columns and
         entries that its code uses (words with mean valence; emoji of one code point with description).
score    prints a line {"text", "compound", "sum", "words"} for each line of your own files, or for each file with
         --whole. With RIPOSTE_SENTIMENT_LINES=VALUES.json, `cargo test` compares riposte with these values.
"""

import argparse
import importlib.resources
import itertools
import json
import random
import shutil
from pathlib import Path

from afinn import Afinn
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

ROOT = Path(__file__).resolve().parent.parent.parent

# The rules of polarity_scores with their edge cases and exceptions.
RULES = """\
|the empty text
    |blanks alone
VADER is smart, handsome, and funny.|lexicon words
VADER is smart, handsome, and funny!|one exclamation mark
VADER is smart, handsome, and funny!!!!!!|exclamation marks are counted to four
Is VADER smart?|one question mark adds nothing
Is VADER smart, really smart? Is it??|three question marks
Is VADER smart????|more than three
Is it awful??!!|both, on a negative text
!!!|marks without a word
?!|marks without a word, two characters
VADER is VERY SMART, handsome, and FUNNY.|capitals among small letters
VADER IS SMART, HANDSOME, AND FUNNY.|capitals everywhere are no emphasis
The food is AWFUL but the view is lovely.|capitals, negative
A HORRIBLE, TERRIBLE idea|capitals, two negative words
İSTANBUL is GREAT, ſo GREAT|letters with special case mappings
The book was good.|plain
The book was very good.|booster
The book was extremely very good.|two boosters
The book was really, truly, very good.|three words back
The book was EXTREMELY good.|booster in capitals
The book was EXTREMELY bad.|booster in capitals before a negative word
The book was barely good.|dampener
The book was somewhat bad.|dampener before a negative word
The book was only kind of good.|kind of
The book was sort of bad, sort of boring.|sort of
It is just enough good.|just enough
a kind of magic|kind of before a neutral word
She is kind of kind|kind as itself and as part of kind of
kind|kind at the end
I kinda like it|kinda
an uber cool FRIGGIN great day|slang boosters
The book was not good.|negation, one word back
The book was not very good.|negation, two words back
The book was not at all good.|negation, three words back
The book was not by any means good.|negation, four words back is too far
It isn't good, it wasn't bad.|contractions
It isnt good and they cant win|contractions without apostrophe
It wouldn't've been great|n't inside a word
It isn’t good|a typographic apostrophe is not n't
No one ain't never happy|several negations
I have never been happy|never
Never so good, never so bad|never so
never this happy again|never this
It was never quite so good|so between
It is so good|so alone
this is so very bad|so, three words back
you are so so lucky today|so twice
this good this is lucky|this
without doubt good|without doubt
Without a doubt excellent idea|without a doubt
without any doubt excellent|without any doubt
without good reason|without as a negation
without doubt an excellent idea|without doubt an
Hardly anybody likes it, despite the praise|despite and hardly
seldom happy, rarely sad|seldom, rarely
It is the least good of all|least
At least it is good|at least
at least good|at least, adjacent
very least good|very least
least good|least at the start
the least bad option|least before a negative word
Least interesting talk EVER|least in capitals
no|no alone
No!|no alone, with emphasis
no good|no before a lexicon word
no great loss|no two words back
No good or bad reason|no three words back with or
no evil nor hate|no with nor
no more taxes|no before a neutral word
NO good will come|no in capitals among small letters
say NO HATE here|no and its word in capitals
I have no no hope|no twice
There is no|no at the end
The plot was good, but the characters are uncompelling and the dialog is not great.|but
good but good but bad|the first but counts
but good|but at the start
good bad but|but at the end
BUT I love it and hate it|but in capitals
I love love love it but hate hate hate that|equal valences around but
great good great but good great good bad bad|equal valences, several
nice nice but nice, nice, nice|the same word on both sides
one two but three|but without sentiment
good, but not good, but never good|but with negations
the shit|idiom without its lexicon context
This song is the shit|the shit
That was the bomb, friend|the bomb
he is a bad ass guy|bad ass
such a total badass dude|badass
We met at the bus stop today|bus stop
oh well yeah right sure fine|yeah right
It is the kiss of death for them|kiss of death
a dessert to die for|to die for
these cakes are really to die for, friends|to die for, in the middle
my beating heart is glad|beating heart
the heart and the hearts|words that the lexicon got in 3.3
Make sure you :) or :D today!|emoticons
so sad :( :'( ): D:|sad emoticons
<3 </3 xoxo :-P ;-) }:-)|more emoticons
:)good (:great:)|emoticons glued to words
Catch utf-8 emoji such as 💘 and 💋 and 😁|emoji
😂😂😂|emoji alone, adjacent
great😡awful|emoji between letters
😀 ❤ ☹ ☠|emoji of the basic plane
❤️ and 👍🏽 and 👩‍👩‍👧 and 🇩🇪|emoji of several code points
love 💔but hate|emoji glued to but
Today SUX!|slang with capitals
Today only kinda sux! But I'll get by, lol|slang, booster, but
Not bad at all|capitalised negation
"Great", he said; (terrible), [wonderful] {awful}!|punctuation around words
'''good''' *bad* _great_ ~awful~ `nice`|markup around words
ok. no. :o b) x|tokens of two characters or fewer keep their punctuation
a+ A- D-: 8) =) xD XD|short tokens that are lexicon words
good-looking, well-being, self-hate|hyphens
good/bad/ugly|slashes
e.g. i.e. U.S.A. GREAT|abbreviations and capitals
100% GOOD, 50% bad, $$$ 5|digits are not capitals
2FAST 4U is GREAT|digits with capitals
don't don`t don"t worry be happy|apostrophes
gооd|Cyrillic letters that look Latin
sehr gut, très bien, muy bien, ужасно, 很好|other languages
good\u00a0bad\u2003great\u3000awful\u1680fine|Unicode blanks separate words
good\u200bbad great\ufeffawful|zero-width characters do not
good\u001cbad\u001dgreat\u001eawful\u001ffine|separators that Python's split knows
good\u0085bad\u000bgreat\u000cawful|more of them
Lower the voting age!! Young people DESERVE a say, and they are NOT too immature to vote.|a poster
Anonymity does not make trolls; toxic platforms do. Ban hate, not names.|a claim
Social networks: isolation, addiction, bullying... but also friendship and support.|a list
I never said it was not a bad idea|stacked negations
It's not that the vaccine isn't safe, it's that nobody trusts it anymore|far negation
"""

PARTS = [
    ["", "not", "never", "no", "very", "VERY", "least", "at least", "kind of", "without", "hardly", "never so"],
    ["", "so", "really", "a", "this", "doubt", "or", "nor", "extremely"],
    ["good", "BAD", "hope", "terrible", "kind", "shit", "no", "table"],
    ["", "!", "but awful", "but GREAT?", "and happy 😁", "??? :("],
]


def lines():
    for line in RULES.splitlines():
        text, _, rule = line.rpartition("|")
        if "\\u" in text:
            text = text.encode().decode("unicode_escape")
        yield text, rule
    chosen = random.Random(2022)
    combined = [" ".join(p for p in parts if p) for parts in itertools.product(*PARTS)]
    for text in chosen.sample(combined, 300):
        yield text, "combination"
    # long texts with many words before and after "but", and with repeated valences
    yield " ".join(chosen.choices(combined, k=400)), "long text"
    yield " ".join(chosen.choices(["good", "bad", "table", "nice", "fine,"], k=900) + ["but"]
                   + chosen.choices(["good", "sad", "chair"], k=900)), "long text with one but"


def score(vader, afinn, text):
    found = afinn.scores(text)
    return {"text": text, "compound": vader.polarity_scores(text)["compound"],
            "sum": sum(found), "words": len(found)}


def write(path, values):
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = ",\n".join(json.dumps(v, ensure_ascii=True) for v in values)
    path.write_text(f"[\n{rows}\n]\n", encoding="utf-8")


def make(vader):
    write(ROOT / "tests/reference/vader.json",
          [{"text": t, "rule": r, "compound": vader.polarity_scores(t)["compound"]} for t, r in lines()])
    # AFINN's list is under the ODbL and not in this repository, so the reference has another word list
    listed = {"good": 3, "not good": -2, "bad": -3, "bad luck": -2, "can't stand": -3, "cover-up": -3, "cover": 1,
              "luck": 3, "some kind": 0, "naïve": -2, "win": 4, "son-of-a-gun": -1}
    path = ROOT / "tests/reference/afinn.tsv"
    path.write_text("".join(f"{w}\t{s}\n" for w, s in listed.items()), encoding="utf-8")
    afinn = Afinn()
    afinn.setup_from_file(str(path))
    texts = ["", "   ", "Good!", "GOOD, bad and NOT  good", "not\n\tgood", "a bad luck-y day, bad lucky", "goodness, no-good",
             "I can't stand this cover-up, cover up", "some kind of win", "naïve NAÏVE naive", "win_win win-win win.win",
             "bad bad luck luck", "bad luck bad luck", "so-good son-of-a-gun, son-of-a-gunner son of a gun",
             "not good not not good", "well ... good?good", "cover-", "can't standing can't stand", "İwin ſwin winſ 3win win3"]
    write(ROOT / "tests/reference/afinn.json",
          [{"text": t, "sum": sum(afinn.scores(t)), "words": len(afinn.scores(t))} for t in texts])


def lexicon(vader):
    folder = ROOT / "src/evidence/sentiment"
    package = importlib.resources.files("vaderSentiment")
    means = {}
    for line in (package / "vader_lexicon.txt").read_text(encoding="utf-8").rstrip("\n").split("\n"):
        if line:
            word, mean = line.strip().split("\t")[:2]
            means[word] = mean
    assert {w: float(m) for w, m in means.items()} == vader.lexicon
    (folder / "lexicon.tsv").write_text("".join(f"{w}\t{m}\n" for w, m in means.items()), encoding="utf-8")
    # the code looks up single characters, so it never finds longer emoji
    (folder / "emoji.tsv").write_text(
        "".join(f"{e}\t{d}\n" for e, d in vader.emojis.items() if len(e) == 1), encoding="utf-8")
    licence = next(importlib.resources.files("vaderSentiment").parent.glob("vaderSentiment-*.dist-info/LICENSE*"))
    shutil.copyfile(licence, folder / "LICENSE-vaderSentiment")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["make", "lexicon", "score"])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--whole", action="store_true", help="read each file as one text")
    args = parser.parse_intermixed_args()
    vader = SentimentIntensityAnalyzer()
    if args.what == "make":
        make(vader)
    elif args.what == "lexicon":
        lexicon(vader)
    else:
        afinn = Afinn()
        for path in args.files:
            text = path.read_text(encoding="utf-8", errors="replace")
            for one in [text] if args.whole else text.splitlines():
                print(json.dumps(score(vader, afinn, one)))


if __name__ == "__main__":
    main()
