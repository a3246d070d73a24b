-- The texts that the collection gives for an image; no row if it gives none.
CREATE TABLE IF NOT EXISTS given_text (document TEXT PRIMARY KEY, caption TEXT NOT NULL, text TEXT NOT NULL) WITHOUT ROWID;
