//! What an edition of the image task means for a run: its approaches, its topics, and the images that can be listed.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};

use super::args::ImagesArgs;
use super::files::{MAX_RUN_BYTES, decode, own_topics, read_topics};
use crate::collection::images::ImageCollection;
use crate::collection::{ReadTopics, read_bytes};
use crate::task::approach::{Form, ImageApproach};
use crate::trec::candidates::Candidates;
use crate::trec::edition::Edition;
use crate::trec::topic::Topic;
use crate::trec::{DocId, escaped};

/// The edition of an image run: that of the year that the user has named, or the first one with topics of this kind.
pub(super) fn edition_of(named: Option<u32>, topics: &[Topic]) -> &'static Edition {
    let named = named.and_then(|year| Edition::find(None, year));
    named.unwrap_or_else(|| Edition::of_topics(topics))
}

/// The approaches that the user has named, or the default approach of the edition.
///
/// # Errors
/// An approach makes lists in the form of other editions.
pub(super) fn approaches(
    edition: &Edition,
    named: Vec<ImageApproach>,
) -> Result<Vec<ImageApproach>> {
    let (form, default, theirs) = if edition.has_stances() {
        let theirs = "one list for each claim, and this year needs lists for and against it";
        (Form::Stances, "riposte", theirs)
    } else {
        let theirs = "lists for and against a claim, and this year needs a single list";
        (Form::Claims, "riposte-claims", theirs)
    };
    if named.is_empty() {
        return Ok(vec![ImageApproach::find(default)?]);
    }
    let other = named.iter().find(|approach| approach.form != form);
    if let Some(ImageApproach { name, .. }) = other {
        bail!("the approach {name} makes {theirs} (--edition {edition}): {default} makes these");
    }
    Ok(named)
}

/// The topics of a run, and the images that can be listed for each.
pub(super) struct Asked {
    pub topics: Vec<Topic>,
    /// `None` for all images.
    pub candidates: Option<Candidates>,
    /// Whether parts of a file are broken.
    pub has_faults: bool,
}

impl Asked {
    /// Reads the topics, and the candidates if there is a file of them. Prints broken parts of the files.
    ///
    /// # Errors
    /// A file cannot be read, or none of its topics can.
    pub fn read(args: &ImagesArgs) -> Result<Self> {
        let input = &args.extraction.input;
        let mut candidates = None;
        let mut has_faults = false;
        let file = candidates_file(args.candidates.as_deref(), input);
        if let Some(file) = file.filter(|_| !args.all_images) {
            let text = decode(read_bytes(&file, MAX_RUN_BYTES)?);
            let (read, faults) = Candidates::read(&text);
            for fault in &faults {
                say!("{}: {fault}", escaped(&file.to_string_lossy()));
            }
            has_faults = !faults.is_empty();
            candidates = Some(read);
        }
        let of_candidates = candidates.as_ref().map_or(&[][..], Candidates::topics);
        let has_own = own_topics(input).is_some();
        if args.topics.is_none() && !has_own && !of_candidates.is_empty() {
            return Ok(Asked {
                topics: of_candidates.to_vec(),
                candidates,
                has_faults,
            });
        }
        let ReadTopics { topics, faults } = read_topics(args.topics.as_deref(), input)?;
        Ok(Asked {
            topics,
            candidates,
            has_faults: has_faults || !faults.is_empty(),
        })
    }

    /// Leaves in the collection only the images that are candidates for some topic.
    ///
    /// # Errors
    /// The collection has none of them.
    pub fn restrict(&mut self, collection: &mut ImageCollection) -> Result<()> {
        let Some(candidates) = &mut self.candidates else {
            return Ok(());
        };
        let known: Vec<&DocId> = collection.entries().iter().map(|entry| &entry.id).collect();
        let missing = candidates.resolve(&known);
        let wanted = candidates.documents();
        ensure!(
            !wanted.is_empty(),
            "the collection has none of the candidates (the images to re-rank)"
        );
        say!("note: only the {} candidates are ranked", wanted.len());
        if missing > 0 {
            say!("note: {missing} more candidates are not in the collection");
        }
        let wanted: Vec<DocId> = wanted.into_iter().cloned().collect();
        collection.retain(&wanted);
        Ok(())
    }
}

/// The file that the user has named, or that of the collection.
fn candidates_file(named: Option<&Path>, input: &Path) -> Option<PathBuf> {
    let own = || {
        let mut files = ["rerank.jsonl", "rerank.jsonl.gz"]
            .into_iter()
            .map(|name| input.join(name));
        files.find(|file| file.is_file())
    };
    named.map(Path::to_owned).or_else(own)
}
