//! The report of an answer, as `riposte ask -o` writes it, in a single page that can be saved.

use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use riposte_serve::limits::MAX_ANSWER_BYTES;

use super::opened::{OpenedPart, QuestionAsked};
use crate::api::ask::ReportOutput;
use crate::disk::{TemporaryDir, regular};

/// The page. A report is written to a file, so it is written to a temporary one.
///
/// # Errors
/// The question cannot be answered, a document cannot be read, or the temporary file cannot be written.
pub(super) fn page(asked: &QuestionAsked, part: &OpenedPart, stop: &AtomicBool) -> Result<String> {
    let explained = QuestionAsked {
        explain: true,
        ..*asked
    };
    let answered = part.answer(&explained, stop, &mut |_| ())?;
    let dir = TemporaryDir::new(&std::env::temp_dir());
    let dir = dir.context("cannot make a directory for the report")?;
    let output = ReportOutput::File(dir.path().join("report.html"));
    let page = answered.write_report(&output, &mut |_| ())?;
    let page = regular::read_text(&page, MAX_ANSWER_BYTES as u64);
    page.context("cannot read the report")
}
