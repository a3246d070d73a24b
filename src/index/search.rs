//! Search in a [`Corpus`]: the best k documents for a query of weighted terms, by a similarity.
//!
//! A score is the sum of the terms' contributions in the order of the query, in double precision, with exact lengths and with counts
//! over the whole collection. Equal scores are ordered by document id. Therefore a ranking depends neither on the segments of the index
//! nor on the number of threads that built it.

mod contributions;
mod explain;
mod pruned;
mod top;

use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use tantivy::tokenizer::TextAnalyzer;

use super::analyzer;
use super::corpus::{Corpus, FoundTerm, Postings, Scratch, UNTOUCHED};
use super::similarity::{FieldCounts, Similarity, TermCounts, TermScore};
use crate::trec::{DocId, Explanation, ScoredDoc};
use contributions::ContributionCache;
use top::Top;

/// Weighted terms in one field.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The position of the field among those of the index.
    pub field: usize,
    /// The weight of the field. BM25F applies it inside its formula; other similarities multiply each term's score by it.
    pub weight: f64,
    /// Whether a document needs at least one of these terms to be found.
    pub must: bool,
    terms: Vec<(String, f64)>,
}

/// A query. It finds the documents that contain a term of any part, and a term of each required part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    pub parts: Vec<Part>,
}

/// How many documents a ranking contains, and which documents are filtered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Maximum number of documents.
    pub k: usize,
    /// Whether documents with fewer than 20 words are ranked.
    pub short: bool,
    /// Whether duplicates of earlier documents are ranked.
    pub duplicates: bool,
}

impl Default for Cut {
    /// The default of a run: 1,000 documents, without short ones and duplicates.
    fn default() -> Self {
        Cut {
            k: 1000,
            short: false,
            duplicates: false,
        }
    }
}

impl Part {
    /// A part without terms, in this field.
    pub fn new(field: usize, weight: f64) -> Self {
        Part {
            field,
            weight,
            must: false,
            terms: Vec::new(),
        }
    }

    /// The terms of a text, weighted by their frequency in it.
    pub fn of_text(field: usize, weight: f64, analyzer: &mut TextAnalyzer, text: &str) -> Self {
        let mut part = Part::new(field, weight);
        for term in analyzer::terms(analyzer, text) {
            part.add(&term, 1.0);
        }
        part
    }

    /// The same part, required.
    pub fn must(mut self) -> Self {
        self.must = true;
        self
    }

    /// Adds a term. If it is there already, adds the weights.
    pub fn add(&mut self, term: &str, weight: f64) {
        match self.terms.iter_mut().find(|(known, _)| known == term) {
            Some((_, sum)) => *sum += weight,
            None => self.terms.push((term.to_owned(), weight)),
        }
    }

    /// The terms and their weights.
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
    /// An upper bound of its frequency in a document, if it is known.
    max_tf: Option<u32>,
    score: TermScore,
    postings: Postings<'q>,
}

/// A query with its terms looked up: everything that does not depend on a document.
struct Plan<'q> {
    similarity: &'q Similarity,
    /// Terms that are scored together: a single term, or for BM25F the same term in several fields.
    groups: Vec<Vec<QueryTerm<'q>>>,
    /// For similarities with a length score: the field of each part, and the weight of its length score.
    lengths: Vec<(usize, f64)>,
    length_scores: Arc<Vec<f64>>,
    /// One bit for each required part.
    must: u64,
}

impl Corpus {
    /// The best documents for a query, the best first.
    ///
    /// Errors: a field that does not exist, a weight that is not finite, a parameter of the similarity out of range, more than 64
    /// parts, an index that cannot be read.
    pub fn search(
        &self,
        query: &Query,
        similarity: &Similarity,
        cut: Cut,
    ) -> Result<Vec<ScoredDoc>> {
        let plan = Plan::new(self, query, similarity)?;
        let mut top = Top::new(self, cut.k);
        if cut.k > 0 && plan.can_match(query) && !plan.search_pruned(self, cut, &mut top)? {
            let scratch = plan.score_all(self)?;
            plan.collect(self, cut, &scratch, &mut top);
            self.return_scratch(Scratch::reset(scratch));
        }
        // all ids are looked up before any is copied, so that the processor's waits for memory overlap
        let found = top.finish();
        let ids: Vec<Option<&str>> = found.iter().map(|f| self.id_text(f.number)).collect();
        found
            .iter()
            .zip(ids)
            .map(|(found, id)| {
                Ok(ScoredDoc {
                    doc: DocId(id.context("a document has no id")?.to_owned()),
                    score: found.score,
                })
            })
            .collect()
    }

    /// The scores of all documents in one field, by number; 0 for those without any of the terms, and for excluded ones.
    ///
    /// Errors: as [`Corpus::search`]; a similarity with length scores, or BM25F.
    pub(super) fn scores(&self, part: Part, similarity: &Similarity) -> Result<Vec<f64>> {
        let query = Query { parts: vec![part] };
        let plan = Plan::new(self, &query, similarity)?;
        if similarity.adds_length() || similarity.combines_fields() {
            bail!("only a sum over terms can be computed for all documents");
        }
        let scratch = plan.score_all(self)?;
        let scores = scratch.scores.clone();
        self.return_scratch(Scratch::reset(scratch));
        Ok(scores)
    }

    /// Explains the score of a document: the contributions that [`Corpus::search`] adds up, in the same order. The score is 0 if the
    /// query does not find the document. Errors: as there; the document is not in the index.
    pub fn explain(
        &self,
        query: &Query,
        similarity: &Similarity,
        doc: &DocId,
    ) -> Result<Explanation> {
        let number = self
            .number(doc)
            .with_context(|| format!("{doc} is not in the index"))?;
        Plan::new(self, query, similarity)?.explain(self, number)
    }
}

impl<'q> Plan<'q> {
    fn new(corpus: &'q Corpus, query: &'q Query, similarity: &'q Similarity) -> Result<Self> {
        similarity.check()?;
        ensure!(query.parts.len() <= 64, "a query has at most 64 parts");
        let mut plan = Plan {
            similarity,
            groups: Vec::new(),
            lengths: Vec::new(),
            length_scores: Arc::default(),
            must: 0,
        };
        for (at, part) in query.parts.iter().enumerate() {
            ensure!(
                part.weight.is_finite(),
                "a field's weight is {}",
                part.weight
            );
            if part.must {
                plan.must |= 1 << at;
            }
            let counts = corpus.counts(part.field);
            let mut total_weight = 0.0;
            for (text, weight) in &part.terms {
                ensure!(weight.is_finite(), "the weight of {text:?} is {weight}");
                let found = corpus.find(part.field, text, similarity.uses_cf())?;
                let Some(FoundTerm {
                    counts: term_counts,
                    max_tf,
                    postings,
                }) = found
                else {
                    continue;
                };
                total_weight += weight;
                let term = QueryTerm {
                    part: at,
                    field: part.field,
                    text,
                    field_weight: part.weight,
                    term_weight: *weight,
                    counts,
                    df: term_counts.df,
                    max_tf,
                    score: similarity.term(counts, term_counts),
                    postings,
                };
                let same =
                    |group: &&mut Vec<QueryTerm>| group.first().is_some_and(|a| a.text == *text);
                match plan.groups.iter_mut().find(same) {
                    Some(group) if similarity.combines_fields() => group.push(term),
                    _ => plan.groups.push(vec![term]),
                }
            }
            if similarity.adds_length() {
                plan.lengths.push((part.field, part.weight * total_weight));
            }
        }
        plan.length_scores = corpus.length_scores(similarity);
        if similarity.combines_fields() {
            plan.join_counts(similarity);
        }
        Ok(plan)
    }

    /// BM25F: for a term in several fields, the largest document frequency counts.
    fn join_counts(&mut self, similarity: &Similarity) {
        for group in &mut self.groups {
            let df = group.iter().map(|term| term.df).max().unwrap_or(0);
            for term in group {
                let counts = TermCounts { df, cf: 0 };
                term.df = df;
                term.score = similarity.term(term.counts, counts);
            }
        }
    }

    /// Whether the index contains a term of each required part.
    fn can_match(&self, query: &Query) -> bool {
        let present = self
            .groups
            .iter()
            .flatten()
            .fold(0u64, |bits, a| bits | 1 << a.part);
        !self.groups.is_empty()
            && (0..query.parts.len()).all(|at| self.must & 1 << at == 0 || present & 1 << at != 0)
    }

    /// Computes the scores of all documents.
    fn score_all(&self, corpus: &Corpus) -> Result<Scratch> {
        let mut scratch = corpus.scratch();
        scratch.prepare_matched(self.must != 0);
        let mut cache = ContributionCache::default();
        for group in &self.groups {
            if self.similarity.combines_fields() {
                self.add_combined(corpus, group, &mut scratch)?;
            }
            for term in group {
                if !self.similarity.combines_fields() {
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

    /// BM25F: combines a term's frequencies in all fields, then computes one score from them.
    fn add_combined(
        &self,
        corpus: &Corpus,
        group: &[QueryTerm],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Some(first) = group.first() else {
            return Ok(());
        };
        scratch.frequencies.resize(scratch.scores.len(), 0.0);
        for term in group {
            term.postings.each_block(|block| {
                for (document, tf) in block.documents.iter().zip(block.tfs) {
                    let number = block.base + document;
                    let length = corpus.length(term.field, number).unwrap_or(0);
                    if let Some(sum) = scratch.frequencies.get_mut(number as usize) {
                        if *sum == 0.0 {
                            scratch.touched.push(number as usize);
                        }
                        *sum += self.frequency(term, f64::from(*tf), length);
                    }
                }
            })?;
        }
        for document in scratch.touched.drain(..) {
            if let (Some(score), Some(frequency)) = (
                scratch.scores.get_mut(document),
                scratch.frequencies.get_mut(document),
            ) {
                *score += group_weight(group) * first.score.score(*frequency, 0) + 0.0;
                *frequency = 0.0;
            }
        }
        Ok(())
    }

    /// BM25F: the weighted and normalised frequency of a term in one field.
    fn frequency(&self, term: &QueryTerm, tf: f64, length: u32) -> f64 {
        term.field_weight * tf * self.similarity.occurrence(term.field, term.counts, length)
    }

    /// Collects the documents that are found and not filtered.
    fn collect(&self, corpus: &Corpus, cut: Cut, scratch: &Scratch, top: &mut Top) {
        // with a threshold estimated from a sample, few documents have to be considered; if it was too high, all are
        top.threshold = self.estimate_threshold(scratch, cut.k);
        self.collect_from(corpus, cut, scratch, top);
        if top.len() < cut.k && top.threshold > f64::NEG_INFINITY {
            top.clear();
            self.collect_from(corpus, cut, scratch, top);
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

    fn collect_from(&self, corpus: &Corpus, cut: Cut, scratch: &Scratch, top: &mut Top) {
        // most scores are too low; a group of them is skipped with a single branch
        const GROUP: usize = 8;
        for (first, scores) in (0..).step_by(GROUP).zip(scratch.scores.chunks(GROUP)) {
            let threshold = top.threshold;
            let low = |all: bool, score: &f64| all & (*score < threshold);
            if self.lengths.is_empty() && scores.iter().fold(true, low) {
                continue;
            }
            for (number, score) in (first..).zip(scores) {
                self.consider(corpus, cut, scratch, (number, *score), top);
            }
        }
    }

    /// Collects a document, if it is found and not filtered.
    #[inline(always)]
    fn consider(
        &self,
        corpus: &Corpus,
        cut: Cut,
        scratch: &Scratch,
        (number, mut score): (u32, f64),
        top: &mut Top,
    ) {
        if self.lengths.is_empty() && score < top.threshold
            || score.to_bits() == UNTOUCHED.to_bits()
        {
            return;
        }
        let matched = scratch.matched.get(number as usize).copied().unwrap_or(0);
        if matched & self.must != self.must
            || corpus.is_filtered(number, !cut.short, !cut.duplicates)
        {
            return;
        }
        for (field, weight) in &self.lengths {
            score += self.length_part(corpus, *field, *weight, number);
        }
        if score >= top.threshold {
            top.push(score, number);
        }
    }

    /// The contribution of a field's length to a document's score.
    fn length_part(&self, corpus: &Corpus, field: usize, weight: f64, number: u32) -> f64 {
        let length = corpus.length(field, number).unwrap_or(0);
        weight * self.length_score(length)
    }

    /// The length score of Dirichlet smoothing; 0 for other similarities.
    fn length_score(&self, length: u32) -> f64 {
        match self.length_scores.get(length as usize) {
            Some(score) => *score,
            None => self.similarity.length_score(length).unwrap_or(0.0),
        }
    }
}

/// BM25F: the weight of a term in the query, the largest of its weights in the parts.
fn group_weight(group: &[QueryTerm]) -> f64 {
    group
        .iter()
        .map(|term| term.term_weight)
        .fold(0.0, f64::max)
}
