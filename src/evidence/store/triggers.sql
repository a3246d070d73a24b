-- A program that does not know one of these tables changes the others, so triggers remove what no longer holds.

-- the channel is computed again
CREATE TRIGGER IF NOT EXISTS work_removed AFTER DELETE ON work
    BEGIN DELETE FROM backend WHERE document = OLD.document AND channel = OLD.channel; END;
CREATE TRIGGER IF NOT EXISTS work_changed AFTER UPDATE ON work
    BEGIN DELETE FROM backend WHERE document = OLD.document AND channel = OLD.channel; END;
-- evidence of a document is stored after all
CREATE TRIGGER IF NOT EXISTS work_stored AFTER INSERT ON work
    BEGIN DELETE FROM passed_over WHERE document = NEW.document; END;
-- the image is read again
CREATE TRIGGER IF NOT EXISTS ocr_line_left AFTER DELETE ON ocr_line
    BEGIN DELETE FROM ocr_block WHERE document = OLD.document; END;
-- the document is written or removed
CREATE TRIGGER IF NOT EXISTS document_written AFTER INSERT ON document
    BEGIN DELETE FROM file_state WHERE document = NEW.document; END;
CREATE TRIGGER IF NOT EXISTS document_changed AFTER UPDATE ON document
    BEGIN DELETE FROM file_state WHERE document IN (OLD.document, NEW.document); END;
CREATE TRIGGER IF NOT EXISTS document_deleted AFTER DELETE ON document
    BEGIN DELETE FROM file_state WHERE document = OLD.document; END;
CREATE TRIGGER IF NOT EXISTS document_removed AFTER DELETE ON document
    BEGIN DELETE FROM text_hash WHERE document = OLD.document; END;
