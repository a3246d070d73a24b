use std::path::Path;

use anyhow::Result;
use riposte_eval::MeasureValues;
use riposte_eval::edition::Edition;

use super::Error;
use crate::events::Event;
use crate::files::NamedRun;
use crate::files::stdin::Stdin;
use crate::judge::evaluate;
use crate::judge::evaluate::{ChosenMeasure, EvaluationSettings};

/// A measure of a run.
#[derive(Clone, Debug)]
pub struct Evaluated {
    /// The name of the measure, as it is parsed: `nDCG@5`.
    pub measure: String,
    /// The value for all topics and for each topic.
    pub values: MeasureValues,
}

/// Evaluates the run in a file by the judgements in another file, as `riposte evaluate` does; without measures, by those that the organisers use
/// for judgements of this kind. The edition of the image task decides which grades are relevant to these: 1 in 2022, and 1 and above in 2023; other
/// judgements do not depend on it, and [`Edition::first`] will do. `on_event` receives an [`Event::Fault`] for each line that cannot be read, and remarks on what affects the values.
///
/// The crate `riposte-eval` evaluates runs and judgements that are not in files.
///
/// # Errors
/// A file cannot be read or has no judgement, or a measure does not exist or cannot be computed from these judgements.
pub fn evaluate(
    run: impl AsRef<Path>,
    judgements: impl AsRef<Path>,
    edition: &'static Edition,
    measures: &[&str],
    mut on_event: impl FnMut(Event),
) -> Result<Vec<Evaluated>, Error> {
    let measures = measures.iter().map(|word| ChosenMeasure::parse(word, &[]));
    let settings = EvaluationSettings {
        edition,
        judgements: vec![judgements.as_ref().to_string_lossy().into_owned()],
        runs: vec![NamedRun {
            name: None,
            path: run.as_ref().to_owned(),
        }],
        measures: measures.collect::<Result<_>>().map_err(Error::input)?,
        stdin: Stdin::default(),
    };
    let evaluation = evaluate::evaluate(&settings, &mut on_event).map_err(Error::input)?;
    evaluation.report_differences(&mut on_event);
    let measures = evaluation.judgements.iter().flat_map(|of| &of.measures);
    let values = evaluation.runs.into_iter().flat_map(|run| run.values);
    let evaluated = measures.zip(values).map(|(measure, values)| Evaluated {
        measure: measure.to_string(),
        values,
    });
    Ok(evaluated.collect())
}
