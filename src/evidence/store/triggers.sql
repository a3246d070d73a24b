-- A program that does not know some of these tables can change the others. So triggers remove the rows that no longer hold.

-- the channel is removed or computed again, so its backend is outdated
CREATE TRIGGER IF NOT EXISTS work_removed AFTER DELETE ON work
    BEGIN DELETE FROM backend WHERE document = OLD.document AND channel = OLD.channel; END;
CREATE TRIGGER IF NOT EXISTS work_changed AFTER UPDATE ON work
    BEGIN DELETE FROM backend WHERE document = OLD.document AND channel = OLD.channel; END;
-- evidence of the document is stored, so it is no longer passed over
CREATE TRIGGER IF NOT EXISTS work_stored AFTER INSERT ON work
    BEGIN DELETE FROM passed_over WHERE document = NEW.document; END;
-- the lines are removed, so their blocks are, too
CREATE TRIGGER IF NOT EXISTS ocr_line_left AFTER DELETE ON ocr_line
    BEGIN DELETE FROM ocr_block WHERE document = OLD.document; END;
-- the document is written or removed, so what was recorded of its files and words is outdated
CREATE TRIGGER IF NOT EXISTS document_written AFTER INSERT ON document
    BEGIN DELETE FROM file_state WHERE document = NEW.document; END;
CREATE TRIGGER IF NOT EXISTS document_changed AFTER UPDATE ON document
    BEGIN DELETE FROM file_state WHERE document IN (OLD.document, NEW.document); END;
CREATE TRIGGER IF NOT EXISTS document_deleted AFTER DELETE ON document
    BEGIN DELETE FROM file_state WHERE document = OLD.document; END;
CREATE TRIGGER IF NOT EXISTS document_removed AFTER DELETE ON document
    BEGIN DELETE FROM text_hash WHERE document = OLD.document; END;
