-- The blocks of the text in an image, in reading order. A block has the lines from `first_line` up to the line before the next block. The trigger
-- removes them when a version of riposte that does not know this table reads the image again.
CREATE TABLE IF NOT EXISTS ocr_block (
    document TEXT NOT NULL, block INTEGER NOT NULL, first_line INTEGER NOT NULL,
    PRIMARY KEY (document, block)
) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS ocr_line_left AFTER DELETE ON ocr_line
    BEGIN DELETE FROM ocr_block WHERE document = OLD.document; END;
