-- A hash of the words of each document, stored by a program that has read them. With it, an index of the words can detect changes
-- without reading all of them. The triggers delete it when the words change, whether by riposte, another version of it, or by hand.
CREATE TABLE IF NOT EXISTS text_hash (document TEXT PRIMARY KEY, hash INTEGER NOT NULL) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS document_removed AFTER DELETE ON document
    BEGIN DELETE FROM text_hash WHERE document = OLD.document; END;
CREATE TRIGGER IF NOT EXISTS page_added AFTER INSERT ON page
    BEGIN DELETE FROM text_hash WHERE document = NEW.document; END;
CREATE TRIGGER IF NOT EXISTS page_removed AFTER DELETE ON page
    BEGIN DELETE FROM text_hash WHERE document = OLD.document; END;
CREATE TRIGGER IF NOT EXISTS page_changed AFTER UPDATE ON page
    BEGIN DELETE FROM text_hash WHERE document IN (OLD.document, NEW.document); END;
CREATE TRIGGER IF NOT EXISTS ocr_line_added AFTER INSERT ON ocr_line
    BEGIN DELETE FROM text_hash WHERE document = NEW.document; END;
CREATE TRIGGER IF NOT EXISTS ocr_line_removed AFTER DELETE ON ocr_line
    BEGIN DELETE FROM text_hash WHERE document = OLD.document; END;
CREATE TRIGGER IF NOT EXISTS ocr_line_changed AFTER UPDATE ON ocr_line
    BEGIN DELETE FROM text_hash WHERE document IN (OLD.document, NEW.document); END;
