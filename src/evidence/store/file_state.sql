-- The files that a document's evidence was computed from. If `state` is that of the files, they have not changed; otherwise their
-- contents are read and compared with `content`. The triggers remove it when a version of riposte that does not know this table writes
-- the document.
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
