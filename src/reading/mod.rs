//! Reading: what models compute from the text of a topic, by itself or together with the text of a document.
//!
//! Outputs are computed when they are first needed, and then stored, because a large collection has millions of sentences and a ranking reads
//! only thousands of them.

pub mod clauses;
pub mod cross;
mod outputs;
pub mod pieces;
mod posts;
mod queries;
pub mod ranking_steps;
pub mod sections;
pub mod stance_encoder;

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;

use crate::events::{Event, OnEvent, Progress, RankingStep};
use crate::evidence::clip::Clip;
use crate::evidence::sentence::{self, Sentences};
use crate::lazy::Lazy;
use crate::stopped::Stopped;
use crate::workspace::{self, Outputs as Workspace};
use cross::CrossEncoder;
use outputs::{OutputModel, complete};
use pieces::ClaimedPieces;
pub use queries::QueryEncoder;
use ranking_steps::StepClock;
pub(crate) use riposte_nn::sentence::Purpose;
use stance_encoder::{Logits, OUTPUTS, StanceEncoder, StanceReading};

/// The models that are installed.
#[derive(Clone, Copy, Default)]
pub struct ReadingModels<'a> {
    /// In the order of the [`Slot`](crate::evidence::clip::Slot)s.
    pub image_text: [Option<&'a Lazy<Clip>>; 2],
    pub sentences: Option<&'a Lazy<Sentences>>,
    pub cross: Option<&'a Lazy<CrossEncoder>>,
    pub stance_encoder: Option<&'a Lazy<StanceEncoder>>,
}

/// Models and the workspace with their outputs. If a model is not installed, stored outputs of a model of the same kind are used: of the one with the
/// most outputs in the workspace.
pub struct Reader<'a> {
    models: ReadingModels<'a>,
    store: OutputStore<'a>,
    pub(crate) sentence_producer: Option<String>,
    cross_producer: Option<String>,
    stance_producer: Option<String>,
}

fn producer<T>(
    model: Option<&Lazy<T>>,
    outputs: &Workspace,
    prefix: &str,
) -> Result<Option<String>> {
    match model {
        Some(model) => Ok(Some(model.producer().to_owned())),
        None => outputs.main_producer(prefix),
    }
}

/// Texts, with the keys of what is computed from each of them alone.
fn keyed<'t>(texts: &[&'t str]) -> Vec<(String, &'t str)> {
    let keyed = |text: &&'t str| (workspace::key(&[text]), *text);
    texts.iter().map(keyed).collect()
}

/// The workspace, how long reading it takes, and what stops it.
struct OutputStore<'a> {
    outputs: Workspace,
    clock: StepClock,
    stop: Option<&'a AtomicBool>,
}

impl OutputStore<'_> {
    /// Completes outputs ([`complete`]) as a step of its own.
    fn read<I: Copy, M, F>(
        &mut self,
        step: RankingStep,
        producer: &str,
        inputs: &[(String, I)],
        width: Option<usize>,
        compute: Option<OutputModel<M, F>>,
        on_event: &mut OnEvent,
    ) -> Result<Option<Vec<Vec<f32>>>>
    where
        F: FnMut(&M, &[I]) -> Result<Vec<Vec<f32>>>,
    {
        let before = self.clock.enter(step);
        let stop = self.stop;
        let on_progress = &mut |done, total| {
            on_event(Event::Progress(Progress::Outputs { step, done, total }));
            !stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
        };
        let outputs = complete(
            &mut self.outputs,
            producer,
            inputs,
            width,
            compute,
            on_progress,
        )?;
        self.clock.enter(before);
        Ok(outputs)
    }
}

impl<'a> Reader<'a> {
    /// # Errors
    /// The workspace cannot be read.
    pub fn new(models: ReadingModels<'a>, outputs: Workspace) -> Result<Self> {
        Ok(Reader {
            sentence_producer: producer(models.sentences, &outputs, sentence::PRODUCERS)?,
            cross_producer: producer(models.cross, &outputs, cross::PRODUCERS)?,
            stance_producer: producer(models.stance_encoder, &outputs, stance_encoder::PRODUCERS)?,
            models,
            store: OutputStore {
                outputs,
                clock: StepClock::default(),
                stop: None,
            },
        })
    }

    /// Computes nothing more once `stop` is set: then what needs more outputs fails.
    pub(crate) fn until(mut self, stop: &'a AtomicBool) -> Self {
        self.store.stop = Some(stop);
        self
    }

    /// # Errors
    /// The work was stopped.
    pub(crate) fn check_stopped(&self) -> Result<(), Stopped> {
        self.store
            .stop
            .map_or(Ok(()), |stop| Stopped::Models.check(stop))
    }

    /// Ends the current step and begins another one, for [`Reader::seconds`]. Returns the step that has ended. Methods of `Reader` that compute
    /// something begin separate steps themselves.
    pub(crate) fn enter(&mut self, step: RankingStep) -> RankingStep {
        self.store.clock.enter(step)
    }

    /// The seconds that each step has taken so far.
    pub(crate) fn seconds(&mut self) -> Vec<(RankingStep, f64)> {
        self.store.clock.seconds()
    }

    /// A note if stored outputs were damaged.
    pub(crate) fn note_of_damage(&self) -> Option<String> {
        self.store.outputs.note_of_damage()
    }

    /// The sentence vectors of texts, of unit length and in their order. `on_event` receives the number of vectors computed so far. `None` if
    /// a vector is not in the workspace and no sentence model is installed.
    ///
    /// # Errors
    /// The model fails, or the workspace cannot be read or written. The other methods have the same errors.
    pub(crate) fn sentence_vectors(
        &mut self,
        purpose: Purpose,
        texts: &[&str],
        on_event: &mut OnEvent,
    ) -> Result<Option<Vec<Vec<f32>>>> {
        let Some(producer) = &self.sentence_producer else {
            return Ok(None);
        };
        let (model, embed) = (self.models.sentences, Sentences::embed_for(purpose));
        let model = OutputModel::by(model, producer, Sentences::numeric, embed);
        let producer = &Sentences::producer_for(purpose, producer);
        let (step, inputs) = (RankingStep::SentenceVectors, keyed(texts));
        (self.store).read(step, producer, &inputs, None, model, on_event)
    }

    /// The cross-encoder's scores of texts for a topic ([`CrossEncoder::score`]), in the given order. `on_event` and `None` are as in
    /// [`Reader::sentence_vectors`].
    pub(crate) fn cross_scores(
        &mut self,
        topic: &str,
        texts: &[&str],
        on_event: &mut OnEvent,
    ) -> Result<Option<Vec<f64>>> {
        let Some(producer) = &self.cross_producer else {
            return Ok(None);
        };
        let inputs: Vec<(String, &str)> = texts
            .iter()
            .map(|text| (workspace::key(&[topic, text]), *text))
            .collect();
        let run = |model: &CrossEncoder, batch: &[&str]| {
            let scores = model.score(topic, batch)?;
            Ok(scores.into_iter().map(|score| vec![score]).collect())
        };
        let model = OutputModel::by(self.models.cross, producer, CrossEncoder::numeric, run);
        let step = RankingStep::CrossEncoder;
        let outputs = (self.store).read(step, producer, &inputs, Some(1), model, on_event)?;
        let scores = outputs.map(|outputs| outputs.into_iter().flatten().map(f64::from));
        Ok(scores.map(Iterator::collect))
    }

    /// The stance of (claim, text) pairs ([`StanceEncoder::logits`]), in the given order. `on_event` and `None` are as in
    /// [`Reader::sentence_vectors`].
    pub(crate) fn pair_logits(
        &mut self,
        pairs: &[(&str, &str)],
        on_event: &mut OnEvent,
    ) -> Result<Option<Vec<Logits>>> {
        let readings = self.read_pairs(RankingStep::Stance, pairs, on_event)?;
        Ok(readings.map(|all| all.iter().map(|reading| reading.stance).collect()))
    }

    /// The stance encoder's outputs for (claim, text) pairs ([`StanceEncoder::read`]), in the given order. `on_event` and `None` are as in
    /// [`Reader::sentence_vectors`].
    pub(crate) fn pair_readings(
        &mut self,
        pairs: &[(&str, &str)],
        on_event: &mut OnEvent,
    ) -> Result<Option<Vec<StanceReading>>> {
        self.read_pairs(RankingStep::StanceEncoder, pairs, on_event)
    }

    fn read_pairs(
        &mut self,
        step: RankingStep,
        pairs: &[(&str, &str)],
        on_event: &mut OnEvent,
    ) -> Result<Option<Vec<StanceReading>>> {
        let Some(producer) = &self.stance_producer else {
            return Ok(None);
        };
        let inputs: Vec<(String, (&str, &str))> = pairs
            .iter()
            .map(|pair| (workspace::key(&[pair.0, pair.1]), *pair))
            .collect();
        let run = |model: &StanceEncoder, batch: &[(&str, &str)]| {
            let readings = model.read(batch)?;
            Ok(readings.iter().map(|r| r.outputs().to_vec()).collect())
        };
        let model = OutputModel::by(
            self.models.stance_encoder,
            producer,
            StanceEncoder::numeric,
            run,
        );
        let width = Some(OUTPUTS);
        let outputs = (self.store).read(step, producer, &inputs, width, model, on_event)?;
        Ok(outputs.map(|outputs| {
            let outputs = outputs.iter().flat_map(|o| o.as_chunks::<OUTPUTS>().0);
            outputs.map(StanceReading::of).collect()
        }))
    }

    /// The logits of all [`pieces::Pieces`] of each text with its claim, in the order of the texts. `on_event` and `None`: as for
    /// [`Reader::sentence_vectors`].
    pub fn piece_logits(
        &mut self,
        texts: &[(&str, &str)],
        on_event: &mut OnEvent,
    ) -> Result<Option<Vec<Vec<Logits>>>> {
        let readings = self.piece_readings(texts, on_event)?;
        let stances = |of_text: &Vec<StanceReading>| of_text.iter().map(|r| r.stance).collect();
        Ok(readings.map(|all| all.iter().map(stances).collect()))
    }

    /// The stance encoder's outputs for all [`pieces::Pieces`] of each text with its claim, in the order of the texts. `on_event` and `None`: as
    /// for [`Reader::sentence_vectors`].
    pub(crate) fn piece_readings(
        &mut self,
        texts: &[(&str, &str)],
        on_event: &mut OnEvent,
    ) -> Result<Option<Vec<Vec<StanceReading>>>> {
        let pieces = ClaimedPieces::of(texts.iter().copied());
        let readings = self.read_pairs(RankingStep::Stance, &pieces.pairs(), on_event)?;
        Ok(readings.map(|readings| pieces.by_text(readings)))
    }
}
