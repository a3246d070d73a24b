//! Evaluates a run by judgements of any kind.

use crate::edition::Edition;
use crate::graded::SortedTextRun;
use crate::images::evaluate_images;
use crate::measure::Measure;
use crate::qrels::Qrels;
use crate::run::{ReadRun, read_images};
use crate::values::MeasureValues;
use crate::{Error, LineError};

/// The values of measures for a run.
#[derive(Clone, Debug)]
pub struct RunEvaluation {
    /// The values of each measure, in the order in which the measures were given.
    pub values: Vec<MeasureValues>,
    /// The lines of the run that could not be read, which do not count; those that trec_eval reads although they are odd; and, in text runs, those that
    /// repeat a document of their topic, of which the one with the best score counts.
    pub errors: Vec<LineError>,
}

/// Evaluates a run, which is read in the format to which the judgements belong. With judgements of images, the grades that are relevant are those of
/// the first edition; [`evaluate_images`] takes another one.
///
/// # Errors
/// A measure cannot be computed from judgements of this kind ([`Measure::fits`]).
pub fn evaluate(run: &str, qrels: &Qrels, measures: &[Measure]) -> Result<RunEvaluation, Error> {
    let other = |measure: &Measure| Error::OtherJudgements {
        measure: measure.to_string(),
    };
    let (values, errors): (Result<Vec<MeasureValues>, Error>, _) = match qrels {
        Qrels::Images(qrels) => {
            let (lines, errors) = read_images(run);
            let evaluated = evaluate_images(&lines, qrels, Edition::first());
            let values = measures.iter().map(|measure| match measure {
                Measure::Image(measure) => Ok(evaluated.measure(measure)),
                _ => Err(other(measure)),
            });
            (values.collect(), errors)
        }
        _ => {
            let (lines, errors) = ReadRun::read(run).into_parts();
            let run = SortedTextRun::new(&lines);
            let values = measures.iter().map(|measure| {
                let values = run.measure_by(qrels, measure);
                values.ok_or_else(|| other(measure))
            });
            (values.collect(), errors)
        }
    };
    values.map(|values| RunEvaluation { values, errors })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qrels;

    fn evaluated(run: &str, judgements: &str, measure: &str) -> Result<RunEvaluation, Error> {
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
