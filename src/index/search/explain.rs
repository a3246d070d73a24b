//! Explains the score of one document: the same sum as in a search, term by term.

use anyhow::Result;
use riposte_eval::Explanation;
use serde_json::json;

use super::{Plan, TermGroup, length_of};
use crate::index::inverted::UNTOUCHED;

/// The score of a search, or the score by which a document is ranked.
pub(crate) const SCORE: &str = "score";

/// The contribution of a term; `of_term` makes it.
pub(crate) const TERM: &str = "term";

/// The contribution of a document's length in the fields that the parameter lists.
pub(crate) const LENGTH: &str = "length";

/// The score of the query's terms without their proximity.
pub(crate) const TERMS: &str = "terms";

/// The score of terms of the query that are near each other.
pub(crate) const PROXIMITY: &str = "proximity";

impl Plan<'_> {
    /// The contributions to a document's score, in the order in which a search adds them.
    pub(super) fn explain(&self, number: u32) -> Result<Explanation> {
        let mut parts = Vec::new();
        let mut sum = UNTOUCHED;
        let mut matched = 0u64;
        for group in &self.groups {
            for part in self.explain_group(group, number, &mut matched)? {
                // a search adds 0.0, too: the score -0.0 marks untouched documents, so a found document must not have it
                sum += part.value() + 0.0;
                parts.push(part);
            }
        }
        if matched == 0 || matched & self.must != self.must {
            let score = Explanation::new(SCORE, 0.0);
            return Ok(score.with_how("the query does not find it"));
        }
        for (fields, weight) in &self.lengths {
            let value = self.length_part(fields, *weight, number);
            sum += value;
            let length = length_of(self.index, fields, number);
            let names = fields.iter().map(|field| self.field_name(*field));
            let names: Vec<&str> = names.collect();
            let name = format!("{}: length", names.join("+"));
            let part = Explanation::new((LENGTH, names), value).named(name);
            parts.push(part.with_how(format!(
                "{length} terms in the document; the query's terms weigh {weight}"
            )));
        }
        let score = Explanation::new(SCORE, sum);
        Ok(score.with_how("sum").with_parts(parts))
    }

    /// The contributions of a group of terms: one for each term, or one for all of them if they are scored as one. In `matched`, sets the bits of
    /// those parts of the query whose terms the document contains.
    fn explain_group(
        &self,
        group: &TermGroup,
        number: u32,
        matched: &mut u64,
    ) -> Result<Vec<Explanation>> {
        let is_sum = self.is_sum(group);
        let mut frequency = 0.0;
        let mut fields = Vec::new();
        for term in &group.terms {
            let tf = term.postings.frequency(number)?;
            if tf == 0 {
                continue;
            }
            *matched |= 1 << term.part;
            let length = self.index.length(term.field, number).unwrap_or(0);
            let how = format!(
                "{tf} of {length} terms; in {} of {} documents",
                term.df, term.counts.documents
            );
            let field = Some(self.field_name(term.field));
            fields.push(if is_sum {
                let score = term.score.score(f64::from(tf), length);
                let weight = term.field_weight * term.term_weight;
                let how = format!("weight {weight} × {score:.6}: {how}");
                of_term(field, term.text, weight * score).with_how(how)
            } else {
                let value = self.frequency(group, term, tf, number);
                frequency += value;
                of_term(field, term.text, value).with_how(how)
            });
        }
        Ok(match group.terms.first() {
            Some(first) if !is_sum && !fields.is_empty() => {
                let value = self.combined(group, frequency, number);
                let how = format!("score of the frequency {frequency:.6}, the fields' sum");
                vec![
                    of_term(None, first.text, value)
                        .with_how(how)
                        .with_parts(fields),
                ]
            }
            _ => fields,
        })
    }

    fn field_name(&self, field: usize) -> &str {
        let name = self.index.meta().fields.get(field);
        name.map_or("", String::as_str)
    }
}

/// The contribution of a term in a field. Without a field, it is the contribution of the term in all fields together.
pub(crate) fn of_term(field: Option<&str>, term: &str, value: f64) -> Explanation {
    let (of, name) = match field {
        Some(field) => (
            json!({"field": field, "term": term}),
            format!("{field}: {term}"),
        ),
        None => (json!({"term": term}), term.to_owned()),
    };
    Explanation::new((TERM, of), value).named(name)
}
