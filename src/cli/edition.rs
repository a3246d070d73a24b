//! Differences between the years of the image task: the form of the lists, the default approach, the name of the run's file, and the images that
//! can be listed.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};

use super::args::ImagesArgs;
use super::files::{MAX_RUN_BYTES, decode, own_topics, read_topics};
use crate::collection::images::ImageCollection;
use crate::collection::{ReadTopics, read_bytes};
use crate::task::approach::{Form, ImageApproach};
use crate::trec::candidates::Candidates;
use crate::trec::topic::Topic;
use crate::trec::{DocId, escaped};

/// A year of the image task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edition(u32);

impl Edition {
    /// The year that the user has named, or the year of the topics: claims with premises are of 2024, other claims of 2025, and questions of 2022
    /// (2023 has the same rules).
    pub fn of(named: Option<u32>, topics: &[Topic]) -> Edition {
        let has_premise = |topic: &Topic| {
            let argument = topic.argument.as_ref();
            argument.is_some_and(|argument| argument.premise.is_some())
        };
        let inferred = || match topics {
            [first, ..] if first.argument.is_none() => 2022,
            _ if topics.iter().any(has_premise) => 2024,
            _ => 2025,
        };
        Edition(named.unwrap_or_else(inferred))
    }

    pub fn year(self) -> u32 {
        self.0
    }

    /// The name of the year's collection.
    pub fn collection(self) -> String {
        format!("Touché {}, image retrieval for arguments", self.0)
    }

    pub fn form(self) -> Form {
        match self.0 {
            2024.. => Form::Claims,
            _ => Form::Stances,
        }
    }

    /// The number of images in the list of a claim.
    pub fn claim_length(self) -> usize {
        match self.0 {
            2024 => 10,
            _ => 5,
        }
    }

    /// Whether a run contains rationales: why an image conveys a claim.
    pub fn has_rationales(self) -> bool {
        self.0 == 2024
    }

    /// The name of the run's file.
    pub fn run_file(self) -> &'static str {
        match self.form() {
            Form::Stances => "run.txt",
            Form::Claims => "results.jsonl",
        }
    }

    /// The approaches that the user has named, or the default approach of the year.
    ///
    /// # Errors
    /// An approach makes lists in the form of other years.
    pub fn approaches(self, named: Vec<ImageApproach>) -> Result<Vec<ImageApproach>> {
        let (default, theirs) = match self.form() {
            Form::Stances => (
                "riposte",
                "one list for each claim, and this year needs lists for and against it",
            ),
            Form::Claims => (
                "riposte-claims",
                "lists for and against a claim, and this year needs a single list",
            ),
        };
        if named.is_empty() {
            return Ok(vec![ImageApproach::find(default)?]);
        }
        let other = named.iter().find(|approach| approach.form != self.form());
        if let Some(ImageApproach { name, .. }) = other {
            bail!(
                "the approach {name} makes {theirs} (--edition {}): {default} makes these",
                self.0
            );
        }
        Ok(named)
    }
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
