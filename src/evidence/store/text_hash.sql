-- A hash of the words of each document, stored by a program that has read them. With it, an index of the words can detect changes
-- without reading all of them. Triggers (here and in tables.rs) delete it when the words change, whether by riposte,
-- another version of it, or by hand.
CREATE TABLE IF NOT EXISTS text_hash (document TEXT PRIMARY KEY, hash INTEGER NOT NULL) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS document_removed AFTER DELETE ON document
    BEGIN DELETE FROM text_hash WHERE document = OLD.document; END;
