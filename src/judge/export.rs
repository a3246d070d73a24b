//! Exports image runs and their judgements in the formats that other evaluators read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use riposte_eval::edition::Edition;
use riposte_eval::plain::{NO_JUDGEMENT, PlainQrels, PlainRun};
use riposte_eval::qrels::{ImageQrels, Qrels};
use riposte_eval::run::{ImageRunLine, TextRunLine, read_images, write_texts};
use riposte_eval::{Stance, TopicId};

use crate::collection::FaultKind;
use crate::events::{Event, OnEvent};
use crate::files::stdin::Stdin;
use crate::files::{check_once, decode, read_judgements, read_run, report_broken_lines};

/// The files of a run: its PRO lists, its CON lists, and both.
const RUNS: [&str; 3] = ["pro.run", "con.run", "both.run"];

/// The files of the judgements, in the order of [`PlainQrels::files`].
const QRELS: [&str; 3] = ["topic.qrels", "argumentative.qrels", "stance.qrels"];

/// Number of topics or lists that a note names.
const NAMED: usize = 5;

/// An exported run.
pub struct RunExport {
    /// The file of the run.
    pub path: PathBuf,
    pub files: Vec<ExportedFile>,
}

pub struct ExportedFile {
    pub name: &'static str,
    pub text: String,
    /// What the file contains, in words.
    pub content: String,
}

/// Exports an image run as TREC runs that have one query for each topic and stance. Notes say what differs from the image run. `qrels` are judgements of
/// images, which are exported for the run's queries, too, or with `all_judged` for all topics; the edition decides which grades count as relevant.
///
/// # Errors
/// A file cannot be read, or is not an image run or not judgements of images.
pub fn run(
    run: &Path,
    qrels: Option<&str>,
    edition: &Edition,
    all_judged: bool,
    on_event: &mut OnEvent,
) -> Result<RunExport> {
    check_once(qrels.map(Path::new).into_iter().chain([run]))?;
    let stdin = Stdin::default();
    let (path, bytes) = read_run(run, &stdin)?;
    let (lines, errors) = read_images(&decode(bytes));
    report_broken_lines(FaultKind::Run, &path, &errors, on_event);
    ensure!(
        !lines.is_empty(),
        "there is no line of an image run (topic PRO|CON image rank score tag) in {}",
        path.display()
    );
    let plain = PlainRun::new(&lines);
    note_changes(&plain, on_event);
    let both = [plain.pro.as_slice(), plain.con.as_slice()].concat();
    let mut files = Vec::new();
    for (name, lines) in RUNS.into_iter().zip([&plain.pro, &plain.con, &both]) {
        files.push(ExportedFile {
            name,
            text: write_texts(lines)?,
            content: described(lines),
        });
    }
    if let Some(argument) = qrels {
        let judgements = read_judgements(argument, &stdin, on_event)?;
        let Qrels::Images(qrels) = &judgements.qrels else {
            bail!("{argument} has no judgements of images (topic ONTOPIC|PRO|CON image grade)");
        };
        let topics = topics(&lines, qrels, all_judged, on_event);
        let plain = PlainQrels::new(&topics, qrels, edition);
        let what = format!(
            "without judgements: the files have {NO_JUDGEMENT} for them, so that they count as 0"
        );
        note("topics", plain.unjudged.iter(), &what, on_event);
        for (name, text) in QRELS.into_iter().zip(plain.files) {
            files.push(ExportedFile {
                name,
                text,
                content: format!("{} queries", 2 * topics.len()),
            });
        }
    }
    Ok(RunExport { path, files })
}

/// The number of queries and results of a plain run, in words.
fn described(lines: &[TextRunLine]) -> String {
    let queries: BTreeSet<&TopicId> = lines.iter().map(|line| &line.topic).collect();
    format!("{} queries, {} images", queries.len(), lines.len())
}

/// The topics whose judgements are written. Notes say which topics are left out or incomplete.
fn topics<'a>(
    lines: &'a [ImageRunLine],
    qrels: &'a ImageQrels,
    all_judged: bool,
    on_event: &mut OnEvent,
) -> BTreeSet<&'a TopicId> {
    let in_run: BTreeSet<&TopicId> = lines.iter().map(|line| &line.topic).collect();
    let judged: BTreeSet<&TopicId> = qrels.keys().collect();
    let topics = if all_judged { &judged } else { &in_run };
    let lists: BTreeSet<(&TopicId, Stance)> = lines
        .iter()
        .map(|line| (&line.topic, line.stance))
        .collect();
    let has_all_lists = |topic: &TopicId| Stance::BOTH.iter().all(|s| lists.contains(&(topic, *s)));
    let partial = topics.iter().filter(|topic| !has_all_lists(topic));
    note(
        "topics",
        partial.copied(),
        "without a PRO or a CON list: it counts as 0, and ranx needs make_comparable=True",
        on_event,
    );
    let (left_out, what) = match all_judged {
        true => (
            in_run.difference(&judged),
            "of the run without judgements: evaluators leave them out",
        ),
        false => (
            judged.difference(&in_run),
            "with judgements that are not in the run: they are left out, as in the official measures (--all-judged counts them as 0)",
        ),
    };
    note("topics", left_out.copied(), what, on_event);
    topics.clone()
}

fn note_changes(plain: &PlainRun, on_event: &mut OnEvent) {
    if plain.repeated > 0 {
        on_event(Event::note(format!(
            "{} lines repeat an image of their list and are left out. `riposte evaluate` counts each of them, so figures can differ",
            plain.repeated
        )));
    }
    note(
        "lists",
        plain.rescored.iter(),
        "whose scores do not strictly decrease with the ranks (as 32-bit floats): they get new scores that count down to 1",
        on_event,
    );
    if plain.retagged {
        on_event(Event::note("blanks in the run's tag are replaced by _"));
    }
}

/// Adds a note that names these topics or lists, if there are any.
fn note<'a>(
    kind: &str,
    ids: impl Iterator<Item = &'a TopicId>,
    what: &str,
    on_event: &mut OnEvent,
) {
    let ids: Vec<&str> = ids.map(|id| id.0.as_str()).collect();
    if ids.is_empty() {
        return;
    }
    let count = ids.len();
    let named = ids[..count.min(NAMED)].join(", ");
    let more = if count > NAMED { ", …" } else { "" };
    on_event(Event::note(format!(
        "{count} {kind} {what} ({named}{more})"
    )));
}
