//! The words of an `evaluate` command: judgements, runs and measures.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail, ensure};
use clap::{Args, ValueEnum};

use super::super::files::{MAX_RUN_BYTES, decode, named_run};
use super::super::parse;
use crate::collection::read_bytes;
use crate::judge::measure::{self, Measure, TOUCHE_LEVELS};
use crate::task::recipe;
use crate::trec::edition::Edition;
use crate::trec::qrels::{self, Qrels};
use crate::trec::{escaped, run};

#[derive(Args)]
#[command(
    override_usage = "riposte evaluate [OPTIONS] --qrels <[NAME=]FILE> <[NAME=]RUN>... [MEASURE]...\n       riposte evaluate [OPTIONS] <[NAME=]QRELS> <[NAME=]RUN>... [MEASURE]..."
)]
pub(in crate::cli) struct EvaluateArgs {
    /// Runs and measures. A run is a file (plain or gzipped) or a directory with a run.txt; NAME= sets its name in tables. Measures have the names of
    /// ir_measures, such as nDCG@5 and 'P(rel=2)@10'; by default they are those of the task. For images, P@10 means topicRelevanceP@10,
    /// argumentativenessP@10 and stanceRelevanceP@10. Without --qrels, the first file has the judgements
    #[arg(value_name = "RUN|MEASURE", required = true)]
    pub(in crate::cli) words: Vec<String>,
    /// Judgements: a file with lines of "topic ONTOPIC|PRO|CON image grade", "topic 0 document grade" or "topic 0 document
    /// FIRST|SECOND|NEUTRAL|NO", or the JSON of 2025. May be repeated; NAME= sets the name in tables
    #[arg(long = "qrels", value_name = "[NAME=]FILE")]
    pub(in crate::cli) qrels: Vec<String>,
    /// Name for a grade in measures such as 'P(rel=NAME)@5'. relevant=1 and highly=2 are known
    #[arg(long = "level", value_name = "NAME=GRADE", value_parser = parse::level)]
    pub(in crate::cli) levels: Vec<(String, f64)>,
    /// Edition of the image task, which decides the grades that count as relevant: 1 (2022), or 1 and above (2023)
    #[arg(long, value_name = "YEAR", value_parser = parse::edition_with_stances(), default_value_t = Edition::first())]
    pub(in crate::cli) edition: &'static Edition,
    /// Also print the values of each topic
    #[arg(long)]
    pub(in crate::cli) by_topic: bool,
    /// Also print the 95% confidence interval of each value (bootstrap over the topics, 10,000 samples)
    #[arg(long)]
    pub(in crate::cli) ci: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(in crate::cli) format: Format,
    /// Print a JSON object for each value, as --format jsonl does
    #[arg(long, conflicts_with = "format")]
    pub(in crate::cli) json: bool,
    /// Write the output of the organisers' image evaluator to FILE (for a single run)
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) prototext: Option<PathBuf>,
}

impl EvaluateArgs {
    pub(super) fn format(&self) -> Format {
        if self.json {
            Format::Jsonl
        } else {
            self.format
        }
    }
}

/// The output format of `evaluate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Format {
    /// A table with a row for each run
    Table,
    /// Tab-separated lines of run, qrels, measure, topic ("all" for all topics) and value
    Tsv,
    /// JSON objects with the same fields
    Jsonl,
}

/// The words of the command, by their kinds.
pub(super) struct Typed {
    /// Files of judgements, with NAME= if a name was given.
    pub judgements: Vec<String>,
    pub runs: Vec<NamedRun>,
    pub measures: Vec<TypedMeasure>,
}

/// A run, and its name if one was given.
pub(super) struct NamedRun {
    pub name: Option<String>,
    pub path: PathBuf,
}

/// A measure. The same word can mean one measure of texts and several of images.
pub(super) struct TypedMeasure {
    word: String,
    of_texts: Result<Measure, String>,
    of_images: Result<Vec<Measure>, String>,
}

impl Typed {
    /// # Errors
    /// A word is neither a file nor a measure, no run is named, or two have the same name.
    pub fn read(args: &EvaluateArgs) -> Result<Typed> {
        let mut levels: Vec<(String, f64)> = args.levels.clone();
        levels.extend(TOUCHE_LEVELS.map(|(name, grade)| (name.to_owned(), grade)));
        let mut typed = Typed {
            judgements: Vec::new(),
            runs: Vec::new(),
            measures: Vec::new(),
        };
        let mut words = args.words.as_slice();
        if let Some((first, others)) = words.split_first()
            && (args.qrels.is_empty() || has_judgements(first))
        {
            typed.judgements.push(first.clone());
            words = others;
        }
        typed.judgements.extend(args.qrels.iter().cloned());
        for word in words {
            match NamedRun::parse(word)? {
                Some(run) => typed.runs.push(run),
                None => typed.measures.push(TypedMeasure::parse(word, &levels)?),
            }
        }
        ensure!(
            !typed.runs.is_empty(),
            "there is no run to evaluate: give the judgements (--qrels FILE), then a run"
        );
        let mut seen = HashSet::new();
        for name in typed.runs.iter().filter_map(|run| run.name.as_ref()) {
            ensure!(seen.insert(name), "two runs are named {name}");
        }
        Ok(typed)
    }
}

/// Whether a word names a file of judgements: some of its lines are judgements, and none is a line of a run.
fn has_judgements(word: &str) -> bool {
    let (_, path) = named_run(Path::new(word));
    if !path.is_file() {
        return false;
    }
    // a file that cannot be read is reported as a run
    let Ok(bytes) = read_bytes(path, MAX_RUN_BYTES) else {
        return false;
    };
    let text = decode(bytes);
    let (qrels, _) = qrels::read(&text);
    let is_empty = match qrels {
        Qrels::Images(topics) => topics.is_empty(),
        Qrels::Graded(topics) | Qrels::Answers(topics) => topics.is_empty(),
        Qrels::Stances(topics) => topics.is_empty(),
    };
    !is_empty && run::read_texts(&text).0.is_empty()
}

impl NamedRun {
    /// The run that a word names: a path, or NAME=PATH. `None` if there is no such path; then the word can be a measure.
    ///
    /// # Errors
    /// The word is NAME=PATH, and the path does not exist.
    fn parse(word: &str) -> Result<Option<NamedRun>> {
        let (name, path) = named_run(Path::new(word));
        let exists = path.exists();
        ensure!(
            exists || name.is_none(),
            "there is no file {}, which {word} names",
            path.display()
        );
        Ok(exists.then(|| NamedRun {
            name: name.map(|name| escaped(name).to_string()),
            path: path.to_owned(),
        }))
    }
}

impl TypedMeasure {
    /// # Errors
    /// The word is a measure neither of texts nor of images.
    fn parse(word: &str, levels: &[(String, f64)]) -> Result<TypedMeasure> {
        let of_texts = Measure::parse(word, levels).map_err(|error| format!("{error:#}"));
        let names = measure::IMAGE_MEASURES.iter();
        let of_images = match &of_texts {
            Ok(measure @ Measure::Image(_)) => Ok(vec![measure.clone()]),
            // P@10, and P(list=PRO)@10
            _ if word.starts_with("P@") || word.starts_with("P(") => names
                .map(|name| Measure::parse(&word.replacen('P', name, 1), levels))
                .collect::<Result<_>>()
                .map_err(|error| error.root_cause().to_string()),
            _ => Err(String::new()),
        };
        if let (Err(why), Err(_)) = (&of_texts, &of_images) {
            return Err(unknown(word, why));
        }
        Ok(TypedMeasure {
            word: word.to_owned(),
            of_texts,
            of_images,
        })
    }

    /// The measures that the word means for these judgements; none if they are of another kind.
    pub fn with(&self, qrels: &Qrels) -> Vec<Measure> {
        let of_texts = self.of_texts.iter().filter(|measure| measure.fits(qrels));
        match qrels {
            Qrels::Images(_) => self.of_images.iter().flatten().cloned().collect(),
            _ => of_texts.cloned().collect(),
        }
    }

    /// Checks that the measure can be computed from one of the judgements.
    ///
    /// # Errors
    /// It cannot.
    pub fn check<'q>(&self, mut all: impl Iterator<Item = &'q Qrels> + Clone) -> Result<()> {
        if all.clone().any(|qrels| !self.with(qrels).is_empty()) {
            return Ok(());
        }
        let word = &self.word;
        let is_of_images = all.any(|qrels| matches!(qrels, Qrels::Images(_)));
        match &self.of_images {
            Err(why) if is_of_images && !why.is_empty() => {
                bail!("{word} cannot be computed from these judgements: {why}")
            }
            _ if is_of_images => bail!(
                "{word} cannot be computed from judgements of images: P@10 can, and nDCG and others need graded judgements of texts"
            ),
            _ => bail!("{word} cannot be computed from these judgements"),
        }
    }
}

/// The error for a word that is neither a file nor a measure. `why` says why it is no measure.
fn unknown(word: &str, why: &str) -> anyhow::Error {
    if word.contains(['/', '\\']) || Path::new(word).extension().is_some_and(|e| e == "txt") {
        return anyhow!("there is no file {word}");
    }
    let name = word.split(['@', '(']).next().unwrap_or(word);
    let is_known = measure::NAMES.contains(&name);
    match recipe::nearest(name, &measure::NAMES).filter(|_| !is_known) {
        Some(near) => {
            let meant = word.replacen(name, near, 1);
            anyhow!("there is no file and no measure {word}: did you mean {meant}?")
        }
        None if is_known => anyhow!("{word} is no file, and as a measure it is wrong: {why}"),
        None => anyhow!("there is no file {word}, and {why}"),
    }
}
