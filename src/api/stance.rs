use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use riposte_eval::{Explanation, ObjectStance};

use super::Error;
use crate::answer::stance;
use crate::answer::stance::{StanceAnswer, StanceQuestion};
use crate::device::Compute;
use crate::events::{Event, OnEvent};
use crate::lazy::Lazy;
use crate::models;
use crate::reading::stance_encoder::StanceEncoder;
use crate::score::object_stance::Objects;
use crate::score::text_stance::Stances;
use crate::weights::Models;

/// Detects the stance of texts.
///
/// It reads them with the stance encoder if the model `all-minilm-l6-v2` is installed; otherwise it goes by words alone.
pub struct StanceDetector {
    encoder: Option<Arc<Lazy<StanceEncoder>>>,
}

/// The stance of a text towards two objects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObjectStances {
    /// The decision.
    pub decision: ObjectStance,
    /// The probability that the text prefers the first object. The four probabilities add up to 1.
    pub first: f64,
    /// The probability that it prefers the second object.
    pub second: f64,
    /// The probability that it compares both and prefers none.
    pub neutral: f64,
    /// The probability that it does not compare them.
    pub no: f64,
}

impl StanceDetector {
    /// What a note says if the stance encoder is not installed.
    #[doc(hidden)]
    pub const OTHERWISE: &str = "stance is estimated from words only";

    /// With the models that are installed in `models`, or in the user's data directory. `on_event` receives an [`Event::Note`] if the stance encoder is
    /// missing.
    ///
    /// # Errors
    /// An installed model is damaged.
    pub fn open(
        models: Option<&Path>,
        mut on_event: impl FnMut(Event),
    ) -> Result<StanceDetector, Error> {
        let models = Models::at(models).map_err(Error::model)?;
        StanceDetector::with(&models, Compute::default(), &mut on_event).map_err(Error::model)
    }

    #[doc(hidden)]
    pub fn with(
        models: &Models,
        compute: Compute,
        on_event: &mut OnEvent,
    ) -> Result<StanceDetector> {
        let otherwise = StanceDetector::OTHERWISE;
        let encoder = models::installed_stance_encoder(models, compute, otherwise, on_event)?;
        Ok(StanceDetector::of(encoder))
    }

    /// With this encoder, or by words alone.
    #[doc(hidden)]
    pub fn of(encoder: Option<Arc<Lazy<StanceEncoder>>>) -> StanceDetector {
        StanceDetector { encoder }
    }

    /// Whether the stance encoder is installed.
    pub fn has_encoder(&self) -> bool {
        self.encoder.is_some()
    }

    /// The stance of a text towards the claim of a question or topic, such as "Should the voting age be lowered?". Only the beginning of a long text is
    /// read.
    ///
    /// # Errors
    /// The stance encoder cannot be loaded, or fails.
    pub fn towards(&self, topic: &str, text: &str) -> Result<Stances, Error> {
        let question = StanceQuestion::about_topic(topic, text.to_owned());
        match self.answer_one(question)? {
            StanceAnswer::Claim(stances) => Ok(stances),
            StanceAnswer::Objects { .. } => Ok(Stances::NEITHER),
        }
    }

    /// The stance of a text towards two objects, such as "cats" and "dogs".
    ///
    /// # Errors
    /// The stance encoder cannot be loaded, or fails.
    pub fn between(&self, first: &str, second: &str, text: &str) -> Result<ObjectStances, Error> {
        let question = StanceQuestion::Objects {
            objects: Objects::new(first, second),
            text: text.to_owned(),
        };
        let (decision, [first, second, neutral, no]) = match self.answer_one(question)? {
            StanceAnswer::Objects {
                decision,
                probabilities,
            } => (decision, probabilities),
            StanceAnswer::Claim(_) => (ObjectStance::No, [0.0, 0.0, 0.0, 1.0]),
        };
        Ok(ObjectStances {
            decision,
            first,
            second,
            neutral,
            no,
        })
    }

    fn answer_one(&self, question: StanceQuestion) -> Result<StanceAnswer, Error> {
        let answers = self.answer(&[question], false).map_err(Error::model)?;
        let answer = answers.into_iter().next();
        let answer = answer.ok_or_else(|| anyhow::anyhow!("there is no answer"));
        Ok(answer.map_err(Error::model)?.0)
    }

    /// As [`stance::answer`].
    #[doc(hidden)]
    pub fn answer(
        &self,
        questions: &[StanceQuestion],
        explain: bool,
    ) -> Result<Vec<(StanceAnswer, Option<Explanation>)>> {
        stance::answer(questions, self.encoder.as_deref(), explain)
    }
}
