-- For each document and each table of evidence, a checksum over the document's rows in that table (checksum.rs). Triggers delete it
-- when the rows change. A program that writes the rows and knows this table adds it again.
CREATE TABLE IF NOT EXISTS checksum (
    document TEXT NOT NULL, of_table TEXT NOT NULL,
    sum INTEGER NOT NULL,               -- the first 8 bytes of a SHA-256, little-endian
    PRIMARY KEY (document, of_table)
) WITHOUT ROWID;
