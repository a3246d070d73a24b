//! The text index: fields of documents in tantivy, searched one field at a time, so that each
//! field's score is a number of its own in an explanation.

use anyhow::{Context, Result, bail};
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, BoostQuery, Occur, Query, TermQuery};
use tantivy::schema::{FAST, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::TextAnalyzer;
use tantivy::{Index, IndexWriter, Searcher, TantivyDocument, Term};

use super::analyzer;

/// Memory for the segment being written, a field. Each field is an index of its own, and one thread writes it: fields
/// are written at once, and segments, and with them the order in which tantivy adds up a score, are the same on every machine.
const WRITER_BYTES: usize = 128 << 20;

/// An index being filled.
pub struct TextIndexWriter {
    fields: Vec<FieldWriter>,
    documents: u64,
}

/// One field's part of it.
struct FieldWriter {
    writer: IndexWriter,
    index: Index,
    number: Field,
    text: Field,
}

/// Documents, numbered from 0 in the order in which they were added, with named text fields.
pub struct TextIndex {
    fields: Vec<(Searcher, Field)>,
    documents: usize,
}

impl TextIndexWriter {
    /// An empty index in memory with these fields.
    pub fn in_memory(field_names: &[&str]) -> Result<Self> {
        let fields = field_names.iter().map(|name| FieldWriter::in_memory(name));
        Ok(TextIndexWriter {
            fields: fields.collect::<Result<_>>()?,
            documents: 0,
        })
    }

    /// Adds the next document: one text a field, in the order of the fields' names.
    pub fn add(&mut self, texts: &[&str]) -> Result<()> {
        if texts.len() != self.fields.len() {
            bail!("{} texts for {} fields", texts.len(), self.fields.len());
        }
        for (field, text) in self.fields.iter().zip(texts) {
            let mut document = TantivyDocument::default();
            document.add_u64(field.number, self.documents);
            document.add_text(field.text, text);
            field
                .writer
                .add_document(document)
                .context("cannot add a document to the text index")?;
        }
        self.documents += 1;
        Ok(())
    }

    /// Ends the writing.
    pub fn finish(self) -> Result<TextIndex> {
        // each field's thread has its last documents still to write
        let fields: Vec<Result<(Searcher, Field)>> = std::thread::scope(|scope| {
            let ends: Vec<_> = self
                .fields
                .into_iter()
                .map(|field| scope.spawn(|| field.finish()))
                .collect();
            let joined = ends.into_iter().map(|end| end.join());
            joined
                .map(|end| end.unwrap_or_else(|_| bail!("a thread of the text index failed")))
                .collect()
        });
        Ok(TextIndex {
            fields: fields
                .into_iter()
                .collect::<Result<_>>()
                .context("cannot finish the text index")?,
            documents: self.documents as usize,
        })
    }
}

impl FieldWriter {
    fn in_memory(name: &str) -> Result<Self> {
        let mut schema = Schema::builder();
        let number = schema.add_u64_field("number", FAST);
        let options = TextOptions::default().set_indexing_options(
            TextFieldIndexing::default()
                .set_tokenizer(analyzer::ENGLISH)
                .set_index_option(IndexRecordOption::WithFreqs),
        );
        let text = schema.add_text_field(name, options);
        let index = Index::create_in_ram(schema.build());
        index
            .tokenizers()
            .register(analyzer::ENGLISH, analyzer::english());
        let writer = index
            .writer_with_num_threads(1, WRITER_BYTES)
            .context("cannot make the text index")?;
        Ok(FieldWriter {
            writer,
            index,
            number,
            text,
        })
    }

    fn finish(mut self) -> Result<(Searcher, Field)> {
        self.writer.commit()?;
        self.writer.wait_merging_threads()?;
        Ok((self.index.reader()?.searcher(), self.text))
    }
}

impl TextIndex {
    /// BM25 (k1 = 1.2, b = 0.75, tantivy's lengths) of every document in one field: one number a
    /// document, 0 where no term matches. A term's weight is how often the query has it.
    pub fn bm25(&self, field: usize, analyzer: &mut TextAnalyzer, query: &str) -> Result<Vec<f32>> {
        let mut scores = vec![0.0; self.documents];
        let (searcher, field) = self.fields.get(field).context("no such field")?;
        let mut terms: Vec<(String, f32)> = Vec::new();
        for term in analyzer::terms(analyzer, query) {
            match terms.iter_mut().find(|(t, _)| *t == term) {
                Some((_, count)) => *count += 1.0,
                None => terms.push((term, 1.0)),
            }
        }
        if terms.is_empty() || self.documents == 0 {
            return Ok(scores);
        }
        let clauses = terms
            .into_iter()
            .map(|(term, count)| {
                let term = Term::from_field_text(*field, &term);
                let query: Box<dyn Query> = Box::new(BoostQuery::new(
                    Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)),
                    count,
                ));
                (Occur::Should, query)
            })
            .collect::<Vec<_>>();
        let found = searcher
            .search(
                &BooleanQuery::new(clauses),
                &TopDocs::with_limit(self.documents).order_by_score(),
            )
            .context("cannot search the text index")?;
        let numbers = searcher
            .segment_readers()
            .iter()
            .map(|segment| segment.fast_fields().u64("number"))
            .collect::<tantivy::Result<Vec<_>>>()
            .context("cannot read the text index")?;
        for (score, address) in found {
            let number = numbers
                .get(address.segment_ord as usize)
                .and_then(|column| column.first(address.doc_id));
            if let Some(slot) = number.and_then(|n| scores.get_mut(n as usize)) {
                *slot = score;
            }
        }
        Ok(scores)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_is_scored_by_itself() {
        let mut writer = TextIndexWriter::in_memory(&["title", "body"]).unwrap();
        writer.add(&["Voting ages", "nothing here"]).unwrap();
        writer
            .add(&["", "The vote, the votes and THE VOTING"])
            .unwrap();
        writer.add(&["a cat", "a dog"]).unwrap();
        let index = writer.finish().unwrap();
        let mut analyzer = analyzer::english();
        let title = index
            .bm25(0, &mut analyzer, "Should the voting age be lowered?")
            .unwrap();
        assert!(title[0] > 0.0 && title[1] == 0.0 && title[2] == 0.0);
        let body = index
            .bm25(1, &mut analyzer, "Should the voting age be lowered?")
            .unwrap();
        assert!(body[0] == 0.0 && body[1] > 0.0 && body[2] == 0.0);
        // two of the two query terms weigh more than one of them twice as much
        assert_eq!(index.bm25(1, &mut analyzer, "the of").unwrap(), [0.0; 3]);
    }
}
