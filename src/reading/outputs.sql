-- The outputs of models for queries and for pairs of texts. With them, a ranking from the same evidence has the same bytes on machines with other
-- floating-point kernels, and on machines without the models.
CREATE TABLE IF NOT EXISTS query_vector (
    producer TEXT NOT NULL,             -- the model and its version
    text TEXT NOT NULL,                 -- the query, or the first half of a SHA-256 of longer inputs in hexadecimal
    vector BLOB NOT NULL,               -- 32-bit floats, little-endian
    PRIMARY KEY (producer, text)
);
-- The kinds of numbers in which a producer's outputs in this file were computed (int8, float); both if different machines have written them.
-- The record is only information: no output is computed again because of it.
CREATE TABLE IF NOT EXISTS output_numeric (
    producer TEXT NOT NULL, numeric TEXT NOT NULL,
    PRIMARY KEY (producer, numeric)
) WITHOUT ROWID;
-- A checksum over each output and its key. The triggers delete it when the output changes; a writer that knows this table then adds it
-- again. Outputs without a checksum come from an earlier version.
CREATE TABLE IF NOT EXISTS query_vector_sum (
    producer TEXT NOT NULL, text TEXT NOT NULL,
    sum INTEGER NOT NULL,               -- the first 8 bytes of a SHA-256, little-endian
    PRIMARY KEY (producer, text)
) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS query_vector_added AFTER INSERT ON query_vector
    BEGIN DELETE FROM query_vector_sum WHERE producer = NEW.producer AND text = NEW.text; END;
CREATE TRIGGER IF NOT EXISTS query_vector_changed AFTER UPDATE ON query_vector
    BEGIN DELETE FROM query_vector_sum WHERE producer IN (OLD.producer, NEW.producer) AND text IN (OLD.text, NEW.text); END;
CREATE TRIGGER IF NOT EXISTS query_vector_removed AFTER DELETE ON query_vector
    BEGIN DELETE FROM query_vector_sum WHERE producer = OLD.producer AND text = OLD.text; END;
