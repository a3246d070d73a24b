//! Evaluates a run by judgements of any kind.

use crate::confusion::Confusion;
use crate::edition::Edition;
use crate::graded::TextRun;
use crate::images::{ImageEvaluation, evaluate_images};
use crate::measure::Measure;
use crate::qrels::{ImageQrels, Qrels, StanceQrels};
use crate::run::{Contradiction, ImageRunLine, ReadRun, read_images};
use crate::values::Values;
use crate::{Error, LineError};

/// Judgements, and the measures that are computed from them.
#[derive(Clone, Copy, Debug)]
pub struct JudgedBy<'a> {
    /// The name of the judgements in tables and messages, safe to print.
    pub name: &'a str,
    /// The judgements.
    pub qrels: &'a Qrels,
    /// Measures that fit the judgements ([`Measure::fits`]); others are left out.
    pub measures: &'a [Measure],
}

/// The values of measures for a run, and what to know about them.
#[derive(Clone, Debug, Default)]
pub struct Evaluation {
    /// The values of each measure, in the order in which the judgements and their measures were given.
    pub values: Vec<Values>,
    /// The highest value of each measure that the run can reach with the judgements; `None` if that is 1.
    pub attainable: Vec<Option<f64>>,
    /// Results in addition to these values.
    pub details: Vec<Detail>,
    /// The lines of the run that could not be read, which do not count; those that trec_eval reads although they are odd; and, in text runs, those that
    /// repeat a document of their topic, of which the one with the best score counts.
    pub errors: Vec<LineError>,
    /// Sentences on what affects the values, such as topics without judgements.
    pub remarks: Vec<String>,
    /// Whether any document of the run is judged.
    pub is_judged: bool,
}

/// Results in addition to the values of the measures.
#[derive(Clone, Debug)]
pub enum Detail {
    /// By judgements of images: all P@10.
    Images(ImageEvaluation),
    /// By judgements of stances.
    Stances {
        /// The name of the judgements.
        qrels: String,
        /// Of all results.
        all: Confusion,
        /// Of the first five results of each topic.
        first: Confusion,
    },
}

/// Evaluates a run, which is read in the format to which the judgements belong. With judgements of images, the grades that are relevant are those of
/// the first edition; [`evaluate_by`] takes another one.
///
/// # Errors
/// A measure cannot be computed from judgements of this kind ([`Measure::fits`]).
pub fn evaluate(run: &str, qrels: &Qrels, measures: &[Measure]) -> Result<Evaluation, Error> {
    if let Some(other) = measures.iter().find(|measure| !measure.fits(qrels)) {
        let measure = other.to_string();
        return Err(Error::OtherJudgements { measure });
    }
    let by = JudgedBy {
        name: "qrels",
        qrels,
        measures,
    };
    Ok(evaluate_by(run, &[by], Edition::first()))
}

/// Evaluates a run by several judgements. It is read in the format to which each of them belongs. `edition` decides which grades of images count as
/// relevant.
pub fn evaluate_by(run: &str, judgements: &[JudgedBy], edition: &Edition) -> Evaluation {
    let mut evaluation = Evaluation::default();
    let is_of_images = |by: &JudgedBy| matches!(by.qrels, Qrels::Images(_));
    let (mut images, mut texts) = (Vec::new(), Vec::new());
    if judgements.iter().any(is_of_images) {
        (images, evaluation.errors) = read_images(run);
    }
    if !judgements.iter().all(is_of_images) {
        let read = ReadRun::read(run);
        evaluation
            .remarks
            .extend(read.contradiction().map(of_ranks));
        (texts, evaluation.errors) = read.into_parts();
    }
    let is_empty = images.is_empty() && texts.is_empty();
    if is_empty {
        evaluation.remark("no line of a run can be read: everything counts as 0");
    }
    let texts = TextRun::new(&texts);
    for by in judgements {
        let unjudged = match by.qrels {
            Qrels::Images(qrels) => {
                evaluation.is_judged |= is_any_judged(&images, qrels);
                evaluation.add_images(evaluate_images(&images, qrels, edition), by.measures)
            }
            qrels => {
                evaluation.is_judged |= texts.is_judged(qrels);
                evaluation.add_texts(&texts, by)
            }
        };
        if unjudged > 0 {
            let topics = topics(unjudged);
            evaluation.remark(format!("{topics} without judgements in {}", by.name));
        }
    }
    if !evaluation.is_judged && !is_empty {
        evaluation.remark(
            "no document of the run is judged: are these the judgements of its topics and of its collection?",
        );
    }
    evaluation
}

/// The remark on ranks that contradict the scores of a text run.
fn of_ranks(found: Contradiction) -> String {
    format!(
        "the ranks of {} contradict the scores; the scores count, as in trec_eval, except in the organisers' nDCG. The first is {found}",
        topics(found.topics)
    )
}

fn topics(count: usize) -> String {
    let noun = if count == 1 { "topic" } else { "topics" };
    format!("{count} {noun}")
}

fn is_any_judged(images: &[ImageRunLine], qrels: &ImageQrels) -> bool {
    images.iter().any(|line| {
        let of_topic = qrels.get(&line.topic);
        of_topic.is_some_and(|of| of.contains_key(&line.image))
    })
}

impl Evaluation {
    fn remark(&mut self, text: impl Into<String>) {
        self.remarks.push(text.into());
    }

    /// Adds the values of the measures. Returns the number of topics without judgements, as [`Self::add_texts`] does.
    fn add_images(&mut self, evaluation: ImageEvaluation, measures: &[Measure]) -> usize {
        for measure in measures {
            if let Measure::Image(measure) = measure {
                self.values.push(evaluation.measure(measure));
                let most = evaluation.attainable(measure).all();
                self.attainable.push((most < 1.0).then_some(most));
            }
        }
        let topics = evaluation.topics.values();
        let unjudged = topics.filter(|t| t.in_run && !t.is_judged).count();
        self.details.push(Detail::Images(evaluation));
        unjudged
    }

    fn add_texts(&mut self, run: &TextRun, by: &JudgedBy) -> usize {
        for measure in by.measures {
            if let Some(values) = run.measure_by(by.qrels, measure) {
                self.values.push(values);
                self.attainable.push(None);
            }
        }
        if let Qrels::Stances(qrels) = by.qrels {
            self.details.push(Detail::Stances {
                qrels: by.name.to_owned(),
                all: confusion(run, qrels, None),
                first: confusion(run, qrels, Some(5)),
            });
            return run.unjudged_topics(|topic| qrels.contains_key(topic));
        }
        let grades = by.qrels.grades();
        run.unjudged_topics(|topic| grades.is_some_and(|grades| grades.contains_key(topic)))
    }
}

fn confusion(run: &TextRun, qrels: &StanceQrels, cutoff: Option<usize>) -> Confusion {
    let topics = run.confusions(qrels, cutoff);
    let sum = |sum: Confusion, of: &Confusion| sum.and(of);
    topics.values().fold(Confusion::default(), sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qrels;

    fn evaluated(run: &str, judgements: &str, measure: &str) -> Result<Evaluation, Error> {
        let (qrels, errors) = qrels::read(judgements);
        assert!(errors.is_empty(), "{errors:?}");
        evaluate(run, &qrels, &[measure.parse()?])
    }

    #[test]
    fn the_judgements_decide_how_a_run_is_read() {
        for (run, judgements, measure, value) in [
            ("1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n", "1 0 b 1\n", "RR", 0.5),
            (
                "1 FIRST a 1 2 t\n",
                "1 0 a FIRST\n",
                "StanceP(class=FIRST)",
                1.0,
            ),
            (
                "1 PRO Ia 1 2 t\n",
                "1 ONTOPIC Ia 1\n",
                "topicRelevanceP(list=PRO)@10",
                0.1,
            ),
            (
                "{\"argument_id\": \"1-1\", \"image_id\": \"Ia\", \"rank\": 1}\n",
                "{\"argument_id\": \"1-1\", \"image_id\": \"Ia\", \"answer\": \"yes\"}\n",
                "nDCG@1",
                1.0,
            ),
        ] {
            let found = evaluated(run, judgements, measure).unwrap();
            assert_eq!(found.values[0].all(), value, "{measure}");
            assert!(found.errors.is_empty(), "{:?}", found.errors);
        }
    }

    #[test]
    fn several_judgements_give_their_values_in_order_and_remarks_on_the_rest() {
        let [grades, stances] = ["1 0 a 1\n", "1 0 a NO\n"].map(|text| qrels::read(text).0);
        let [precision, f1] = [&["P@1"], &["StanceF1"]].map(|[name]| [name.parse().unwrap()]);
        let judgements = [("grades", &grades, &precision), ("stances", &stances, &f1)];
        let judged_by = judgements.map(|(name, qrels, measures)| JudgedBy {
            name,
            qrels,
            measures,
        });
        let run = "1 NO a 1 2 t\n2 NO b 1 1 t\n";
        let found = evaluate_by(run, &judged_by, Edition::first());
        let values: Vec<f64> = found.values.iter().map(Values::all).collect();
        // one of four stances is right
        assert_eq!(values, [1.0, 0.25]);
        let unjudged =
            ["grades", "stances"].map(|of| format!("1 topic without judgements in {of}"));
        assert_eq!(found.remarks, unjudged);
        assert!(found.is_judged && matches!(found.details[..], [Detail::Stances { .. }]));
        let found = evaluate_by("3 Q0 a 1 2 t\n", &judged_by[..1], Edition::first());
        assert!(!found.is_judged && found.remarks[1].starts_with("no document of the run"));
    }

    #[test]
    fn a_broken_line_is_named_and_another_measure_is_an_error() {
        let found = evaluated("1 Q0 a 1 2 t\n1 Q0\n", "1 0 a 1\n", "RR").unwrap();
        assert_eq!(found.errors[0].to_string(), "line 2: no document");
        let twice = "1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n1 Q0 a 3 0 t\n";
        let found = evaluated(twice, "1 0 a 1\n1 0 b 0\n", "RR").unwrap();
        assert_eq!(found.values[0].all(), 1.0);
        let [repeated] = &found.errors[..] else {
            panic!("{:?}", found.errors)
        };
        let said = "line 3: document a of topic 1 again, first on line 1";
        assert!(repeated.to_string().starts_with(said), "{repeated}");
        let error = evaluated("", "1 0 a FIRST\n", "nDCG@5").unwrap_err();
        let said = "nDCG@5 cannot be computed from these judgements";
        assert_eq!(error.to_string(), said);
    }
}
