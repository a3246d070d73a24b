-- The texts that the collection gives for an image; no row if it gives none.
CREATE TABLE IF NOT EXISTS given_text (document TEXT PRIMARY KEY, caption TEXT NOT NULL, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS given_text_added AFTER INSERT ON given_text
    BEGIN DELETE FROM text_hash WHERE document = NEW.document; END;
CREATE TRIGGER IF NOT EXISTS given_text_removed AFTER DELETE ON given_text
    BEGIN DELETE FROM text_hash WHERE document = OLD.document; END;
CREATE TRIGGER IF NOT EXISTS given_text_changed AFTER UPDATE ON given_text
    BEGIN DELETE FROM text_hash WHERE document IN (OLD.document, NEW.document); END;
