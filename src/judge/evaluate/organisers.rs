//! What the organisers' evaluator of image runs makes of a run, and where riposte's figures differ from it.

use std::collections::HashMap;

use anyhow::{Result, bail};
use riposte_eval::edition::{Edition, RunFormat, Topics};
use riposte_eval::images::{ImageEvaluation, counted_lines, evaluate_images};
use riposte_eval::qrels::Qrels;
use riposte_eval::run::ImageRunLine;
use riposte_eval::verify::{Rule, Rules, RunVerdict, Severity, verify};
use riposte_eval::{DocId, Stance, TopicId};

use super::{Detail, EvaluatedRun, EvaluatedRuns, Judgements};
use crate::events::{Event, OnEvent};
use crate::wording::counted;

impl EvaluatedRuns {
    /// The evaluation of the lines that the organisers' evaluator accepts. `option` asked for it.
    ///
    /// # Errors
    /// There are several runs or judgements, or the judgements are not of images.
    pub fn of_organisers(
        &self,
        edition: &'static Edition,
        option: &str,
    ) -> Result<ImageEvaluation> {
        let ([judgements], [run]) = (self.judgements.as_slice(), self.runs.as_slice()) else {
            bail!("{option} needs a single run and a single file of image judgements");
        };
        let Qrels::Images(qrels) = &judgements.qrels else {
            bail!("{option} needs image judgements");
        };
        let verdict = verify(&run.bytes, &Rules::of_evaluator(edition));
        Ok(evaluate_images(&verdict.accepted, qrels, edition))
    }

    /// Reports for each image run where its figures differ from those of the organisers' evaluator, if they do.
    pub fn report_differences(&self, on_event: &mut OnEvent) {
        for run in &self.runs {
            if let Some(differences) = &run.from_organisers {
                let path = run.path.display();
                on_event(Event::note(format!("{path}: {differences}")));
            }
        }
    }
}

impl EvaluatedRun {
    /// How the figures of an image run differ from those of the organisers' evaluator: in the lines and topics that count, and so in P@10. `None` if
    /// nothing differs. `images` are the lines of the run.
    pub(super) fn differences(
        &self,
        bytes: &[u8],
        images: &[ImageRunLine],
        judgements: &[Judgements],
        edition: &'static Edition,
    ) -> Option<String> {
        let verdict = verify(bytes, &Rules::of_evaluator(edition));
        let (here, there) = differing_lines(images, &verdict.accepted);
        if here + there == 0 {
            return None;
        }
        let mut said = vec![lines(here, there)];
        said.extend(unknown(&verdict, edition));
        let of_images = judgements.iter().filter_map(|judgements| {
            let Qrels::Images(qrels) = &judgements.qrels else {
                return None;
            };
            let theirs = evaluate_images(&verdict.accepted, qrels, edition);
            Some((judgements.name.as_str(), theirs))
        });
        let ours = self.details.iter().filter_map(|detail| match detail {
            Detail::Images(evaluation) => Some(evaluation),
            Detail::Stances { .. } => None,
        });
        let compared: Vec<_> = of_images.zip(ours).collect();
        if let Some(((_, theirs), ours)) = compared.first() {
            said.extend(topics(ours, theirs));
        }
        for ((name, theirs), ours) in &compared {
            let by = match compared.len() {
                1 => String::new(),
                _ => format!(" by {name}"),
            };
            said.push(figures(ours, theirs, &by));
        }
        Some(said.join("; "))
    }
}

/// Which lines count here alone, and which there alone.
fn lines(here: usize, there: usize) -> String {
    let leave_out = match here {
        0 => None,
        1 => Some("a line that riposte counts breaks a rule of the task (`riposte verify` names it): the organisers' evaluator leaves it out".to_owned()),
        _ => Some(format!(
            "{here} lines that riposte counts break a rule of the task (`riposte verify` names them): the organisers' evaluator leaves them out"
        )),
    };
    let add = (there > 0).then(|| {
        format!(
            "the organisers' evaluator counts {} instead, which {} not among the first ten of {} here",
            counted(there, "line", "lines"),
            if there == 1 { "is" } else { "are" },
            if there == 1 { "its list" } else { "their lists" },
        )
    });
    let both: Vec<String> = leave_out.into_iter().chain(add).collect();
    both.join(", and ")
}

/// Which topics and ids the evaluator knows, if the run has others.
fn unknown(verdict: &RunVerdict, edition: &Edition) -> Option<String> {
    let mut errors = verdict.findings.iter();
    let is_unknown = |rule: Rule| rule == Rule::Topic || rule == Rule::Document;
    errors.find(|of| of.severity == Severity::Error && is_unknown(of.rule))?;
    let Topics::Numbers(topics) = &edition.topics else {
        return None;
    };
    let RunFormat::Stances {
        evaluated_digits, ..
    } = &edition.run
    else {
        return None;
    };
    let digits: Vec<String> = evaluated_digits.iter().map(usize::to_string).collect();
    Some(format!(
        "that of {} knows topics {topics} alone, and ids of I and {} hexadecimal digits (--edition)",
        edition.year,
        digits.join(" or ")
    ))
}

/// The number of topics that count here alone.
fn topics(ours: &ImageEvaluation, theirs: &ImageEvaluation) -> Option<String> {
    let in_run = |evaluation: &ImageEvaluation| {
        let topics = evaluation.topics.values();
        topics.filter(|topic| topic.in_run).count()
    };
    let missing = in_run(ours).saturating_sub(in_run(theirs));
    let named = counted(missing, "topic", "topics");
    (missing > 0).then(|| format!("it leaves out {named} completely"))
}

fn figures(ours: &ImageEvaluation, theirs: &ImageEvaluation, by: &str) -> String {
    let shown = |evaluation: &ImageEvaluation| {
        let [on_topic, argumentative, on_stance] = evaluation.official();
        format!(
            "{on_topic:.3} on topic, {argumentative:.3} argumentative, {on_stance:.3} on stance"
        )
    };
    let (ours, theirs) = (shown(ours), shown(theirs));
    match ours == theirs {
        true => format!("its P@10{by} is the same: {theirs}"),
        false => format!("its P@10{by} is {theirs} (--as organisers), and riposte's is {ours}"),
    }
}

/// The number of lines that count here and are not accepted there, and of those that are accepted there and do not count here. Of lines that say the
/// same, some can be accepted and others not.
fn differing_lines(images: &[ImageRunLine], accepted: &[ImageRunLine]) -> (usize, usize) {
    fn key(line: &ImageRunLine) -> (&TopicId, Stance, &DocId, u32) {
        (&line.topic, line.stance, &line.image, line.rank)
    }
    let mut more: HashMap<_, isize> = HashMap::new();
    for line in counted_lines(images) {
        *more.entry(key(line)).or_default() += 1;
    }
    for line in accepted {
        *more.entry(key(line)).or_default() -= 1;
    }
    let sum = |sign: isize| {
        let counts = more.values().map(|count| sign * count);
        let counts = counts.filter_map(|count| usize::try_from(count).ok());
        counts.sum()
    };
    (sum(1), sum(-1))
}
