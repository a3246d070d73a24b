#!/usr/bin/env python3
"""Makes the pages with columns in tests/it/data. Each page is an image (columns-*.png) with its text in reading order (columns-*.txt).

    pip install pillow
    python tests/reference/column_pages.py LiberationSerif-Regular.ttf LiberationSans-Regular.ttf LiberationSans-Bold.ttf

Made with Pillow and the Liberation fonts 2. Blocks are separated by an empty line. A word can be divided by a hyphen at the end of a line.
"""

import sys
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

SERIF, SANS, BOLD = sys.argv[1:4]
TARGET = Path(__file__).resolve().parent.parent / "it/data"

UNIFORMS = """School uniforms reduce visible differences of income between pupils and make mornings easier for parents. Critics answer
that clothes are one of the few ways in which young people can express themselves. A study of ten districts found no effect on grades,
but fewer absences in the first year."""
ENERGY = """Nuclear plants run day and night and need little land, yet their waste has to be guarded for longer than any state has
existed. Wind farms are built in a year or two, and nobody has to be evacuated when one of them fails. The price of storage has fallen
every year since the first large batteries were connected to the grid."""
GAMES = """Video games train attention and patience, say some researchers, while others count the hours that are taken from sleep.
Parents who play together with their children report fewer quarrels about it. Voting at sixteen would give a voice to those who live
longest with the results of an election."""


def font(path, size):
    return ImageFont.truetype(path, size)


def wrapped(text, face, width):
    lines, line = [], ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if face.getlength(longer) <= width:
            line = longer
        elif len(word) > 8 and face.getlength(f"{line} {word[:5]}-") <= width:
            lines.append(f"{line} {word[:5]}-")
            line = word[5:]
        else:
            lines.append(line)
            line = word
    return lines + [line]


class Page:
    def __init__(self, name, width, height, ground="white"):
        self.name, self.image, self.blocks = name, Image.new("RGB", (width, height), ground), []
        self.draw = ImageDraw.Draw(self.image)

    def block(self, x, y, lines, face, lead, fill="black", justified=None, bullets=False):
        """Draws lines. All lines except the last are spread to the width `justified`, if given. Returns the y position of the next line."""
        for number, line in enumerate(lines):
            words = line.split()
            if justified and number + 1 < len(lines):
                gap = (justified - sum(map(face.getlength, words))) / max(len(words) - 1, 1)
                at = x
                for word in words:
                    self.draw.text((at, y), word, font=face, fill=fill)
                    at += face.getlength(word) + gap
            else:
                self.draw.text((x, y), line, font=face, fill=fill)
            y += lead
        self.blocks.append("\n".join(lines))
        return y

    def save(self, greys=16):
        self.image.convert("L").quantize(greys).save(TARGET / f"columns-{self.name}.png", optimize=True)
        (TARGET / f"columns-{self.name}.txt").write_text("\n\n".join(self.blocks) + "\n")


def article():
    """Two columns under a heading that spans them, another heading, two columns."""
    page, face, head = Page("article", 760, 720), font(SERIF, 20), font(BOLD, 34)
    y = page.block(40, 30, ["What pupils wear, and why"], head, 60)
    ends = [page.block(x, y, wrapped(text, face, 320), face, 26) for x, text in ((40, UNIFORMS), (390, ENERGY))]
    y = page.block(40, max(ends) + 25, ["And what they play and think"], font(BOLD, 28), 50)
    for x, text in ((40, GAMES), (390, UNIFORMS)):
        page.block(x, y, wrapped(text, face, 320), face, 26)
    page.save()


def newspaper():
    """Three justified columns with gutters that are hardly wider than spaces, and a note below."""
    page, face = Page("newspaper", 900, 480), font(SERIF, 19)
    for x, text in ((30, ENERGY), (315, GAMES), (600, UNIFORMS)):
        end = page.block(x, 30, wrapped(text, face, 265), face, 24, justified=265)
    page.block(30, 440, ["Letters to the editor may be shortened."], font(SANS, 15), 20)
    page.save()


def broadsheet():
    """Six justified columns of small print in a large picture, as in the scan of a newspaper, under a title and a heading."""
    page, face, head = Page("broadsheet", 2460, 2080), font(SERIF, 24), font(BOLD, 36)
    page.block(700, 40, ["THE HARBOUR COURIER"], font(BOLD, 96), 120)
    page.block(60, 180, ["Three questions that divide the town council"], font(BOLD, 52), 70)
    sentences = [s.strip() + "." for text in (UNIFORMS, ENERGY, GAMES) for s in text.replace("\n", " ").split(".") if s.strip()]
    for column in range(6):
        x, y = 60 + 392 * column, 280
        for number in range(6):
            # sentences in another order in each paragraph
            chosen = [sentences[(3 * column + 5 * number + step * (column + 1)) % len(sentences)] for step in range(3)]
            if number == 3:
                y = page.block(x, y + 10, [("Letters", "Schools", "Energy", "Sports", "Council", "Weather")[column]], head, 60)
            y = page.block(x, y, wrapped(" ".join(chosen), face, 350), face, 29, justified=350)
    page.save(4)


def pros_and_cons():
    """Two lists side by side. Their rows are farther apart than the lists."""
    page, face, head = Page("pros-and-cons", 900, 560, "#fff6dd"), font(SANS, 24), font(BOLD, 34)
    page.block(250, 30, ["School uniforms: yes or no?"], font(BOLD, 30), 40)
    lists = (
        (60, "PROS", ["No quarrels in the morning", "All pupils look equal", "Strangers are noticed at", "Fewer absences"]),
        (470, "CONS", ["They cost money twice", "Nobody can show who he is", "Grades stay as they are", "They are hot in summer"]),
    )
    for x, name, items in lists:
        lines = [name]
        page.draw.text((x, 110), name, font=head, fill="#222")
        for number, item in enumerate(items):
            y = 190 + 85 * number
            page.draw.text((x, y), item, font=face, fill="#222")
            lines.append(item)
        page.blocks.append("\n".join(lines))
    page.save()


def panels():
    """Three panels with headings under a title, and a source below them."""
    page, face, head = Page("panels", 960, 420, "#eeeeee"), font(SANS, 18), font(BOLD, 24)
    page.block(300, 25, ["Three ways to lower prices"], font(BOLD, 30), 40)
    texts = (
        ("Taxes", "A tax that falls on every trade moves money quickly, but those who have little pay the same."),
        ("Trade", "Open borders bring cheap goods and close some of the factories that made them before."),
        ("Storage", "What is stored when it is cheap can be sold when it is dear, as long as it does not spoil."),
    )
    for number, (name, text) in enumerate(texts):
        x = 40 + 305 * number
        page.draw.rectangle((x - 15, 95, x + 265, 345), fill="white", outline="#999999")
        page.block(x, 110, [name], head, 40)
        page.block(x, 155, wrapped(text, face, 235), face, 24)
    page.block(40, 370, ["Source: a textbook of economics"], font(SANS, 16), 20)
    page.save()


for make in (article, newspaper, broadsheet, pros_and_cons, panels):
    make()
