//! The tantivy schema of an index, and the conversion of documents to it.
//!
//! A text has two fields: one is searched, the other is stored. `premises_terms` contains the terms that our analyzer made, separated
//! by spaces. tantivy splits it at white space, so other programs that use tantivy can search the index without our analyzer.
//! `premises` contains the original text. Lengths, marks and the checksum of the stored texts are columns (tantivy's fast fields).

use anyhow::{Context, Result};
use riposte_eval::{DocId, Stance};
use sha2::{Digest, Sha256};
use tantivy::TantivyDocument;
use tantivy::schema::{
    FAST, Field, IndexRecordOption, STORED, Schema, SchemaBuilder, TextFieldIndexing, TextOptions,
    Value,
};

use super::{Document, IndexKind};
use crate::collection::portal::Portal;
use crate::index::analyzer::TermWriter;

/// The names of the columns for a document's id, its marks and the checksum of its texts.
pub(crate) const ID: &str = "id";
pub(crate) const MARKS: &str = "marks";
pub(crate) const CHECKSUM: &str = "checksum";

/// Bits of the column [`MARKS`].
pub(crate) const SHORT: u8 = 1;
pub(crate) const DUPLICATE: u8 = 2;

/// The bits of the column [`MARKS`] from this one on have the number of the debate portal, from 1; 0 if the portal is not known.
const PORTAL_SHIFT: u32 = 2;
const PORTAL_MASK: u8 = 0b111;

/// The bits for a debate portal.
pub(super) fn portal_bits(portal: Option<Portal>) -> u8 {
    portal.map_or(0, |portal| portal as u8) << PORTAL_SHIFT
}

/// The number of the debate portal in the marks of a document.
pub(super) fn portal_number(marks: u8) -> u8 {
    marks >> PORTAL_SHIFT & PORTAL_MASK
}

/// The name of the column with the lengths of a field, in terms.
pub(crate) fn length_column(field: &str) -> String {
    format!("{field}_length")
}

/// The fields of an index.
#[derive(Clone)]
pub struct IndexFields {
    pub schema: Schema,
    pub id: Field,
    /// The searched fields: one for each field of the kind, in the same order.
    pub terms: Vec<Field>,
    lengths: Vec<Field>,
    /// The stored fields, in the same order; empty if the kind stores no texts.
    texts: Vec<Field>,
    marks: Field,
    checksum: Field,
    stance: Field,
    url: Field,
    duplicate_of: Field,
}

impl IndexFields {
    /// The fields of an index of this kind.
    pub fn new(kind: IndexKind) -> Self {
        let mut schema = SchemaBuilder::default();
        let split = |option| {
            let indexing = TextFieldIndexing::default()
                .set_tokenizer("whitespace")
                .set_index_option(option)
                .set_fieldnorms(false);
            TextOptions::default().set_indexing_options(indexing)
        };
        let column = TextOptions::default().set_fast("raw").set_stored();
        let id = if kind.is_updated() {
            // documents are deleted by id, so the id must be indexed
            let whole = TextFieldIndexing::default()
                .set_tokenizer("raw")
                .set_index_option(IndexRecordOption::Basic)
                .set_fieldnorms(false);
            schema.add_text_field(ID, column.set_indexing_options(whole))
        } else {
            schema.add_text_field(ID, column)
        };
        let mut fields = Vec::new();
        for name in kind.fields() {
            let terms = split(IndexRecordOption::WithFreqs);
            fields.push((
                schema.add_text_field(&format!("{name}_terms"), terms),
                schema.add_u64_field(&length_column(name), FAST),
                (!kind.is_updated()).then(|| schema.add_text_field(name, STORED)),
            ));
        }
        IndexFields {
            id,
            terms: fields.iter().map(|(terms, _, _)| *terms).collect(),
            lengths: fields.iter().map(|(_, length, _)| *length).collect(),
            texts: fields.iter().filter_map(|(_, _, text)| *text).collect(),
            marks: schema.add_u64_field(MARKS, FAST),
            checksum: schema.add_u64_field(CHECKSUM, FAST),
            stance: schema.add_text_field("stance", STORED),
            url: schema.add_text_field("url", STORED),
            duplicate_of: schema.add_text_field("duplicate_of", STORED),
            schema: schema.build(),
        }
    }

    /// Converts a document to tantivy's form. `marks` are the bits [`SHORT`] and [`DUPLICATE`], and those of the portal.
    pub fn document(
        &self,
        document: &Document,
        marks: u8,
        terms: &mut TermWriter,
    ) -> TantivyDocument {
        let texts = &document.texts;
        let mut made = TantivyDocument::default();
        made.add_text(self.id, &document.id.0);
        for ((field, length), text) in self.terms.iter().zip(&self.lengths).zip(texts) {
            let (joined, count) = terms.write(text);
            made.add_text(*field, joined);
            made.add_u64(*length, u64::from(count));
        }
        for (field, text) in self.texts.iter().zip(texts) {
            made.add_text(*field, text);
        }
        let stance = document.stance.map(Stance::word);
        let first = document.duplicate_of.as_ref().map(|first| first.0.as_str());
        let url = document.url.as_deref();
        let given = [
            (self.stance, stance),
            (self.url, url),
            (self.duplicate_of, first),
        ];
        for (field, text) in given {
            if let Some(text) = text {
                made.add_text(field, text);
            }
        }
        made.add_u64(self.marks, u64::from(marks));
        made.add_u64(self.checksum, checksum(document));
        made
    }

    /// Converts a stored document back; its portal is only a mark. Errors: a field is missing.
    pub fn read(&self, stored: &TantivyDocument) -> Result<Document> {
        let text = |field: Field| stored.get_first(field).and_then(|value| value.as_str());
        let id = text(self.id).context("it has no id")?;
        let texts: Option<Vec<String>> = self
            .texts
            .iter()
            .map(|field| text(*field).map(str::to_owned))
            .collect();
        let texts = texts.context("a text is missing")?;
        Ok(Document {
            stance: text(self.stance).and_then(|word| word.parse().ok()),
            url: text(self.url).map(str::to_owned),
            duplicate_of: text(self.duplicate_of).map(|id| DocId(id.to_owned())),
            ..Document::new(DocId(id.to_owned()), texts)
        })
    }
}

/// The checksum of a stored document: the first eight bytes of a SHA-256 over its parts, each preceded by its length.
pub fn checksum(document: &Document) -> u64 {
    let first = document.duplicate_of.as_ref();
    let rest = [
        document.stance.map_or("", Stance::word),
        document.url.as_deref().unwrap_or_default(),
        first.map_or("", |first| first.0.as_str()),
    ];
    let texts = document.texts.iter().map(String::as_str);
    let parts = [document.id.0.as_str()].into_iter();
    let parts = parts.chain(texts).chain(rest);
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let digest = hash.finalize();
    u64::from_le_bytes(std::array::from_fn(|at| digest[at]))
}
