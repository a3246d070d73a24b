//! Writes the files of a run: its lines, metadata, explanations and debate sheets.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use super::description::RunDescription;
use crate::debate::sheet;
use crate::debate::sheet::DebateSheet;
use crate::files::explanations::{Explanations, KeepExplanations};
use crate::files::metadata::UserMetadata;
use crate::files::{check_distinct, check_writable, metadata, write_atomically};
use crate::recipes::{NamedApproach, default_tag};

/// The name of the file with the explanations of the run in the same directory.
pub(crate) const EXPLANATIONS: &str = "explain.jsonl";

/// The name of the file with the debate sheets of the run in the same directory.
pub(crate) const DEBATE: &str = "debate.jsonl";

/// Where the runs of one or several approaches are written.
#[derive(Clone, Debug, Default)]
pub struct OutputSettings {
    /// The directory of the run. If there are several approaches, each run has a directory in it, which is named after the approach.
    pub dir: PathBuf,
    /// The tag of the run; `None` for one that contains the name of the approach.
    pub tag: Option<String>,
    /// The file of explanations, for a single approach.
    pub explain: Option<PathBuf>,
    /// The file of debate sheets, for a single approach.
    pub debate: Option<PathBuf>,
    /// The user's fields of the metadata; `None` to write no metadata.
    pub metadata: Option<UserMetadata>,
    /// The list of faults, which the caller writes.
    pub faults: Option<PathBuf>,
}

/// The files of the run of one approach, and its tag.
pub struct RunFiles<'a> {
    pub run: PathBuf,
    pub tag: String,
    settings: &'a OutputSettings,
}

impl OutputSettings {
    /// Checks before the work that all files can be written, and that none of them is one of the files in `read`. `run` is the name of a run's file.
    ///
    /// # Errors
    /// A file cannot be written, two approaches have the same name or one has none, or explanations or debate sheets are requested of several.
    pub fn check(
        &self,
        run: &str,
        approaches: &[NamedApproach],
        read: &[&Path],
    ) -> Result<Vec<RunFiles<'_>>> {
        let files = self.run_files(run, approaches)?;
        let mut more = Vec::new();
        for (option, file) in [("--explain", &self.explain), ("--debate", &self.debate)] {
            if let Some(file) = file {
                ensure!(files.len() == 1, "{option} is for one approach at a time");
                more.push((option, file.as_path()));
            }
        }
        more.extend(self.faults.iter().map(|file| ("--faults", file.as_path())));
        for RunFiles { run, .. } in &files {
            let dir = crate::disk::parent(run);
            fs::create_dir_all(dir)
                .with_context(|| format!("cannot create the output directory {}", dir.display()))?;
            let metadata = self.metadata.as_ref().map(|_| dir.join(metadata::FILE));
            let mut outputs = vec![("--output", run.as_path())];
            outputs.extend(metadata.iter().map(|file| ("--output", file.as_path())));
            outputs.extend(&more);
            outputs
                .iter()
                .try_for_each(|(_, file)| check_writable(file))?;
            check_distinct(&outputs, read)?;
        }
        Ok(files)
    }

    fn run_files(&self, run: &str, approaches: &[NamedApproach]) -> Result<Vec<RunFiles<'_>>> {
        let files = |dir: &Path, tag| RunFiles {
            run: dir.join(run),
            tag,
            settings: self,
        };
        let tag = self.tag.as_ref();
        if let [approach] = approaches {
            let tag = tag.cloned().unwrap_or_else(|| default_tag(*approach));
            return Ok(vec![files(&self.dir, tag)]);
        }
        let mut seen = HashSet::new();
        let of_approach = |approach: &NamedApproach| {
            let name = approach.name;
            let word = plain_word(name);
            ensure!(
                !word.is_empty() && seen.insert(word.clone()),
                "--approach {name} is given twice, or has no name: their runs would be in the same directory"
            );
            let tag = tag.map_or_else(|| default_tag(*approach), |tag| format!("{tag}-{word}"));
            Ok(files(&self.dir.join(word), tag))
        };
        approaches.iter().map(of_approach).collect()
    }
}

/// The name of the directory for the runs of an approach, whose name in a file can have any characters.
pub(crate) fn plain_word(name: &str) -> String {
    let word = name.replace(|c: char| !c.is_alphanumeric() && !"-_.".contains(c), "-");
    word.trim_start_matches('.').to_owned()
}

impl RunFiles<'_> {
    /// Where the explanations of a run for this number of topics are kept until they are written. `ask` shows those of its single topic, too.
    pub(crate) fn keep(&self, topics: usize) -> KeepExplanations {
        match &self.settings.explain {
            None => KeepExplanations::Nowhere,
            Some(_) if topics == 1 => KeepExplanations::InMemory,
            Some(file) => KeepExplanations::InFile(crate::disk::parent(file).to_owned()),
        }
    }

    /// Writes the lines of a run, and the explanations, debate sheets and metadata that the settings request.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write<E: Serialize>(
        &self,
        lines: &str,
        explained: &Explanations<E>,
        sheets: &[DebateSheet],
        description: &RunDescription,
    ) -> Result<()> {
        write_atomically(&self.run, lines.as_bytes())?;
        let OutputSettings {
            explain,
            debate,
            metadata,
            ..
        } = self.settings;
        if let Some(path) = explain {
            explained.write(path)?;
        }
        if let Some(path) = debate {
            write_atomically(path, &sheet::write(sheets)?)?;
        }
        if let Some(config) = metadata {
            let text = description.write(config)?;
            write_atomically(&self.run.with_file_name(metadata::FILE), text.as_bytes())?;
        }
        Ok(())
    }
}
