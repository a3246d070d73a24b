//! The channels of both lists.

use anyhow::{Context, Result};
use rusqlite::Row;

use super::{Afinn, Vader};
use crate::evidence::channel::{Channel, Extractor, NewExtractor, Precision, PutRow};
use crate::evidence::document::DocumentInWork;
use crate::evidence::table::ColumnType::{Integer, Real, Text};
use crate::evidence::table::EvidenceTable;
use crate::evidence::{
    ChannelValue, Evidence, PageEvidence, PartValue, TextPart, read_part, texts,
};
use crate::weights::{CheckedModel, ModelRole};

/// Identifies VADER's values in the evidence store. If they change, this number must change too.
const PRODUCER: &str = "vader/1";

/// VADER's compound scores of a document's texts.
static VADER: EvidenceTable =
    EvidenceTable::new("vader", 2, &[(Text, "page part"), (Real, "compound")]);

/// AFINN's valence of a document's texts: the sum, and the number of words that have a score.
static AFINN: EvidenceTable = EvidenceTable::new(
    "afinn",
    2,
    &[(Text, "page part"), (Real, "sum"), (Integer, "words")],
);

/// VADER's compound score of a text, in [-1, 1].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VaderValence(pub f64);

impl ChannelValue for Vec<PartValue<VaderValence>> {}

/// The valence of a text by AFINN.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AfinnValence {
    /// The sum of the scores of all words and phrases found, as Python's `Afinn().score(text)`.
    pub sum: f64,
    /// The number of words and phrases found, including those with score 0.
    pub words: u64,
}

impl ChannelValue for Vec<PartValue<AfinnValence>> {}

impl Evidence {
    /// The VADER compound score of a part, averaged over the pages.
    pub(crate) fn vader_of(&self, part: TextPart) -> Option<f64> {
        mean(self.of_part(part).map(|VaderValence(value)| *value))
    }

    /// The VADER compound scores of two parts, summed over the pages.
    pub(crate) fn vader_sum(&self, parts: [TextPart; 2]) -> f64 {
        let all = self.list::<PartValue<VaderValence>>().iter();
        let of_parts = all.filter(|of| parts.contains(&of.part));
        of_parts.map(|of| of.value.0).sum()
    }

    /// The VADER compound score of a part of the first page; `None` if that page lacks it.
    pub(crate) fn vader_of_first_page(&self, part: TextPart) -> Option<f64> {
        let first = self.list::<PageEvidence>().first();
        let first = first.map_or("", |page| page.id.as_str());
        let mut all = self.list::<PartValue<VaderValence>>().iter();
        let own = all.find(|of| of.part == part && of.page == first);
        own.map(|of| of.value.0)
    }

    /// The AFINN sum of a part, averaged over the pages.
    pub(crate) fn afinn_of(&self, part: TextPart) -> Option<f64> {
        mean(self.of_part(part).map(|of: &AfinnValence| of.sum))
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), v| (sum + v, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

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
        let mut values = evidence.list::<PartValue<VaderValence>>().iter();
        values.try_for_each(|v| put(&VADER, &[&v.page, &<&str>::from(v.part), &v.value.0]))
    }

    fn read(&self, _: &EvidenceTable, row: &Row, evidence: &mut Evidence) -> rusqlite::Result<()> {
        read_part(row, || Ok(VaderValence(row.get(3)?)), evidence)
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
        let mut values = evidence.list::<PartValue<AfinnValence>>().iter();
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
        read_part(row, value, evidence)
    }
}

impl Extractor for Vader {
    fn producer(&self) -> String {
        PRODUCER.to_owned()
    }

    fn compute(&self, document: &mut DocumentInWork) -> Result<()> {
        let values = of_texts(&document.evidence, |text| VaderValence(self.compound(text)));
        document.evidence.put(values);
        Ok(())
    }
}

/// The list and its sha256.
impl Extractor for (Afinn, String) {
    fn producer(&self) -> String {
        format!("afinn/1 {}", self.1)
    }

    fn compute(&self, document: &mut DocumentInWork) -> Result<()> {
        let values = of_texts(&document.evidence, |text| self.0.valence(text));
        document.evidence.put(values);
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
