//! Search in a [`InvertedIndex`]: the best k documents for a query of weighted terms, by a similarity.
//!
//! A score is the sum of the terms' contributions in the order of the query, in double precision, with exact lengths and with counts
//! over the whole collection. Equal scores are ordered by document id. Therefore a ranking depends neither on the segments of the index
//! nor on the number of threads that built it.

mod contributions;
mod explain;
mod pruned;
mod top;

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use riposte_eval::{DocId, Explanation};
use tantivy::tokenizer::TextAnalyzer;

use super::inverted::{BlockBounds, InvertedIndex, Postings, Scratch, UNTOUCHED};
pub use super::options::SearchOptions;
use super::similarity::{FieldCounts, Similarity, TermCounts, TermScore};
use super::{ScoredDoc, analyzer};
use contributions::ContributionCache;
use top::Top;

/// Maximum number of parts of a query: each has a bit of a `u64` that says which parts a document has.
const MAX_PARTS: usize = 64;

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
pub struct Query {
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
struct Group<'q> {
    terms: Vec<QueryTerm<'q>>,
    /// The fields that are scored as one; empty for other groups.
    joined: &'q [usize],
}

/// A query with its terms looked up: everything that does not depend on a document.
pub(crate) struct Plan<'q> {
    index: &'q InvertedIndex,
    similarity: &'q Similarity,
    groups: Vec<Group<'q>>,
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
        query: &Query,
        similarity: &Similarity,
        options: SearchOptions,
    ) -> Result<Vec<ScoredDoc>> {
        let plan = Plan::new(self, query, similarity)?;
        let mut top = Top::new(self, options.k);
        if options.k > 0 && plan.can_match() && !plan.search_pruned(options, &mut top)? {
            let scratch = plan.score_all()?;
            plan.collect(options, &scratch, &mut top);
            self.return_scratch(scratch.reset());
        }
        // all ids are looked up before any is copied, so the processor waits for several memory accesses at once
        let found = top.finish();
        let ids: Vec<Option<&str>> = found.iter().map(|f| self.id_text(f.number)).collect();
        let scored = found.iter().zip(ids).map(|(found, id)| {
            let doc = DocId(id.context("a document has no id")?.to_owned());
            let score = found.score;
            Ok(ScoredDoc { doc, score })
        });
        scored.collect()
    }

    /// The scores of all documents in one field, by number; 0 for documents without any of the terms, and for excluded documents.
    ///
    /// Errors: those of [`InvertedIndex::search`]; a similarity with length scores, or BM25F.
    #[cfg(feature = "full")]
    pub(super) fn scores(&self, part: QueryPart, similarity: &Similarity) -> Result<Vec<f64>> {
        let query = Query { parts: vec![part] };
        let plan = Plan::new(self, &query, similarity)?;
        ensure!(
            !similarity.adds_length() && !similarity.combines_fields(),
            "only a sum over terms can be computed for all documents"
        );
        let scratch = plan.score_all()?;
        let scores = scratch.scores.clone();
        self.return_scratch(scratch.reset());
        Ok(scores)
    }

    /// The same documents with the scores of another query, the best first; 0 for documents that this query does not find. Ties are ordered by
    /// id.
    ///
    /// Errors: those of [`InvertedIndex::search`].
    pub fn rescore(
        &self,
        mut ranking: Vec<ScoredDoc>,
        query: &Query,
        similarity: &Similarity,
    ) -> Result<Vec<ScoredDoc>> {
        let plan = Plan::new(self, query, similarity)?;
        let scratch = plan.score_all()?;
        for found in &mut ranking {
            let number = self.number(&found.doc);
            let score = number.and_then(|number| plan.score_of(&scratch, number));
            found.score = score.unwrap_or(0.0);
        }
        self.return_scratch(scratch.reset());
        sort(&mut ranking);
        Ok(ranking)
    }

    /// Explains the score of a document: the contributions that [`InvertedIndex::search`] adds up, in the same order. The score is 0 if the query does
    /// not find the document. Errors: those of [`InvertedIndex::search`]; the document is not in the index.
    pub fn explain(
        &self,
        query: &Query,
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
        query: &'q Query,
        similarity: &'q Similarity,
    ) -> Result<Self> {
        similarity.check()?;
        ensure!(
            query.parts.len() <= MAX_PARTS,
            "a query has at most {MAX_PARTS} parts"
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
                let same = |group: &&mut Group| {
                    group.terms.first().is_some_and(|first| first.text == *text)
                };
                match plan.groups.iter_mut().find(same) {
                    Some(group) if similarity.combines_fields() => group.terms.extend(terms),
                    _ => plan.groups.push(Group {
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
        for Group { terms: group, .. } in &mut self.groups {
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

    /// Computes the scores of all documents.
    fn score_all(&self) -> Result<Scratch> {
        let mut scratch = self.index.scratch();
        scratch.prepare_matched(self.must != 0);
        let mut cache = ContributionCache::default();
        for group in &self.groups {
            let is_sum = self.is_sum(group);
            if !is_sum {
                self.add_combined(group, &mut scratch)?;
            }
            for term in &group.terms {
                if is_sum {
                    cache.add_postings(&mut scratch.scores, term)?;
                }
                if self.must & 1 << term.part != 0 {
                    let matched = &mut scratch.matched;
                    term.postings
                        .each_block_over(matched, |_, matched, _, documents, _| {
                            for document in documents {
                                if let Some(bits) = matched.get_mut(*document as usize) {
                                    *bits |= 1 << term.part;
                                }
                            }
                        })?;
                }
            }
        }
        Ok(scratch)
    }

    /// Whether the terms of a group are scored one by one, and not the sum of their frequencies.
    fn is_sum(&self, group: &Group) -> bool {
        !self.similarity.combines_fields() && group.joined.is_empty()
    }

    /// Adds up a term's frequencies in all fields of a group, then computes one score from the sum.
    fn add_combined(&self, group: &Group, scratch: &mut Scratch) -> Result<()> {
        scratch.frequencies.resize(scratch.scores.len(), 0.0);
        for term in &group.terms {
            term.postings.each_block(|block| {
                for (document, tf) in block.documents.iter().zip(block.tfs) {
                    let number = block.base + document;
                    if let Some(sum) = scratch.frequencies.get_mut(number as usize) {
                        if *sum == 0.0 {
                            scratch.touched.push(number as usize);
                        }
                        *sum += self.frequency(group, term, *tf, number);
                    }
                }
            })?;
        }
        for document in scratch.touched.drain(..) {
            if let (Some(score), Some(frequency)) = (
                scratch.scores.get_mut(document),
                scratch.frequencies.get_mut(document),
            ) {
                *score += self.combined(group, *frequency, document as u32) + 0.0;
                *frequency = 0.0;
            }
        }
        Ok(())
    }

    /// The contribution of a group to a document's score; `frequency` is the sum of its terms' frequencies.
    fn combined(&self, group: &Group, frequency: f64, number: u32) -> f64 {
        let Some(first) = group.terms.first() else {
            return 0.0;
        };
        if group.joined.is_empty() {
            // BM25F: the weight of a term in the query is the largest of its weights in the parts
            let weights = group.terms.iter().map(|term| term.term_weight);
            return weights.fold(0.0, f64::max) * first.score.score(frequency, 0);
        }
        let length = length_of(self.index, group.joined, number);
        first.field_weight * first.term_weight * first.score.score(frequency, length)
    }

    /// What `tf` occurrences of a term in one field add to the frequency of its group: `tf` if the fields are joined; for BM25F, `tf` weighted
    /// and normalised by the length of the field.
    fn frequency(&self, group: &Group, term: &QueryTerm, tf: u32, number: u32) -> f64 {
        if !group.joined.is_empty() {
            return f64::from(tf);
        }
        let length = self.index.length(term.field, number).unwrap_or(0);
        let occurrence = self.similarity.occurrence(term.field, term.counts, length);
        term.field_weight * f64::from(tf) * occurrence
    }

    /// Collects the documents that are found and not filtered.
    fn collect(&self, options: SearchOptions, scratch: &Scratch, top: &mut Top) {
        // with an estimated threshold, few documents have to be considered; if the estimate was too high, all documents are considered again
        top.threshold = self.estimate_threshold(scratch, options.k);
        self.collect_from(options, scratch, top);
        if top.len() < options.k && top.threshold > f64::NEG_INFINITY {
            top.clear();
            self.collect_from(options, scratch, top);
        }
    }

    /// Estimates the k-th highest score from a sample of the documents. The estimate is usually a little too low.
    fn estimate_threshold(&self, scratch: &Scratch, k: usize) -> f64 {
        const SAMPLE: usize = 8192;
        let step = (scratch.scores.len() / SAMPLE).max(16);
        if !self.lengths.is_empty() || scratch.scores.len() < 64 * step {
            return f64::NEG_INFINITY;
        }
        let sample = scratch.scores.iter().step_by(step);
        let sample = sample.filter(|score| score.to_bits() != UNTOUCHED.to_bits());
        let expected = k.div_ceil(step);
        pruned::kth_largest(sample.copied(), expected + 2 * expected.isqrt() + 4)
    }

    fn collect_from(&self, options: SearchOptions, scratch: &Scratch, top: &mut Top) {
        // most scores are too low; a group of them is skipped with a single branch
        const GROUP: usize = 8;
        for (first, scores) in (0..).step_by(GROUP).zip(scratch.scores.chunks(GROUP)) {
            let threshold = top.threshold;
            let low = |all: bool, score: &f64| all & (*score < threshold);
            if self.lengths.is_empty() && scores.iter().fold(true, low) {
                continue;
            }
            for (number, score) in (first..).zip(scores) {
                self.consider(options, scratch, (number, *score), top);
            }
        }
    }

    /// The score of a document; `None` if the query does not find it.
    fn score_of(&self, scratch: &Scratch, number: u32) -> Option<f64> {
        let score = *scratch.scores.get(number as usize)?;
        let matched = scratch.matched.get(number as usize).copied().unwrap_or(0);
        let is_found = score.to_bits() != UNTOUCHED.to_bits() && matched & self.must == self.must;
        is_found.then(|| self.with_lengths(score, number))
    }

    /// Collects a document if it is found and not filtered.
    #[inline(always)]
    fn consider(
        &self,
        options: SearchOptions,
        scratch: &Scratch,
        (number, score): (u32, f64),
        top: &mut Top,
    ) {
        if self.lengths.is_empty() && score < top.threshold
            || score.to_bits() == UNTOUCHED.to_bits()
        {
            return;
        }
        let matched = scratch.matched.get(number as usize).copied().unwrap_or(0);
        if matched & self.must != self.must || self.index.is_filtered(number, &options) {
            return;
        }
        let score = self.with_lengths(score, number);
        if score >= top.threshold {
            top.push(score, number);
        }
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
