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
