#!/usr/bin/env python3
"""Makes tests/it/data/poster-words.png, the letters of the posters that tests/it/ocr.rs draws.

    pip install pillow
    python tests/reference/poster_words.py Ubuntu-Light.ttf

Made with Pillow 13.0 and the font of the crate epaint_default_fonts 0.37 (fonts/Ubuntu-Light.ttf). Each line of text has a
strip with a height of 224 pixels and a baseline at 160. The value of a pixel, from 0 to 255, is the share of it that ink covers. The letters
are four times as large as on the posters (39.25 pixels per em), so the test can rotate them without losing their shapes.
"""

import sys
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

LINES = ["Votes for all citizens", "at sixteen"]
WIDTH, STRIP, BASELINE, EM = 1664, 224, 160, 157

font = ImageFont.truetype(sys.argv[1], EM)
image = Image.new("L", (WIDTH, STRIP * len(LINES)))
for number, line in enumerate(LINES):
    ImageDraw.Draw(image).text((0, number * STRIP + BASELINE), line, fill=255, font=font, anchor="ls")
target = Path(__file__).resolve().parent.parent / "it/data/poster-words.png"
image.save(target, optimize=True)
print(target.name, target.stat().st_size, "bytes")
