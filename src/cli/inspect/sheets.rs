//! The debate sheets beside a run, if they are of this run.

use std::collections::HashSet;
use std::path::Path;

use anyhow::Result;

use super::super::files::decode;
use crate::collection::read_bytes;
use crate::trec::debate::{self, DebateSheet};
use crate::trec::run::{ImageRunLine, TextRunLine};
use crate::trec::{DocId, Stance, TopicId, escaped};

/// The name of the file of debate sheets beside a run.
pub const DEBATE_FILE: &str = "debate.jsonl";

/// Maximum size of a file of debate sheets, after decompression. A sheet of the sample has 10 kB.
const MAX_BYTES: u64 = 64 << 20;

/// The debate sheets beside a run; none if there is no such file. Sheets of another run are not shown, and a note says so.
///
/// # Errors
/// The file cannot be read.
pub(super) fn beside(
    run: &Path,
    is_of_run: impl Fn(&[DebateSheet]) -> bool,
    notes: &mut Vec<String>,
) -> Result<Vec<DebateSheet>> {
    let path = run.with_file_name(DEBATE_FILE);
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let problem = match debate::read(&decode(read_bytes(&path, MAX_BYTES)?)) {
        Ok(sheets) if is_of_run(&sheets) => return Ok(sheets),
        Ok(_) => "these debate sheets belong to another run".to_owned(),
        Err(error) => error.to_string(),
    };
    say!("note: {}: {}", path.display(), escaped(&problem));
    notes.push("The debate sheets beside the run are not of this run.".into());
    Ok(Vec::new())
}

/// Whether the sheets have exactly the images of the run's lists.
pub(super) fn are_of_images(sheets: &[DebateSheet], lines: &[ImageRunLine]) -> bool {
    let listed: HashSet<(&TopicId, &DocId, Stance, u32)> = lines
        .iter()
        .map(|line| (&line.topic, &line.image, line.stance, line.rank))
        .collect();
    let mut images = sheets.iter().flat_map(|sheet| {
        let images = sheet.images.iter();
        images.map(|image| (&sheet.topic, &image.image, image.side, image.rank))
    });
    let count = sheets.iter().map(|sheet| sheet.images.len()).sum::<usize>();
    count == lines.len() && images.all(|image| listed.contains(&image))
}

/// Whether the sheets have no images, and the run has their arguments at the same ranks.
pub(super) fn are_of_arguments(sheets: &[DebateSheet], lines: &[TextRunLine]) -> bool {
    let ranked: HashSet<(&TopicId, &DocId, usize)> = lines
        .iter()
        .map(|line| (&line.topic, &line.doc, line.rank as usize))
        .collect();
    sheets.iter().all(|sheet| {
        let mut arguments = sheet.arguments.iter();
        sheet.images.is_empty()
            && arguments.all(|a| ranked.contains(&(&sheet.topic, &a.argument, a.rank)))
    })
}
