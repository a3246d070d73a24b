-- The outputs of models for queries and for pairs of texts. They are stored so that a ranking from the same evidence has the same bytes on
-- machines whose floating-point kernels differ, and on machines without the models.
CREATE TABLE IF NOT EXISTS query_vector (
    producer TEXT NOT NULL,             -- the model and its version
    text TEXT NOT NULL,                 -- the query, or the first half of a SHA-256 of longer inputs in hexadecimal
    vector BLOB NOT NULL,               -- 32-bit floats, little-endian
    PRIMARY KEY (producer, text)
);
