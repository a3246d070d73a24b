//! Explains the score of one document: the same sum as in a search, term by term.

use anyhow::Result;

use super::{Plan, length_of};
use crate::index::corpus::{Corpus, UNTOUCHED};
use crate::trec::Explanation;

impl Plan<'_> {
    /// The contributions to a document's score, in the order in which a search adds them.
    pub(super) fn explain(&self, corpus: &Corpus, number: u32) -> Result<Explanation> {
        let name = |field: usize| corpus.meta().fields.get(field).map_or("", String::as_str);
        let mut parts = Vec::new();
        let mut sum = UNTOUCHED;
        let mut matched = 0u64;
        for group in &self.groups {
            let is_sum = !self.similarity.combines_fields() && group.joined.is_empty();
            let mut frequency = 0.0;
            let mut fields = Vec::new();
            for term in &group.terms {
                let tf = term.postings.frequency(number)?;
                if tf == 0 {
                    continue;
                }
                matched |= 1 << term.part;
                let length = corpus.length(term.field, number).unwrap_or(0);
                let how = format!(
                    "{tf} of {length} terms; in {} of {} documents",
                    term.df, term.counts.documents
                );
                let (value, how) = if !is_sum {
                    let value = self.frequency(corpus, group, term, tf, number);
                    frequency += value;
                    (value, how)
                } else {
                    let score = term.score.score(f64::from(tf), length);
                    let weight = term.field_weight * term.term_weight;
                    let value = weight * score;
                    sum += value + 0.0;
                    (value, format!("weight {weight} × {score:.6}: {how}"))
                };
                fields.push(Explanation {
                    name: format!("{}: {}", name(term.field), term.text),
                    value,
                    how,
                    parts: Vec::new(),
                });
            }
            match group.terms.first() {
                Some(first) if !is_sum && !fields.is_empty() => {
                    let value = self.combined(corpus, group, frequency, number);
                    sum += value + 0.0;
                    parts.push(Explanation {
                        name: first.text.to_owned(),
                        value,
                        how: format!("score of the frequency {frequency:.6}, the fields' sum"),
                        parts: fields,
                    });
                }
                _ => parts.extend(fields),
            }
        }
        if matched == 0 || matched & self.must != self.must {
            return Ok(Explanation {
                name: "score".into(),
                value: 0.0,
                how: "the query does not find it".into(),
                parts: Vec::new(),
            });
        }
        for (fields, weight) in &self.lengths {
            let value = self.length_part(corpus, fields, *weight, number);
            sum += value;
            let length = length_of(corpus, fields, number);
            let names: Vec<&str> = fields.iter().map(|field| name(*field)).collect();
            parts.push(Explanation {
                name: format!("{}: length", names.join("+")),
                value,
                how: format!("{length} terms in the document; the query's terms weigh {weight}"),
                parts: Vec::new(),
            });
        }
        Ok(Explanation {
            name: "score".into(),
            value: sum,
            how: "sum".into(),
            parts,
        })
    }
}
