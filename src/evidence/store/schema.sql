-- The evidence store. Vectors are 32-bit floats, little-endian.

CREATE TABLE document (
    document TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,          -- over names and sizes of the files it was read from
    url TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE work (                     -- what has been computed, and by what
    document TEXT NOT NULL, channel TEXT NOT NULL, producer TEXT NOT NULL,
    PRIMARY KEY (document, channel)
) WITHOUT ROWID;
CREATE TABLE fault (
    document TEXT NOT NULL, channel TEXT NOT NULL, number INTEGER NOT NULL,
    kind TEXT NOT NULL, path TEXT NOT NULL, line INTEGER, what TEXT NOT NULL,
    PRIMARY KEY (document, channel, number)
) WITHOUT ROWID;
CREATE TABLE page (
    document TEXT NOT NULL, page TEXT NOT NULL, url TEXT NOT NULL,
    found TEXT NOT NULL,                -- how the image's element was found: xpath, url, no
    names_image INTEGER NOT NULL,       -- the element carries the image's name
    title TEXT NOT NULL, description TEXT NOT NULL, alt TEXT NOT NULL, title_attribute TEXT NOT NULL,
    caption TEXT NOT NULL, headings TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL, main TEXT NOT NULL,
    PRIMARY KEY (document, page)
);
CREATE TABLE crawl_rank (
    document TEXT NOT NULL, page TEXT NOT NULL, number INTEGER NOT NULL,
    query TEXT NOT NULL, topic TEXT NOT NULL, rank INTEGER NOT NULL,
    PRIMARY KEY (document, page, number)
) WITHOUT ROWID;
CREATE TABLE ocr_line (                 -- corners in pixels, clockwise from the text's upper left
    document TEXT NOT NULL, line INTEGER NOT NULL, text TEXT NOT NULL, confidence REAL NOT NULL,
    x1 REAL NOT NULL, y1 REAL NOT NULL, x2 REAL NOT NULL, y2 REAL NOT NULL,
    x3 REAL NOT NULL, y3 REAL NOT NULL, x4 REAL NOT NULL, y4 REAL NOT NULL,
    PRIMARY KEY (document, line)
) WITHOUT ROWID;
CREATE TABLE picture (
    document TEXT PRIMARY KEY, width INTEGER NOT NULL, height INTEGER NOT NULL,
    phash TEXT NOT NULL,                -- 16 hexadecimal digits
    text_fraction REAL NOT NULL, brightness REAL NOT NULL, contrast REAL NOT NULL,
    saturation REAL NOT NULL, colourfulness REAL NOT NULL,
    red REAL NOT NULL, green REAL NOT NULL, blue REAL NOT NULL, bright REAL NOT NULL, dark REAL NOT NULL,
    average TEXT NOT NULL,               -- rrggbb
    colours INTEGER NOT NULL, edges REAL NOT NULL, flat REAL NOT NULL, photograph REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE clip (document TEXT PRIMARY KEY, vector BLOB NOT NULL);   -- 32-bit floats, little-endian
CREATE TABLE sentence (
    document TEXT NOT NULL, page TEXT NOT NULL, part TEXT NOT NULL, vector BLOB NOT NULL,
    PRIMARY KEY (document, page, part)
);
CREATE TABLE vader (
    document TEXT NOT NULL, page TEXT NOT NULL, part TEXT NOT NULL, compound REAL NOT NULL,
    PRIMARY KEY (document, page, part)
) WITHOUT ROWID;
CREATE TABLE afinn (
    document TEXT NOT NULL, page TEXT NOT NULL, part TEXT NOT NULL, sum REAL NOT NULL, words INTEGER NOT NULL,
    PRIMARY KEY (document, page, part)
) WITHOUT ROWID;
