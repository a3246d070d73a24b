//! The channel of sentence vectors.

use anyhow::{Context, Result};
use rusqlite::Row;

use super::{Sentences, lazy};
use crate::device;
use crate::evidence::channel::{self, Channel, Extractor, NewExtractor, Precision, PutRow};
use crate::evidence::document::DocumentInWork;
use crate::evidence::table::ColumnType::{Text, Vector};
use crate::evidence::table::{EvidenceTable, blob_of, vector_of};
use crate::evidence::{ChannelValue, Evidence, PartValue, TextPart, read_part, texts};
use crate::lazy::Lazy;
use crate::weights::{CheckedModel, ModelRole};

/// The vectors of a document's texts.
static SENTENCE: EvidenceTable =
    EvidenceTable::new("sentence", 2, &[(Text, "page part"), (Vector, "vector")]).with_large_rows();

/// The embedding of a text, of unit length.
#[derive(Clone, Debug, PartialEq)]
pub struct SentenceVector(pub Vec<f32>);

/// Of the text in the image, the titles, the words around the image and, if the collection gives texts, of these and the pages' main texts.
impl ChannelValue for Vec<PartValue<SentenceVector>> {}

/// The channel of the embeddings of a document's texts.
pub struct SentenceVectors;

impl Channel for SentenceVectors {
    fn name(&self) -> &'static str {
        "sentence"
    }

    fn uses(&self) -> &'static [&'static str] {
        &["page", "ocr"]
    }

    fn tables(&self) -> &'static [&'static EvidenceTable] {
        const { &[&SENTENCE] }
    }

    fn role(&self) -> Option<ModelRole> {
        Some(ModelRole::Sentence)
    }

    fn values_in_int8(&self) -> Option<&'static str> {
        Some("sentence vectors that were computed in int8 are kept")
    }

    fn extractor(&self, model: Option<CheckedModel>, precision: Precision) -> NewExtractor {
        let model = model.context("sentence vectors need a model")?;
        Ok(Box::new(lazy(&model, precision.compute)))
    }

    fn rows(&self, evidence: &Evidence, put: &mut PutRow) -> rusqlite::Result<()> {
        for s in evidence.list::<PartValue<SentenceVector>>() {
            put(
                &SENTENCE,
                &[&s.page, &<&str>::from(s.part), &blob_of(&s.value.0)],
            )?;
        }
        Ok(())
    }

    fn read(&self, _: &EvidenceTable, row: &Row, evidence: &mut Evidence) -> rusqlite::Result<()> {
        let value = || Ok(SentenceVector(vector_of(row.get_ref(3)?.as_blob()?)?));
        read_part(row, value, evidence)
    }
}

impl Extractor for Lazy<Sentences> {
    fn producer(&self) -> String {
        Lazy::producer(self).to_owned()
    }

    fn compute(&self, document: &mut DocumentInWork) -> Result<()> {
        let evidence = &document.evidence;
        // main texts are compared only with claims, and only collections of claims give texts; for other collections this would be useless work
        let with_main = !evidence.given.is_empty();
        let mut texts = texts(evidence);
        texts.retain(|text| text.part != TextPart::Main || with_main);
        let values: Vec<&str> = texts.iter().map(|t| t.value.as_str()).collect();
        let model = self.get()?;
        let vectors = document.pool.install(|| model.embed(&values));
        let vectors = vectors.context("the sentence encoder failed")?;
        let values = texts.into_iter().zip(vectors);
        let values = values.map(|(text, value)| text.with(SentenceVector(value)));
        document.evidence.put(values.collect::<Vec<_>>());
        document.backend = Some(channel::ChannelBackend::of_transformer(
            model.runtime,
            model.numeric(),
        ));
        Ok(())
    }

    fn describe(&self) -> Option<String> {
        let model = self.loaded()?;
        Some(device::describe(model.runtime, model.numeric()))
    }
}
