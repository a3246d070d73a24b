//! The words of an `evaluate` command: judgements, runs and measures.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};
use riposte_eval::compare::{Correction, SignificanceTest};
use riposte_eval::edition::Edition;
use riposte_eval::limits::MAX_COMPARED;
use riposte_eval::measure::TOUCHE_LEVELS;

use super::super::parse;
use riposte::files::stdin::Stdin;
use riposte::files::{NamedRun, check_once, has_judgements, is_only_run};
use riposte::judge::evaluate::{ChosenMeasure, EvaluationSettings};

#[derive(Args)]
#[command(
    override_usage = "riposte evaluate [OPTIONS] --qrels <QRELS> <RUN>... [MEASURE]...\n       riposte evaluate [OPTIONS] <QRELS> <RUN>... [MEASURE]..."
)]
pub(in crate::cli) struct EvaluateArgs {
    /// Runs and measures. A run is a file (plain, gzip or zstd), - for standard input, or a directory with a run.txt; NAME= sets its name in tables. Its
    /// lines are those of the lab or TREC, "topic document rank" or "topic document rank score", or it is the JSON of ranx. Measures have the names of
    /// ir_measures or trec_eval, such as nDCG@5, 'P(rel=2)@10' and ndcg_cut_10; by default they are those of the task. For images, P@10 means topicRelevanceP@10,
    /// argumentativenessP@10 and stanceRelevanceP@10. Without --qrels, the first file or data set has the judgements
    #[arg(value_name = "RUN|MEASURE", required = true)]
    pub(in crate::cli) words: Vec<String>,
    /// Judgements: a file with lines of "topic ONTOPIC|PRO|CON image grade", "topic 0 document grade" or "topic 0 document
    /// FIRST|SECOND|NEUTRAL|NO", those of BEIR or MS MARCO, or the JSON of 2025 or of ranx; plain, gzip or zstd, - for standard input. Or the
    /// name of a data set. May be repeated; NAME= sets the name in tables
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
    /// Compare all runs with each other, not only with the first, and correct the p-values of each measure for the number of comparisons: by the
    /// method of Bonferroni or Holm, or by Tukey's test in its randomised form, or not at all. In tables, a value then has the letters of the runs
    /// that it is significantly better than
    #[arg(long, value_name = "METHOD", value_parser = parse::named::<Correction>())]
    pub(in crate::cli) correction: Option<Correction>,
    /// Test of the differences: the paired randomisation test or the paired t-test
    #[arg(long, value_name = "TEST", value_parser = parse::named::<SignificanceTest>(), default_value = "randomisation")]
    pub(in crate::cli) test: SignificanceTest,
    /// Highest p of a significant difference, with --correction [default: 0.05]
    #[arg(long, value_name = "P", value_parser = parse::probability, requires = "correction")]
    pub(in crate::cli) alpha: Option<f64>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text, default_value_if("json", "true", "jsonl"))]
    pub(in crate::cli) format: Format,
    /// Print a JSON object for each value, as --format jsonl does
    #[arg(long, conflicts_with = "format")]
    pub(in crate::cli) json: bool,
    /// Print what the organisers' image evaluator prints, and below it what it writes for TIRA (for a single run)
    #[arg(long = "as", value_enum, value_name = "WHOM", conflicts_with_all = ["format", "json", "by_topic", "ci"])]
    pub(in crate::cli) printed_as: Option<PrintedAs>,
    /// Write the output of the organisers' image evaluator to FILE (for a single run)
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) prototext: Option<PathBuf>,
}

/// Whose output `evaluate` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum PrintedAs {
    /// The organisers' evaluator of image runs
    Organisers,
}

/// The output format of `evaluate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Format {
    /// Tables with a row for each run
    #[value(alias = "table")]
    Text,
    /// The same tables in Markdown
    Markdown,
    /// The same tables in LaTeX, with the rules of booktabs
    Latex,
    /// Tab-separated lines of run, qrels, measure, topic ("all" for all topics) and value
    Tsv,
    /// The same fields between commas
    Csv,
    /// One JSON object with a list of the values and, with --correction, of the comparisons
    Json,
    /// A JSON object for each value and comparison
    Jsonl,
}

impl EvaluateArgs {
    /// Sorts the words of the command into judgements, runs and measures.
    ///
    /// # Errors
    /// A word is neither a file nor a measure, no run is named, or two have the same name.
    pub(super) fn settings(&self) -> Result<EvaluationSettings> {
        let mut levels: Vec<(String, f64)> = self.levels.clone();
        levels.extend(TOUCHE_LEVELS.map(|(name, grade)| (name.to_owned(), grade)));
        let mut settings = EvaluationSettings {
            edition: self.edition,
            judgements: Vec::new(),
            runs: Vec::new(),
            measures: Vec::new(),
            stdin: Stdin::default(),
        };
        let mut words = self.words.as_slice();
        let is_only_run = |word: &String| is_only_run(word, &settings.stdin);
        let is_missing = self.qrels.is_empty() && words.first().is_some_and(is_only_run);
        ensure!(
            !is_missing,
            "judgements are missing: give their file or the name of their data set before the runs, or with --qrels"
        );
        if let Some((first, others)) = words.split_first()
            && (self.qrels.is_empty() || has_judgements(first, &settings.stdin))
        {
            settings.judgements.push(first.clone());
            words = others;
        }
        settings.judgements.extend(self.qrels.iter().cloned());
        for word in words {
            match NamedRun::parse(word)? {
                Some(run) => settings.runs.push(run),
                None => settings.measures.push(ChosenMeasure::parse(word, &levels)?),
            }
        }
        ensure!(
            !settings.runs.is_empty(),
            "there is no run to evaluate: give the judgements (--qrels FILE), then a run"
        );
        ensure!(
            self.printed_as.is_none() || settings.measures.is_empty(),
            "--as organisers prints their measures: leave out those that you have typed"
        );
        let judgements = settings.judgements.iter().map(Path::new);
        check_once(judgements.chain(settings.runs.iter().map(|run| &*run.path)))?;
        self.check_comparison(settings.runs.len())?;
        let mut seen = HashSet::new();
        for name in settings.runs.iter().filter_map(|run| run.name.as_ref()) {
            ensure!(seen.insert(name), "two runs are named {name}");
        }
        Ok(settings)
    }

    /// # Errors
    /// The runs cannot be compared as it is asked.
    fn check_comparison(&self, runs: usize) -> Result<()> {
        let Some(correction) = self.correction else {
            return Ok(());
        };
        ensure!(runs > 1, "--correction compares runs: give two or more");
        ensure!(
            runs <= MAX_COMPARED,
            "--correction compares up to {MAX_COMPARED} runs, because a letter names each"
        );
        ensure!(
            correction != Correction::Tukey || self.test == SignificanceTest::Randomisation,
            "--correction tukey is a randomisation test: leave out --test"
        );
        ensure!(
            !matches!(self.format, Format::Tsv | Format::Csv),
            "comparisons have other fields than values: with --correction, use --format text, markdown, latex, json or jsonl"
        );
        Ok(())
    }
}
