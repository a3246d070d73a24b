//! Text collections that several machines index together.
//!
//! 1. [`read`] reads a part of a collection, and writes its texts as an index stores them. The caller finds texts that have the same id or the same
//!    words in several parts.
//! 2. Each shard is indexed as a separate collection ([`crate::collection::entries`]).
//! 3. [`unpack`] joins the shards on one machine. Their indexes are opened as one, so the counts of the whole collection are those of the joined
//!    index, and a ranking is the same as from an index of the whole collection.

mod packed;

use std::io::Write;

use anyhow::{Result, bail};
use riposte_eval::TextTask;
use serde_json::json;

use crate::index::hash_of_words;
use crate::index::inverted::{IndexKind, NumberedDocuments, TextCollection};

pub use packed::{Unpacked, is_packed, unpack};

/// Writes a line of JSON for each text of a collection, or of its part on stdin, and for each fault: `{"line": 3, "words": "…", "text": {…}}` or
/// `{"line": 4, "fault": {…}}`. `line` is the number of the line on stdin or, for a collection, the number of the text. `words` is the same for texts
/// with the same words, and null for texts without words.
///
/// # Errors
/// The texts of this task cannot be read from stdin, or `output` cannot be written.
pub fn read(task: TextTask, input: Option<&TextCollection>, output: &mut dyn Write) -> Result<()> {
    let kind = IndexKind::of(task);
    let read: NumberedDocuments = match input {
        Some(collection) => Box::new((1..).zip(collection.documents())),
        None => kind.read_lines(Box::new(std::io::stdin()))?,
    };
    for (line, read) in read {
        let line = match read {
            Ok(read) => {
                let words = hash_of_words(&kind.main_text(&read.texts));
                let words = words.map(|hash| format!("{hash:016x}"));
                json!({"line": line, "words": words, "text": read})
            }
            Err(fault) if fault.transient.is_some() => bail!("{fault}"),
            Err(fault) => json!({"line": line, "fault": fault}),
        };
        writeln!(output, "{line}")?;
    }
    Ok(output.flush()?)
}
