-- What models, services and other computations have produced, apart from evidence. With it, a ranking of the same collection has the same
-- bytes on machines with other floating-point kernels, and on machines without the models.
CREATE TABLE IF NOT EXISTS output (
    producer TEXT NOT NULL,             -- what computed the value, and its version
    key TEXT NOT NULL,                  -- contains a hash of the input, so a changed input has no output
    value BLOB NOT NULL,                -- in the producer's format; outputs of models are 32-bit floats, little-endian
    numeric TEXT NOT NULL,              -- the numbers in which a model computed it: int8 or float; otherwise empty
    checksum INTEGER NOT NULL,          -- over the other columns: the first 8 bytes of a SHA-256, little-endian
    PRIMARY KEY (producer, key)
);
