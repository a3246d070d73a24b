//! The channels of both lists.

use anyhow::{Context, Result};
use rusqlite::Row;

use super::{Afinn, Vader};
use crate::evidence::channel::{Channel, Extractor, NewExtractor, Precision, PutRow};
use crate::evidence::document::DocumentInWork;
use crate::evidence::table::ColumnType::{Integer, Real, Text};
use crate::evidence::table::EvidenceTable;
use crate::evidence::{AfinnValence, Evidence, PartValue, read_part, texts};
use crate::weights::{CheckedModel, ModelRole};

/// Identifies VADER's values in the evidence store. If they change, this number must change too.
const PRODUCER: &str = "vader/1";

/// VADER's compound scores of a document's texts.
pub(crate) static VADER: EvidenceTable =
    EvidenceTable::new("vader", 2, &[(Text, "page part"), (Real, "compound")]);

/// AFINN's valence of a document's texts: the sum, and the number of words that have a score.
pub(crate) static AFINN: EvidenceTable = EvidenceTable::new(
    "afinn",
    2,
    &[(Text, "page part"), (Real, "sum"), (Integer, "words")],
);

/// The channel of VADER's compound scores.
pub struct VaderScores;

/// The channel of AFINN's valence.
pub struct AfinnScores;

/// The channels whose texts both read.
const TEXTS: &[&str] = &["page", "ocr"];

/// The stage to which the time of both is added.
const STAGE: &str = "sentiment";

impl Channel for VaderScores {
    fn name(&self) -> &'static str {
        "vader"
    }

    fn uses(&self) -> &'static [&'static str] {
        TEXTS
    }

    fn tables(&self) -> &'static [&'static EvidenceTable] {
        const { &[&VADER] }
    }

    fn stage(&self) -> &'static str {
        STAGE
    }

    fn extractor(&self, _: Option<CheckedModel>, _: Precision) -> NewExtractor {
        Ok(Box::new(Vader::new()))
    }

    fn rows(&self, evidence: &Evidence, put: &mut PutRow) -> rusqlite::Result<()> {
        let mut values = evidence.vader.iter();
        values.try_for_each(|v| put(&VADER, &[&v.page, &<&str>::from(v.part), &v.value]))
    }

    fn read(&self, _: &EvidenceTable, row: &Row, evidence: &mut Evidence) -> rusqlite::Result<()> {
        read_part(row, || row.get(3), &mut evidence.vader)
    }
}

impl Channel for AfinnScores {
    fn name(&self) -> &'static str {
        "afinn"
    }

    fn uses(&self) -> &'static [&'static str] {
        TEXTS
    }

    fn tables(&self) -> &'static [&'static EvidenceTable] {
        const { &[&AFINN] }
    }

    fn role(&self) -> Option<ModelRole> {
        Some(ModelRole::Lexicon)
    }

    fn stage(&self) -> &'static str {
        STAGE
    }

    fn extractor(&self, model: Option<CheckedModel>, _: Precision) -> NewExtractor {
        let model = model.context("AFINN needs its list")?;
        let list = Afinn::load(&model.path("AFINN-en-165.txt"))?;
        Ok(Box::new((list, model.sha256)))
    }

    fn rows(&self, evidence: &Evidence, put: &mut PutRow) -> rusqlite::Result<()> {
        let mut values = evidence.afinn.iter();
        values.try_for_each(|PartValue { page, part, value }| {
            let (part, words) = (<&str>::from(*part), value.words as i64);
            put(&AFINN, &[page, &part, &value.sum, &words])
        })
    }

    fn read(&self, _: &EvidenceTable, row: &Row, evidence: &mut Evidence) -> rusqlite::Result<()> {
        let value = || {
            Ok(AfinnValence {
                sum: row.get(3)?,
                words: row.get::<_, i64>(4)? as u64,
            })
        };
        read_part(row, value, &mut evidence.afinn)
    }
}

impl Extractor for Vader {
    fn producer(&self) -> String {
        PRODUCER.to_owned()
    }

    fn compute(&self, document: &mut DocumentInWork) -> Result<()> {
        document.evidence.vader = of_texts(&document.evidence, |text| self.compound(text));
        Ok(())
    }
}

/// The list and its sha256.
impl Extractor for (Afinn, String) {
    fn producer(&self) -> String {
        format!("afinn/1 {}", self.1)
    }

    fn compute(&self, document: &mut DocumentInWork) -> Result<()> {
        document.evidence.afinn = of_texts(&document.evidence, |text| self.0.valence(text));
        Ok(())
    }
}

/// A value for each text of the document.
fn of_texts<T>(evidence: &Evidence, value: impl Fn(&str) -> T) -> Vec<PartValue<T>> {
    let values = texts(evidence).into_iter().map(|text| {
        let value = value(&text.value);
        text.with(value)
    });
    values.collect()
}
