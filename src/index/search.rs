//! Search in a [`InvertedIndex`]: the best k documents for a query of weighted terms, by a similarity.
//!
//! A score is the sum of the terms' contributions in the order of the query, in double precision, with exact lengths and with counts
//! over the whole collection. Equal scores are ordered by document id. Therefore a ranking depends neither on the segments of the index
//! nor on the number of threads that built it.

mod contributions;
pub(crate) mod explain;
mod pruned;
mod top;
mod windows;

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use riposte_eval::{DocId, Explanation};
use tantivy::tokenizer::TextAnalyzer;

use super::inverted::{BlockBounds, InvertedIndex, Postings, UNTOUCHED};
pub use super::options::SearchOptions;
use super::similarity::{FieldCounts, Similarity, TermCounts, TermScore};
use super::{ScoredDoc, analyzer};
use crate::limits::MAX_QUERY_PARTS;
use top::Top;
use windows::Scored;

/// Weighted terms in one field, or in several fields that are scored as one.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryPart {
    /// The positions of the fields in the index: one field, or several whose texts are scored as if they were one text.
    fields: Vec<usize>,
    /// The weight of the field. BM25F applies it inside its formula; other similarities multiply each term's score by it.
    pub weight: f64,
    /// Whether a document needs at least one of these terms to be found.
    pub must: bool,
    terms: Vec<(String, f64)>,
}

/// A query. It finds the documents that contain a term of any part, and a term of each required part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IndexQuery {
    pub parts: Vec<QueryPart>,
}

impl QueryPart {
    /// A part without terms, in this field.
    pub fn new(field: usize, weight: f64) -> Self {
        QueryPart {
            fields: vec![field],
            weight,
            must: false,
            terms: Vec::new(),
        }
    }

    /// The terms of a text, weighted by their frequency in it.
    pub fn of_text(field: usize, weight: f64, analyzer: &mut TextAnalyzer, text: &str) -> Self {
        let mut part = QueryPart::new(field, weight);
        for term in analyzer::terms(analyzer, text) {
            part.add(&term, 1.0);
        }
        part
    }

    /// The same terms in these fields, which are scored as one. There must be at least one field.
    pub fn over(mut self, fields: Vec<usize>) -> Self {
        self.fields = fields;
        self
    }

    /// The positions of the fields in the index.
    pub fn fields(&self) -> &[usize] {
        &self.fields
    }

    /// The same part, required.
    pub fn must(mut self) -> Self {
        self.must = true;
        self
    }

    /// Adds a term. If the part has the term already, adds the weights.
    pub fn add(&mut self, term: &str, weight: f64) {
        match self.terms.iter_mut().find(|(known, _)| known == term) {
            Some((_, sum)) => *sum += weight,
            None => self.terms.push((term.to_owned(), weight)),
        }
    }

    /// The terms with their weights, in the order in which they were added.
    pub fn terms(&self) -> &[(String, f64)] {
        &self.terms
    }
}

/// A term of the query that at least one document contains.
struct QueryTerm<'q> {
    part: usize,
    field: usize,
    text: &'q str,
    /// The weight of the part.
    field_weight: f64,
    term_weight: f64,
    counts: FieldCounts,
    df: u64,
    /// The bounds of its postings, if they are known.
    bounds: Option<Arc<BlockBounds>>,
    score: TermScore,
    postings: Postings<'q>,
}

impl QueryTerm<'_> {
    /// The number by which the similarity's score is multiplied.
    fn weight(&self) -> f64 {
        self.field_weight * self.term_weight
    }
}

/// Terms that are scored together: a single term, the same term in fields that are scored as one, or for BM25F the same term in several
/// fields.
struct TermGroup<'q> {
    terms: Vec<QueryTerm<'q>>,
    /// The fields that are scored as one; empty for other groups.
    joined: &'q [usize],
}

/// A query with its terms looked up: everything that does not depend on a document.
pub(crate) struct Plan<'q> {
    index: &'q InvertedIndex,
    similarity: &'q Similarity,
    groups: Vec<TermGroup<'q>>,
    /// For similarities with a length score: the fields of each part, and the weight of its length score.
    lengths: Vec<(&'q [usize], f64)>,
    length_scores: Arc<Vec<f64>>,
    /// One bit for each required part.
    must: u64,
}

impl InvertedIndex {
    /// The best documents for a query, the best first.
    ///
    /// Errors: a field that does not exist, a weight that is not finite, a parameter of the similarity out of range, more than 64
    /// parts, an index that cannot be read.
    pub fn search(
        &self,
        query: &IndexQuery,
        similarity: &Similarity,
        options: SearchOptions,
    ) -> Result<Vec<ScoredDoc>> {
        let plan = Plan::new(self, query, similarity)?;
        let mut top = Top::new(self, options.k);
        if options.k > 0 && plan.can_match() && !plan.search_pruned(options, &mut top)? {
            plan.search_all(options, &mut top)?;
        }
        let scored = top.finish().into_iter().map(|(score, id)| {
            let doc = DocId(id.context("a document has no id")?.to_owned());
            Ok(ScoredDoc { doc, score })
        });
        scored.collect()
    }

    /// The scores of all documents in one field, by number; 0 for documents without any of the terms, and for excluded documents.
    ///
    /// Errors: those of [`InvertedIndex::search`]; a similarity with length scores, or BM25F.
    pub(super) fn scores(&self, part: QueryPart, similarity: &Similarity) -> Result<Vec<f64>> {
        let query = IndexQuery { parts: vec![part] };
        let plan = Plan::new(self, &query, similarity)?;
        ensure!(
            !similarity.adds_length() && !similarity.combines_fields(),
            "only a sum over terms can be computed for all documents"
        );
        let mut scores = vec![0.0; self.numbers()];
        plan.each_window(|window| {
            let of_window = scores.get_mut(window.first as usize..).unwrap_or_default();
            for (to, score) in of_window.iter_mut().zip(window.scores) {
                *to = *score;
            }
        })?;
        Ok(scores)
    }

    /// The same documents with the scores of another query, the best first; 0 for documents that this query does not find. Ties are ordered by
    /// id.
    ///
    /// Errors: those of [`InvertedIndex::search`].
    pub fn rescore(
        &self,
        mut ranking: Vec<ScoredDoc>,
        query: &IndexQuery,
        similarity: &Similarity,
    ) -> Result<Vec<ScoredDoc>> {
        let plan = Plan::new(self, query, similarity)?;
        let mut numbers = Vec::new();
        for (found, place) in ranking.iter_mut().zip(0..) {
            found.score = 0.0;
            numbers.extend(self.number(&found.doc).map(|number| (number, place)));
        }
        numbers.sort_unstable();
        plan.each_window(|window| {
            let from = numbers.partition_point(|(number, _)| *number < window.first);
            let to = window.first + window.scores.len() as u32;
            let own = numbers.iter().skip(from);
            for (number, place) in own.take_while(|(number, _)| *number < to) {
                let found: Option<&mut ScoredDoc> = ranking.get_mut(*place);
                if let (Some(found), Some(score)) = (found, plan.score_of(&window, *number)) {
                    found.score = score;
                }
            }
        })?;
        sort(&mut ranking);
        Ok(ranking)
    }

    /// Explains the score of a document: the contributions that [`InvertedIndex::search`] adds up, in the same order. The score is 0 if the query does
    /// not find the document. Errors: those of [`InvertedIndex::search`]; the document is not in the index.
    pub fn explain(
        &self,
        query: &IndexQuery,
        similarity: &Similarity,
        doc: &DocId,
    ) -> Result<Explanation> {
        let number = self
            .number(doc)
            .with_context(|| format!("{doc} is not in the index"))?;
        Plan::new(self, query, similarity)?.explain(number)
    }
}

impl<'q> Plan<'q> {
    pub(crate) fn new(
        index: &'q InvertedIndex,
        query: &'q IndexQuery,
        similarity: &'q Similarity,
    ) -> Result<Self> {
        similarity.check()?;
        ensure!(
            query.parts.len() <= MAX_QUERY_PARTS,
            "a query has at most {MAX_QUERY_PARTS} parts"
        );
        let mut plan = Plan {
            index,
            similarity,
            groups: Vec::new(),
            lengths: Vec::new(),
            length_scores: Arc::default(),
            must: 0,
        };
        for (at, part) in query.parts.iter().enumerate() {
            let weight = part.weight;
            ensure!(weight.is_finite(), "a field's weight is {weight}");
            if part.must {
                plan.must |= 1 << at;
            }
            ensure!(
                !part.fields.is_empty()
                    && (part.fields.len() == 1 || !similarity.combines_fields()),
                "bm25f combines fields itself: they cannot be joined"
            );
            let mut total_weight = 0.0;
            for (text, weight) in &part.terms {
                ensure!(weight.is_finite(), "the weight of {text:?} is {weight}");
                let terms = plan.look_up(part, at, (text, *weight))?;
                if terms.is_empty() {
                    continue;
                }
                total_weight += weight;
                let same = |group: &&mut TermGroup| {
                    group.terms.first().is_some_and(|first| first.text == *text)
                };
                match plan.groups.iter_mut().find(same) {
                    Some(group) if similarity.combines_fields() => group.terms.extend(terms),
                    _ => plan.groups.push(TermGroup {
                        terms,
                        joined: match part.fields.as_slice() {
                            [_] => &[],
                            several => several,
                        },
                    }),
                }
            }
            if similarity.adds_length() {
                plan.lengths
                    .push((&part.fields, part.weight * total_weight));
            }
        }
        plan.length_scores = index.length_scores(similarity);
        if similarity.combines_fields() {
            plan.join_counts();
        }
        Ok(plan)
    }

    /// The formula for each term of a part.
    pub(crate) fn term_scores(&self, part: usize) -> HashMap<&'q str, TermScore> {
        let terms = self.groups.iter().flat_map(|group| &group.terms);
        let own = terms.filter(|term| term.part == part);
        own.map(|term| (term.text, term.score)).collect()
    }

    /// Looks up a term of a part. The result has an entry for each field that contains the term.
    fn look_up(
        &self,
        part: &'q QueryPart,
        at: usize,
        (text, term_weight): (&'q str, f64),
    ) -> Result<Vec<QueryTerm<'q>>> {
        let (index, similarity) = (self.index, self.similarity);
        let mut found = Vec::new();
        for field in &part.fields {
            let uses_cf = similarity.uses_cf() || part.fields.len() > 1;
            if let Some(term) = index.find(*field, text, uses_cf)? {
                found.push((*field, term));
            }
        }
        let all = part.fields.iter().map(|field| index.counts(*field));
        let counts = all.reduce(|joined, field| FieldCounts {
            documents: joined.documents,
            tokens: joined.tokens + field.tokens,
        });
        let counts = counts.context("a part of a query has no field")?;
        let term_counts = match found.as_slice() {
            [] => return Ok(Vec::new()),
            [(_, only)] => only.counts,
            several => TermCounts {
                df: index.documents_with(several.iter().map(|(_, term)| &term.postings))?,
                cf: several.iter().map(|(_, term)| term.counts.cf).sum(),
            },
        };
        let score = similarity.term(counts, term_counts);
        let terms = found.into_iter().map(|(field, term)| QueryTerm {
            part: at,
            field,
            text,
            field_weight: part.weight,
            term_weight,
            counts,
            df: term_counts.df,
            bounds: term.bounds,
            score,
            postings: term.postings,
        });
        Ok(terms.collect())
    }

    /// BM25F: for a term in several fields, the largest document frequency counts.
    fn join_counts(&mut self) {
        for TermGroup { terms: group, .. } in &mut self.groups {
            let df = group.iter().map(|term| term.df).max().unwrap_or(0);
            for term in group {
                let counts = TermCounts { df, cf: 0 };
                term.df = df;
                term.score = self.similarity.term(term.counts, counts);
            }
        }
    }

    /// Whether the index contains a term of each required part.
    fn can_match(&self) -> bool {
        let terms = self.groups.iter().flat_map(|group| &group.terms);
        let present = terms.fold(0, |bits, term| bits | 1 << term.part);
        present != 0 && present & self.must == self.must
    }

    /// Collects the documents of a window that are found and not filtered.
    fn collect(&self, options: SearchOptions, window: &Scored, top: &mut Top) {
        // most scores are too low; a group of them is skipped with a single branch
        const GROUP: usize = 16;
        let has_lengths = !self.lengths.is_empty();
        let (groups, rest) = window.scores.as_chunks::<GROUP>();
        for (first, scores) in (0..).step_by(GROUP).zip(groups) {
            let threshold = top.threshold;
            let low = |all: bool, score: &f64| all & (*score < threshold);
            if !has_lengths && scores.iter().fold(true, low) {
                continue;
            }
            let mut high = 0_u32;
            for (bit, score) in scores.iter().enumerate() {
                high |= u32::from(has_lengths | (*score >= threshold)) << bit;
            }
            while high != 0 {
                self.consider(options, window, first + high.trailing_zeros() as usize, top);
                high &= high - 1;
            }
        }
        for at in window.scores.len() - rest.len()..window.scores.len() {
            self.consider(options, window, at, top);
        }
    }

    /// Collects the document at a position of a window if it is found and not filtered.
    #[inline(always)]
    fn consider(&self, options: SearchOptions, window: &Scored, at: usize, top: &mut Top) {
        let number = window.first + at as u32;
        if let Some(score) = self.score_of(window, number)
            && score >= top.threshold
            && !self.index.is_filtered(number, &options)
        {
            top.push(score, number);
        }
    }

    /// The score of a document of a window; `None` if the query does not find it.
    fn score_of(&self, window: &Scored, number: u32) -> Option<f64> {
        let at = number.checked_sub(window.first)? as usize;
        let score = *window.scores.get(at)?;
        let matched = window.matched.get(at).copied().unwrap_or(0);
        let is_found = score.to_bits() != UNTOUCHED.to_bits() && matched & self.must == self.must;
        is_found.then(|| self.with_lengths(score, number))
    }

    /// A document's score from its terms, and the contributions of its lengths.
    fn with_lengths(&self, score: f64, number: u32) -> f64 {
        let lengths = self.lengths.iter();
        lengths.fold(score, |sum, (fields, weight)| {
            sum + self.length_part(fields, *weight, number)
        })
    }

    /// The contribution of a field's length to a document's score: 0 for similarities without length scores.
    fn length_part(&self, fields: &[usize], weight: f64, number: u32) -> f64 {
        weight * self.length_score(length_of(self.index, fields, number))
    }

    /// The length score of the similarity: 0 if it has none.
    #[inline(always)]
    fn length_score(&self, length: u32) -> f64 {
        let known = self.length_scores.get(length as usize).copied();
        let score = known.or_else(|| self.similarity.length_score(length));
        score.unwrap_or(0.0)
    }
}

/// Sorts a ranking: the best first, ties by id.
pub(crate) fn sort(ranking: &mut [ScoredDoc]) {
    ranking.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.doc.cmp(&b.doc)));
}

/// The number of terms of a document in these fields together.
pub(crate) fn length_of(index: &InvertedIndex, fields: &[usize], number: u32) -> u32 {
    let lengths = fields.iter().map(|field| index.length(*field, number));
    lengths.flatten().fold(0, u32::saturating_add)
}

#[cfg(test)]
mod tests;
