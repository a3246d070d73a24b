//! The tables of the store.

use crate::evidence::channel::Channels;
use crate::evidence::table::ColumnType::{Integer, Text};
use crate::evidence::table::EvidenceTable;
use crate::evidence::{ocr, page};

/// The version of the tables. It must be increased when they change.
pub(super) const SCHEMA_VERSION: i64 = 1;

/// The documents, with a fingerprint over names and sizes of the files that each was read from.
pub(super) static DOCUMENT: EvidenceTable =
    EvidenceTable::new("document", 0, &[(Text, "fingerprint url")]);

/// What has been computed, and by what.
pub(super) static WORK: EvidenceTable =
    EvidenceTable::new("work", 1, &[(Text, "channel producer")]);

/// What computed a channel of a document, and in which numbers (int8, float). It is kept beside the producer, which decides whether the channel is
/// computed again: a backend depends on the machine, and stores move between machines.
pub(super) static BACKEND: EvidenceTable =
    EvidenceTable::new("backend", 1, &[(Text, "channel backend numeric")]);

pub(super) static FAULT: EvidenceTable = EvidenceTable::new(
    "fault",
    2,
    &[
        (Text, "channel"),
        (Integer, "number"),
        (Text, "kind path"),
        (Integer, "line?"),
        (Text, "what"),
    ],
);

/// A checksum over the rows of a document in a table: the first 8 bytes of a SHA-256, little-endian. Triggers delete it when the rows change.
pub(super) static CHECKSUM: EvidenceTable =
    EvidenceTable::new("checksum", 1, &[(Text, "of_table"), (Integer, "sum")]);

/// The files that a document's evidence was computed from: a hash over names, sizes, times and inodes, which is empty if it cannot be relied upon,
/// and a hash over names and contents.
pub(super) static FILE_STATE: EvidenceTable =
    EvidenceTable::new("file_state", 0, &[(Text, "state content")]);

/// Documents in which riposte died. Nothing is computed for them as long as `content` and `producers` are the same as when it died.
pub(super) static PASSED_OVER: EvidenceTable = EvidenceTable::new(
    "passed_over",
    0,
    &[(Text, "fingerprint content producers path what")],
);

/// A hash of the words of each document, which the index of the words stores. With it, the index detects changes without reading all words. Triggers
/// delete it when the words change.
static TEXT_HASH: EvidenceTable = EvidenceTable::new("text_hash", 0, &[(Integer, "hash")]);

/// All tables with evidence. Their rows have checksums.
pub(super) fn with_checksums(channels: Channels) -> impl Iterator<Item = &'static EvidenceTable> {
    let of_channels = channels.iter().flat_map(|channel| channel.tables());
    let common: [&'static EvidenceTable; 4] = [&DOCUMENT, &WORK, &BACKEND, &FAULT];
    common.into_iter().chain(of_channels.copied())
}

/// Tables that have data about a document besides its evidence. Their rows must be written after the evidence: when it is written, triggers delete
/// them.
pub(super) static BESIDE: [&EvidenceTable; 2] = [&CHECKSUM, &FILE_STATE];

/// The tables from which the words of a document are read, whose changes delete its hash in `text_hash`.
const WORDS: [&EvidenceTable; 3] = [&page::PAGE, &ocr::OCR_LINE, &page::GIVEN_TEXT];

/// All tables with rows about documents that move to other stores. Checksums and file states come after the evidence.
pub(super) fn portable(channels: Channels) -> impl Iterator<Item = &'static EvidenceTable> {
    let passed_over: [&'static EvidenceTable; 1] = [&PASSED_OVER];
    with_checksums(channels).chain(BESIDE).chain(passed_over)
}

/// All tables.
pub(super) fn all(channels: Channels) -> impl Iterator<Item = &'static EvidenceTable> {
    let text_hash: [&'static EvidenceTable; 1] = [&TEXT_HASH];
    portable(channels).chain(text_hash)
}

/// The kinds of changes of a row, each with a condition for the documents that it affects.
const EVENTS: [(&str, &str); 3] = [
    ("INSERT", "= NEW.document"),
    ("DELETE", "= OLD.document"),
    ("UPDATE", "IN (OLD.document, NEW.document)"),
];

/// The commands that create the tables and triggers that are missing.
pub(super) fn schema(channels: Channels) -> String {
    let mut sql: String = all(channels).map(|table| table.create()).collect();
    sql.push_str(include_str!("triggers.sql"));
    for table in with_checksums(channels) {
        let name = table.name;
        for (event, documents) in EVENTS {
            let suffix = event.to_lowercase();
            sql.push_str(&format!(
                "CREATE TRIGGER IF NOT EXISTS checksum_{name}_{suffix} AFTER {event} ON {name}
                 BEGIN DELETE FROM checksum WHERE document {documents} AND of_table = '{name}'; END;\n"
            ));
        }
    }
    for table in WORDS {
        let name = table.name;
        for ((event, documents), suffix) in EVENTS.into_iter().zip(["added", "removed", "changed"])
        {
            sql.push_str(&format!(
                "CREATE TRIGGER IF NOT EXISTS {name}_{suffix} AFTER {event} ON {name} \
                 BEGIN DELETE FROM text_hash WHERE document {documents}; END;\n"
            ));
        }
    }
    sql
}
