//! The channels of image vectors by image-text models. A store has room for the vectors of two models, so that a recipe can weigh both.

use anyhow::{Context, Result};
use rusqlite::Row;

use super::{Clip, Pixels};
use crate::device;
use crate::evidence::channel::{
    self, Channel, Extractor, NewExtractor, Precision, PutRow, WaitingDocument,
};
use crate::evidence::document::DocumentInWork;
use crate::evidence::table::ColumnType::Vector;
use crate::evidence::table::{EvidenceTable, blob_of, vector_of};
use crate::evidence::{ChannelValue, Evidence};
use crate::lazy::Lazy;
use crate::weights::{CheckedModel, ModelRole};
use riposte_nn::transformer::EncoderBackend;

/// The vector of each image by the first model.
static CLIP: EvidenceTable = EvidenceTable::new("clip", 0, &[(Vector, "vector")]).with_large_rows();

/// The vector of each image by the second model.
static IMAGE_TEXT: EvidenceTable = EvidenceTable::new("image_text", 0, &[(Vector, "vector")])
    .with_large_rows()
    .added_later();

/// One of the two image-text models of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// The model that `--clip` names, or the first that is installed. Stances and kinds of pictures are estimated with it, too.
    First,
    /// The model that `--image-text` names. Without that option, there is none.
    Second,
}

impl Slot {
    /// Both, in their order.
    pub const ALL: [Slot; 2] = [Slot::First, Slot::Second];

    /// The name of the channel. The names of its signals begin with it.
    pub fn channel(self) -> &'static str {
        match self {
            Slot::First => "clip",
            Slot::Second => "image-text",
        }
    }

    /// The table of the vectors.
    fn table(self) -> &'static EvidenceTable {
        match self {
            Slot::First => &CLIP,
            Slot::Second => &IMAGE_TEXT,
        }
    }
}

/// The vectors of an image by the models, of unit length, in the order of the [`Slot`]s.
#[derive(Debug, Default)]
pub struct ImageVectors(pub [Option<Vec<f32>>; 2]);

impl ChannelValue for ImageVectors {}

impl Evidence {
    /// The vector of the image by a model.
    pub fn image_vector(&self, model: Slot) -> Option<&[f32]> {
        self.get::<ImageVectors>()?.0[model as usize].as_deref()
    }

    fn image_vector_mut(&mut self, model: Slot) -> &mut Option<Vec<f32>> {
        &mut self.get_mut::<ImageVectors>().0[model as usize]
    }
}

/// The channel of a model's image vectors. The images of a group are embedded in one batch.
pub struct ImageTextVectors(pub Slot);

impl Channel for ImageTextVectors {
    fn name(&self) -> &'static str {
        self.0.channel()
    }

    fn tables(&self) -> &'static [&'static EvidenceTable] {
        match self.0 {
            Slot::First => const { &[&CLIP] },
            Slot::Second => const { &[&IMAGE_TEXT] },
        }
    }

    fn role(&self) -> Option<ModelRole> {
        Some(ModelRole::Clip)
    }

    fn option(&self) -> Option<&'static str> {
        Some(match self.0 {
            Slot::First => {
                "CLIP model, such as clip-vit-base-patch32. By default the first that is installed"
            }
            Slot::Second => {
                "Second model of images and texts, beside the one of --clip: another model of the same kind. Approaches can weight the signals \"image-text topic\" and \"image-text title\". By default none"
            }
        })
    }

    fn only_if_named(&self) -> bool {
        self.0 == Slot::Second
    }

    fn values_in_int8(&self) -> Option<&'static str> {
        Some(match self.0 {
            Slot::First => "CLIP vectors that were computed in int8 are kept",
            Slot::Second => {
                "vectors of the second image-text model that were computed in int8 are kept"
            }
        })
    }

    fn extractor(&self, model: Option<CheckedModel>, precision: Precision) -> NewExtractor {
        let model = model.with_context(|| format!("{} needs a model", self.name()))?;
        let producer = Clip::producer_of(&model.sha256);
        let load = move || {
            let mode = precision.compute.backend;
            let clip = Clip::load(&model.dir, mode.or(EncoderBackend::Auto), precision.clip)?;
            mode.check(clip.runtime)
                .with_context(|| model.name.clone())?;
            Ok(clip)
        };
        Ok(Box::new(ImageTextModel {
            slot: self.0,
            model: Lazy::new(producer, load),
        }))
    }

    fn rows(&self, evidence: &Evidence, put: &mut PutRow) -> rusqlite::Result<()> {
        match evidence.image_vector(self.0) {
            Some(vector) => put(self.0.table(), &[&blob_of(vector)]),
            None => Ok(()),
        }
    }

    fn read(&self, _: &EvidenceTable, row: &Row, evidence: &mut Evidence) -> rusqlite::Result<()> {
        *evidence.image_vector_mut(self.0) = Some(vector_of(row.get_ref(1)?.as_blob()?)?);
        Ok(())
    }
}

/// An installed model, and the slot for its vectors.
pub struct ImageTextModel {
    slot: Slot,
    /// A ranking embeds the topics with it.
    pub model: Lazy<Clip>,
}

impl Extractor for ImageTextModel {
    fn producer(&self) -> String {
        self.model.producer().to_owned()
    }

    fn compute(&self, document: &mut DocumentInWork) -> Result<()> {
        if let Some(image) = document.image() {
            let pixels = self.model.get()?.preprocess(&image.picture.image);
            document.later = Some(Box::new(pixels));
        }
        Ok(())
    }

    fn complete(&self, waiting: Vec<WaitingDocument>) -> Result<()> {
        let (mut records, mut batch) = (Vec::new(), Vec::new());
        for WaitingDocument { input, record } in waiting {
            let pixels = input.downcast::<Pixels>().ok();
            batch.push(*pixels.context("pixels are expected")?);
            records.push(record);
        }
        let model = self.model.get()?;
        let name = self.slot.channel();
        let vectors = model.embed_images(&batch);
        let vectors = vectors.with_context(|| format!("{name} failed on a batch of images"))?;
        for (record, vector) in records.into_iter().zip(vectors) {
            *record.evidence.image_vector_mut(self.slot) = Some(vector);
            if let Some(made) = record.made.get_mut(name) {
                let backend =
                    channel::ChannelBackend::of_transformer(model.runtime, model.numeric());
                made.backend = Some(backend);
            }
        }
        Ok(())
    }

    fn describe(&self) -> Option<String> {
        let model = self.model.loaded()?;
        let computed = device::describe(model.runtime, model.numeric());
        Some(match model.agreement() {
            Some(least) => {
                format!(
                    "{computed}, with a cosine of at least {least:.4} to floats on its examples"
                )
            }
            None => computed,
        })
    }
}
