//! A run that is shown, with its explanations and its debate sheets. It is read from files or was just made.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use riposte_eval::explained::{self, ExplainedImage, ExplainedText};
use riposte_eval::run::{self, ImageRunLine, ReadRun, TextRunLine};
use riposte_eval::topic::Topic;
use riposte_eval::{DocId, LineError, Stance, TopicId};
use serde::de::DeserializeOwned;

use super::place::{ReportPlace, ReportWriter, ensure_replaceable_page};
use super::{MeasureColumn, ReportForm, ReportHead};
use crate::collection::task::Task;
use crate::collection::{FaultKind, read_bytes, read_regular};
use crate::debate::sheet;
use crate::debate::sheet::DebateSheet;
use crate::disk::regular;
use crate::events::{Event, OnEvent};
use crate::files::stdin::{Stdin, is_stdin};
use crate::files::{
    check_distinct, check_writable, decode, named_run, read_run, read_topics, report_broken_lines,
    run_names,
};
use crate::index::inverted::IndexingBudget;
use crate::limits::{MAX_EXPLANATION_BYTES, MAX_SHEET_BYTES};
use crate::places::Places;
use crate::runs::run_files::{DEBATE, EXPLANATIONS};
use crate::wording::counted;

/// The files of a run that is shown, and what it is compared with.
pub struct InspectSettings {
    /// The task of the run; `None` to infer it from the collection and the run.
    pub task: Option<Task>,
    /// The run, as PATH or NAME=PATH ([`named_run`]).
    pub run: PathBuf,
    /// Other runs. The first is compared with in detail; the overview has all.
    pub against: Vec<PathBuf>,
    /// The explanations of the run; `None` for those beside it.
    pub explain: Option<PathBuf>,
    /// The collection that was searched.
    pub input: PathBuf,
    /// The topics; `None` for those of the collection.
    pub topics: Option<PathBuf>,
    /// Files of judgements, with NAME= if a name was given.
    pub qrels: Vec<String>,
    /// Where evidence and indexes are.
    pub places: Places,
    pub effort: IndexingBudget,
    pub place: ReportPlace,
    /// Where a run or judgements that are named `-` are.
    pub stdin: Stdin,
}

/// A run that is shown.
pub(crate) struct ShownRun<T: RunLine> {
    pub topics: Vec<Topic>,
    pub lines: Vec<T>,
    /// The lines of the run that this one is compared with.
    pub against: Option<Vec<T>>,
    /// The lines of further runs.
    pub others: Vec<Vec<T>>,
    /// The name of this run, and those of the others.
    pub names: Vec<String>,
    /// The explanations of this run's scores; empty if there are none.
    pub explained: Vec<T::Explained>,
    /// The debate sheets of this run; empty if there are none.
    pub debate: Vec<DebateSheet>,
    pub notes: Vec<String>,
}

/// What a run has for a topic.
pub(crate) struct OfTopic<'a, T: RunLine> {
    pub topic: Topic,
    pub own: Vec<&'a T>,
    /// The lines of the other run.
    pub other: Vec<&'a T>,
    pub explained: Vec<&'a T::Explained>,
}

/// A line of a run.
pub(crate) trait RunLine: Sized {
    /// The explanation of a document.
    type Explained: DeserializeOwned;

    fn read(text: &str) -> (Vec<Self>, Vec<LineError>);

    /// The topic, the document, the rank and the tag.
    fn parts(&self) -> (&TopicId, &DocId, u32, &str);

    /// The topic of an explanation, and whether its numbers have ids.
    fn topic_of(explained: &Self::Explained) -> (&TopicId, bool);

    /// Whether explanations belong to the run.
    fn are_explained(lines: &[Self], explained: &[Self::Explained]) -> bool;

    /// Whether debate sheets belong to the run.
    fn are_debated(lines: &[Self], sheets: &[DebateSheet]) -> bool;
}

/// A note in a report whose explanations have no ids.
const WITHOUT_IDS: &str = "The explanations beside the run are of an earlier riposte. The report shows their numbers, but it cannot say in a sentence or a \
                           bar what they mean. Rank again to see it.";

impl RunLine for ImageRunLine {
    type Explained = ExplainedImage;

    fn read(text: &str) -> (Vec<Self>, Vec<LineError>) {
        match run::is_json(text) {
            true => run::read_claims(text),
            false => run::read_images(text),
        }
    }

    fn parts(&self) -> (&TopicId, &DocId, u32, &str) {
        (&self.topic, &self.image, self.rank, &self.tag)
    }

    fn topic_of(explained: &ExplainedImage) -> (&TopicId, bool) {
        (&explained.topic, explained.has_ids())
    }

    /// Each line of the run must have the rank and the score of its explanation. The scores in a run are rounded.
    fn are_explained(lines: &[Self], explained: &[ExplainedImage]) -> bool {
        let listed = explained.iter().flat_map(|image| {
            let key = move |stance| (&image.topic, &image.image, stance);
            let listed = image.listed.iter();
            listed.map(move |entry| (key(entry.stance), (entry.rank, entry.score)))
        });
        let ranks: HashMap<(&TopicId, &DocId, Stance), (u32, f64)> = listed.collect();
        ranks.len() == lines.len()
            && lines.iter().all(|line| {
                let explained = ranks.get(&(&line.topic, &line.image, line.stance));
                explained.is_some_and(|(rank, score)| {
                    let is_near = |of_line: f64| (score - of_line).abs() < 1e-5;
                    *rank == line.rank && line.score.is_none_or(is_near)
                })
            })
    }

    /// The sheets must have exactly the images of the run's lists.
    fn are_debated(lines: &[Self], sheets: &[DebateSheet]) -> bool {
        let listed = lines.iter();
        let listed: HashSet<(&TopicId, &DocId, Stance, u32)> = listed
            .map(|line| (&line.topic, &line.image, line.stance, line.rank))
            .collect();
        let mut images = sheets.iter().flat_map(|sheet| {
            let images = sheet.images.iter();
            images.map(|image| (&sheet.topic, &image.image, image.list, image.rank))
        });
        let count = sheets.iter().map(|sheet| sheet.images.len()).sum::<usize>();
        count == lines.len() && images.all(|image| listed.contains(&image))
    }
}

/// The topics and documents of a text run, with their ranks.
fn ranked(lines: &[TextRunLine]) -> HashSet<(&TopicId, &DocId, usize)> {
    let lines = lines.iter();
    lines
        .map(|line| (&line.topic, &line.doc, line.rank as usize))
        .collect()
}

impl RunLine for TextRunLine {
    type Explained = ExplainedText;

    fn read(text: &str) -> (Vec<Self>, Vec<LineError>) {
        ReadRun::read(text).into_parts()
    }

    fn parts(&self) -> (&TopicId, &DocId, u32, &str) {
        (&self.topic, &self.doc, self.rank, &self.tag)
    }

    fn topic_of(explained: &ExplainedText) -> (&TopicId, bool) {
        (&explained.topic, explained.has_ids())
    }

    /// Each explained text must have the same rank in the run.
    fn are_explained(lines: &[Self], explained: &[ExplainedText]) -> bool {
        let ranked = ranked(lines);
        let mut keys = explained
            .iter()
            .map(|of| (&of.topic, &of.document, of.rank));
        !explained.is_empty() && keys.all(|key| ranked.contains(&key))
    }

    /// The sheets must have no images, and the run their arguments at the same ranks.
    fn are_debated(lines: &[Self], sheets: &[DebateSheet]) -> bool {
        let ranked = ranked(lines);
        sheets.iter().all(|sheet| {
            let mut arguments = sheet.arguments.iter();
            sheet.images.is_empty()
                && arguments.all(|a| ranked.contains(&(&sheet.topic, &a.argument, a.rank)))
        })
    }
}

impl<T: RunLine> ShownRun<T> {
    /// A run that was just made, for one topic.
    pub(crate) fn made(
        topic: Topic,
        name: Option<String>,
        lines: Vec<T>,
        explained: Vec<T::Explained>,
        debate: Vec<DebateSheet>,
    ) -> Self {
        ShownRun {
            topics: vec![topic],
            lines,
            against: None,
            others: Vec::new(),
            names: Vec::from_iter(name),
            explained,
            debate,
            notes: Vec::new(),
        }
    }

    /// Reads a run. Reports the lines that cannot be read.
    pub fn read(settings: &InspectSettings, on_event: &mut OnEvent) -> Result<Self> {
        settings.check_output()?;
        let input = &settings.input;
        let topics = read_topics(settings.topics.as_deref(), input, on_event)?;
        let (path, lines) = read_lines::<T>(&settings.run, &settings.stdin, on_event)?;
        let mut names = vec![name_of(&settings.run, &lines)];
        let mut others = Vec::new();
        for other in &settings.against {
            let (_, other_lines) = read_lines::<T>(other, &settings.stdin, on_event)?;
            names.push(name_of(other, &other_lines));
            others.push(other_lines);
        }
        if names.iter().collect::<HashSet<_>>().len() < names.len() {
            let runs = std::iter::once(&settings.run).chain(&settings.against);
            let paths: Vec<PathBuf> = runs.map(|run| named_run(run).1.to_owned()).collect();
            names = run_names(&paths);
        }
        let mut others = others.into_iter();
        let against = others.next();
        let mut notes = Vec::new();
        let explained = read_explanations(settings, &path, &lines, on_event)?;
        let explained = explained.unwrap_or_else(|why| {
            notes.push(format!("{why}, so the report does not explain the scores."));
            Vec::new()
        });
        let debate = read_sheets(&path, &lines, on_event)?.unwrap_or_else(|note| {
            notes.push(note.to_owned());
            Vec::new()
        });
        if !explained.iter().all(|of| T::topic_of(of).1) {
            notes.push(WITHOUT_IDS.to_owned());
        }
        Ok(ShownRun {
            topics,
            lines,
            against,
            others: others.collect(),
            names,
            explained,
            debate,
            notes,
        })
    }

    /// The name of the other run.
    pub(crate) fn other(&self) -> Option<&str> {
        self.names.get(1).map(String::as_str)
    }

    /// What the run has for each topic. Topics that only the runs have come last, in the order of their ids.
    pub fn by_topic(&self) -> Vec<OfTopic<'_, T>> {
        let own = by_topic(&self.lines, |line| line.parts().0);
        let other = self.against.as_deref().unwrap_or_default();
        let other = by_topic(other, |line| line.parts().0);
        let explained = by_topic(&self.explained, |of| T::topic_of(of).0);
        let known: HashSet<&TopicId> = self.topics.iter().map(|topic| &topic.id).collect();
        let ids = own.keys().chain(other.keys()).copied();
        let unknown: BTreeSet<&TopicId> = ids.filter(|id| !known.contains(id)).collect();
        let topics = self.topics.iter().cloned();
        let topics = topics.chain(unknown.into_iter().map(unknown_topic));
        let of_topic = |topic: Topic| OfTopic {
            own: own.get(&topic.id).cloned().unwrap_or_default(),
            other: other.get(&topic.id).cloned().unwrap_or_default(),
            explained: explained.get(&topic.id).cloned().unwrap_or_default(),
            topic,
        };
        topics.map(of_topic).collect()
    }

    pub fn head(
        &self,
        task: &'static str,
        mut facts: Vec<String>,
        measures: Vec<MeasureColumn>,
    ) -> ReportHead {
        facts.insert(0, counted(self.topics.len(), "topic", "topics"));
        ReportHead {
            task,
            run: self.names.first().cloned().unwrap_or_default(),
            against: self.names.get(1).cloned(),
            facts,
            notes: self.notes.clone(),
            measures,
            runs: Vec::new(),
        }
    }
}

/// A topic that is not in the topics file.
fn unknown_topic(id: &TopicId) -> Topic {
    Topic {
        id: id.clone(),
        title: format!("Topic {id}, which is not among the topics"),
        argument: None,
        description: None,
        narrative: None,
        objects: None,
    }
}

/// Groups values by topic, in their order.
fn by_topic<T>(all: &[T], topic: impl Fn(&T) -> &TopicId) -> HashMap<&TopicId, Vec<&T>> {
    let mut groups: HashMap<&TopicId, Vec<&T>> = HashMap::new();
    for value in all {
        groups.entry(topic(value)).or_default().push(value);
    }
    groups
}

/// Sorts lines by rank; a repeated document is kept once.
pub(crate) fn by_rank<'a, T: RunLine>(lines: impl Iterator<Item = &'a T>) -> Vec<&'a T> {
    let mut lines: Vec<&T> = lines.collect();
    lines.sort_by_key(|line| line.parts().2);
    let mut seen = BTreeSet::new();
    lines.retain(|line| seen.insert(line.parts().1));
    lines
}

impl InspectSettings {
    /// Checks that the report can be written, before any work is done.
    fn check_output(&self) -> Result<()> {
        let output = &self.place.output;
        if self.place.form == ReportForm::Directory {
            // only a check: the report is begun when its inputs have been read
            return ReportWriter::begin(output).map(drop);
        }
        check_writable(output)?;
        ensure_replaceable_page(output)?;
        check_distinct(&[("--output", output)], &self.inputs())
    }

    /// The files that are read, except those of the collection.
    pub fn inputs(&self) -> Vec<&Path> {
        let mut inputs = vec![named_run(&self.run).1];
        inputs.extend(self.against.iter().map(|run| named_run(run).1));
        let files = [&self.explain, &self.topics];
        inputs.extend(files.into_iter().flatten().map(PathBuf::as_path));
        inputs.extend(self.qrels.iter().map(Path::new));
        inputs
    }
}

/// Reads a run: its path and its lines. Reports the lines that cannot be read.
fn read_lines<T: RunLine>(
    run: &Path,
    stdin: &Stdin,
    on_event: &mut OnEvent,
) -> Result<(PathBuf, Vec<T>)> {
    let (path, bytes) = read_run(run, stdin)?;
    let (lines, errors) = T::read(&decode(bytes));
    report_broken_lines(FaultKind::Run, &path, &errors, on_event);
    ensure!(
        !lines.is_empty(),
        "there is no line of a run of this task in {}",
        path.display()
    );
    Ok((path, lines))
}

/// The name that was given to the run, or else its tag.
fn name_of<T: RunLine>(run: &Path, lines: &[T]) -> String {
    let tag = || lines.first().map_or("", |line| line.parts().3);
    named_run(run).0.unwrap_or_else(tag).to_owned()
}

/// The explanations of the run, or why there are none.
///
/// # Errors
/// The file that the user names belongs to another run, or cannot be read.
fn read_explanations<T: RunLine>(
    settings: &InspectSettings,
    run: &Path,
    lines: &[T],
    on_event: &mut OnEvent,
) -> Result<Result<Vec<T::Explained>, &'static str>> {
    let beside = run.with_file_name(EXPLANATIONS);
    let path = match &settings.explain {
        Some(path) => path,
        None if !is_stdin(run) && regular::is_file(&beside)? => &beside,
        None => {
            return Ok(Err(
                "There are no explanations beside the run (--explain writes them)",
            ));
        }
    };
    let problem = match explained::read(&decode(read_bytes(path, MAX_EXPLANATION_BYTES)?)) {
        Ok(explained) if T::are_explained(lines, &explained) => return Ok(Ok(explained)),
        Ok(_) => "these explanations belong to another run".to_owned(),
        Err(error) => error.to_string(),
    };
    let problem = format!("{}: {problem}", path.display());
    ensure!(settings.explain.is_none(), problem);
    on_event(Event::note(problem));
    Ok(Err("The explanations beside the run are not of this run"))
}

/// The debate sheets beside a run; none if there is no such file. Sheets of another run are not shown, and the inner error says so to a reader.
///
/// # Errors
/// The file cannot be read.
fn read_sheets<T: RunLine>(
    run: &Path,
    lines: &[T],
    on_event: &mut OnEvent,
) -> Result<Result<Vec<DebateSheet>, &'static str>> {
    let path = run.with_file_name(DEBATE);
    if is_stdin(run) || !regular::is_file(&path)? {
        return Ok(Ok(Vec::new()));
    }
    let problem = match sheet::read(&decode(read_regular(&path, MAX_SHEET_BYTES)?)) {
        Ok(sheets) if T::are_debated(lines, &sheets) => return Ok(Ok(sheets)),
        Ok(_) => "these debate sheets belong to another run".to_owned(),
        Err(error) => error.to_string(),
    };
    on_event(Event::note(format!("{}: {problem}", path.display())));
    Ok(Err("The debate sheets beside the run are not of this run."))
}
