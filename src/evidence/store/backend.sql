-- What computed a channel of a document, and in which numbers (int8, float). It is kept beside the producer, which decides whether the
-- channel is computed again: a backend depends on the machine, and stores move between machines. The triggers remove it when this program,
-- or another version of it that does not know this table, computes the channel again.
CREATE TABLE IF NOT EXISTS backend (
    document TEXT NOT NULL, channel TEXT NOT NULL, backend TEXT NOT NULL, numeric TEXT NOT NULL,
    PRIMARY KEY (document, channel)
) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS work_removed AFTER DELETE ON work
    BEGIN DELETE FROM backend WHERE document = OLD.document AND channel = OLD.channel; END;
CREATE TRIGGER IF NOT EXISTS work_changed AFTER UPDATE ON work
    BEGIN DELETE FROM backend WHERE document = OLD.document AND channel = OLD.channel; END;
