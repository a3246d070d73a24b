-- The evidence store. Vectors are 32-bit floats, little-endian.

CREATE TABLE IF NOT EXISTS document (
    document TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,          -- over names and sizes of the files it was read from
    url TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS work (                     -- what has been computed, and by what
    document TEXT NOT NULL, channel TEXT NOT NULL, producer TEXT NOT NULL,
    PRIMARY KEY (document, channel)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS fault (
    document TEXT NOT NULL, channel TEXT NOT NULL, number INTEGER NOT NULL,
    kind TEXT NOT NULL, path TEXT NOT NULL, line INTEGER, what TEXT NOT NULL,
    PRIMARY KEY (document, channel, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS page (
    document TEXT NOT NULL, page TEXT NOT NULL, url TEXT NOT NULL,
    found TEXT NOT NULL,                -- how the image's element was found: xpath, url, no
    names_image INTEGER NOT NULL,       -- the element carries the image's name
    title TEXT NOT NULL, description TEXT NOT NULL, alt TEXT NOT NULL, title_attribute TEXT NOT NULL,
    caption TEXT NOT NULL, headings TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL, main TEXT NOT NULL,
    PRIMARY KEY (document, page)
);
CREATE TABLE IF NOT EXISTS crawl_rank (
    document TEXT NOT NULL, page TEXT NOT NULL, number INTEGER NOT NULL,
    query TEXT NOT NULL, topic TEXT NOT NULL, rank INTEGER NOT NULL,
    PRIMARY KEY (document, page, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ocr_line (                 -- corners in pixels, clockwise from the text's upper left
    document TEXT NOT NULL, line INTEGER NOT NULL, text TEXT NOT NULL, confidence REAL NOT NULL,
    x1 REAL NOT NULL, y1 REAL NOT NULL, x2 REAL NOT NULL, y2 REAL NOT NULL,
    x3 REAL NOT NULL, y3 REAL NOT NULL, x4 REAL NOT NULL, y4 REAL NOT NULL,
    PRIMARY KEY (document, line)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS picture (
    document TEXT PRIMARY KEY, width INTEGER NOT NULL, height INTEGER NOT NULL,
    phash TEXT NOT NULL,                -- 16 hexadecimal digits
    text_fraction REAL NOT NULL, brightness REAL NOT NULL, contrast REAL NOT NULL,
    saturation REAL NOT NULL, colourfulness REAL NOT NULL,
    red REAL NOT NULL, green REAL NOT NULL, blue REAL NOT NULL, bright REAL NOT NULL, dark REAL NOT NULL,
    average TEXT NOT NULL,               -- rrggbb
    colours INTEGER NOT NULL, edges REAL NOT NULL, flat REAL NOT NULL, photograph REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS clip (document TEXT PRIMARY KEY, vector BLOB NOT NULL);   -- 32-bit floats, little-endian
CREATE TABLE IF NOT EXISTS sentence (
    document TEXT NOT NULL, page TEXT NOT NULL, part TEXT NOT NULL, vector BLOB NOT NULL,
    PRIMARY KEY (document, page, part)
);
CREATE TABLE IF NOT EXISTS vader (
    document TEXT NOT NULL, page TEXT NOT NULL, part TEXT NOT NULL, compound REAL NOT NULL,
    PRIMARY KEY (document, page, part)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS afinn (
    document TEXT NOT NULL, page TEXT NOT NULL, part TEXT NOT NULL, sum REAL NOT NULL, words INTEGER NOT NULL,
    PRIMARY KEY (document, page, part)
) WITHOUT ROWID;
-- The texts that the collection gives for an image; no row if it gives none.
CREATE TABLE IF NOT EXISTS given_text (document TEXT PRIMARY KEY, caption TEXT NOT NULL, text TEXT NOT NULL) WITHOUT ROWID;
-- The blocks of the text in an image, in reading order. A block has the lines from `first_line` up to the line before the next block. The trigger
-- removes them when the lines are removed.
CREATE TABLE IF NOT EXISTS ocr_block (
    document TEXT NOT NULL, block INTEGER NOT NULL, first_line INTEGER NOT NULL,
    PRIMARY KEY (document, block)
) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS ocr_line_left AFTER DELETE ON ocr_line
    BEGIN DELETE FROM ocr_block WHERE document = OLD.document; END;
-- What computed a channel of a document, and in which numbers (int8, float). It is kept beside the producer, which decides whether the
-- channel is computed again: a backend depends on the machine, and stores move between machines. The triggers remove it when the
-- channel is computed again.
CREATE TABLE IF NOT EXISTS backend (
    document TEXT NOT NULL, channel TEXT NOT NULL, backend TEXT NOT NULL, numeric TEXT NOT NULL,
    PRIMARY KEY (document, channel)
) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS work_removed AFTER DELETE ON work
    BEGIN DELETE FROM backend WHERE document = OLD.document AND channel = OLD.channel; END;
CREATE TRIGGER IF NOT EXISTS work_changed AFTER UPDATE ON work
    BEGIN DELETE FROM backend WHERE document = OLD.document AND channel = OLD.channel; END;
-- The files that a document's evidence was computed from. If `state` is that of the files, they have not changed; otherwise their
-- contents are read and compared with `content`. The triggers remove it when the document is written.
CREATE TABLE IF NOT EXISTS file_state (
    document TEXT PRIMARY KEY,
    state TEXT NOT NULL,                -- a hash over names, sizes, times and inodes; empty if it cannot be relied upon
    content TEXT NOT NULL               -- a hash over names and contents
) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS document_written AFTER INSERT ON document
    BEGIN DELETE FROM file_state WHERE document = NEW.document; END;
CREATE TRIGGER IF NOT EXISTS document_changed AFTER UPDATE ON document
    BEGIN DELETE FROM file_state WHERE document IN (OLD.document, NEW.document); END;
CREATE TRIGGER IF NOT EXISTS document_deleted AFTER DELETE ON document
    BEGIN DELETE FROM file_state WHERE document = OLD.document; END;
-- Documents in which riposte died. Nothing is computed of them as long as the files and the producers are the same as when it died.
-- The triggers remove a document when evidence of it is stored.
CREATE TABLE IF NOT EXISTS passed_over (
    document TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,          -- over names and sizes of its files
    content TEXT NOT NULL,              -- over names and contents of its files
    producers TEXT NOT NULL,            -- riposte's version, and the producers of all channels
    path TEXT NOT NULL, what TEXT NOT NULL
) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS work_stored AFTER INSERT ON work
    BEGIN DELETE FROM passed_over WHERE document = NEW.document; END;
-- A hash of the words of each document, stored by a program that has read them. With it, an index of the words can detect changes
-- without reading all of them. Triggers (here and in tables.rs) delete it when the words change, by riposte or by hand.
CREATE TABLE IF NOT EXISTS text_hash (document TEXT PRIMARY KEY, hash INTEGER NOT NULL) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS document_removed AFTER DELETE ON document
    BEGIN DELETE FROM text_hash WHERE document = OLD.document; END;
-- For each document and each table of evidence, a checksum over the document's rows in that table (checksum.rs). Triggers delete it
-- when the rows change. A program that writes the rows and knows this table adds it again.
CREATE TABLE IF NOT EXISTS checksum (
    document TEXT NOT NULL, of_table TEXT NOT NULL,
    sum INTEGER NOT NULL,               -- the first 8 bytes of a SHA-256, little-endian
    PRIMARY KEY (document, of_table)
) WITHOUT ROWID;
