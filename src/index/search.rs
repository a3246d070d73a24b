//! Ranking the documents of a [`Corpus`]: a query of weighted terms, a similarity, the top k.
//!
//! A score is the sum of the terms' contributions in the query's order, from counts over the whole
//! collection, in double precision and with exact lengths. Equal scores are ordered by document id. So neither the segments of an
//! index nor the threads that built it change a ranking.

mod pruned;
mod top;

use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use tantivy::tokenizer::TextAnalyzer;

use super::analyzer;
use super::corpus::{Corpus, Found, Postings, Scratch, UNTOUCHED};
use super::similarity::{FieldCounts, Similarity, TermCounts, TermScore};
use crate::trec::{DocId, Explanation, ScoredDoc};
use top::Top;

/// Weighted terms, looked for in one field.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its place among the index's fields.
    pub field: usize,
    /// The field's weight: for BM25F inside the formula, else a factor of each term's score.
    pub weight: f64,
    /// A document without any of these terms is not found.
    pub must: bool,
    terms: Vec<(String, f64)>,
}

/// What the index is asked for. A document is found if it has a term of any part, and one of each part
/// that must be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    pub parts: Vec<Part>,
}

/// How much of a ranking is wanted, and of which documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// At most so many documents.
    pub k: usize,
    /// Documents with fewer than 20 words too.
    pub short: bool,
    /// Documents with the words of an earlier one too.
    pub duplicates: bool,
}

impl Default for Cut {
    /// What a run holds: 1,000 documents, neither short ones nor duplicates.
    fn default() -> Self {
        Cut {
            k: 1000,
            short: false,
            duplicates: false,
        }
    }
}

impl Part {
    /// No terms yet, in this field.
    pub fn new(field: usize, weight: f64) -> Self {
        Part {
            field,
            weight,
            must: false,
            terms: Vec::new(),
        }
    }

    /// The terms of a text, each with how often it is there as its weight.
    pub fn of_text(field: usize, weight: f64, analyzer: &mut TextAnalyzer, text: &str) -> Self {
        let mut part = Part::new(field, weight);
        for term in analyzer::terms(analyzer, text) {
            part.add(&term, 1.0);
        }
        part
    }

    /// The same part, needed.
    pub fn must(mut self) -> Self {
        self.must = true;
        self
    }

    /// Adds a term, or its weight to that of the term if it is there already.
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

/// A term of the query that the collection has.
struct Asked<'q> {
    part: usize,
    field: usize,
    text: &'q str,
    /// Of the part.
    field_weight: f64,
    term_weight: f64,
    counts: FieldCounts,
    df: u64,
    /// The most often that it is in a document, where that is known.
    max_tf: Option<u32>,
    score: TermScore,
    postings: Postings<'q>,
}

/// A query with all that does not depend on the document looked up.
struct Plan<'q> {
    similarity: &'q Similarity,
    /// What is scored together: one term, or for BM25F a term in all of its fields.
    groups: Vec<Vec<Asked<'q>>>,
    /// For each part with terms that count: its field, and how much its length score weighs.
    lengths: Vec<(usize, f64)>,
    length_scores: Arc<Vec<f64>>,
    /// One bit for each part that must match.
    must: u64,
}

impl Corpus {
    /// The best documents for a query, the best first.
    ///
    /// Errors: no such field, a weight that is no number, a similarity's parameter out of range, more than 64
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
            self.keep_scratch(Scratch::reset(scratch));
        }
        // where all ids lie is looked up before any is copied: the processor waits for memory once, not for each
        let found = top.finish();
        let ids: Vec<Option<&str>> = found.iter().map(|f| self.id_text(f.number)).collect();
        found
            .iter()
            .zip(ids)
            .map(|(found, id)| {
                Ok(ScoredDoc {
                    doc: DocId(id.context("a document without an id")?.to_owned()),
                    score: found.score,
                })
            })
            .collect()
    }

    /// The scores of all documents in one field, by number: 0 for those that have none of the terms, or are out.
    ///
    /// Errors: as [`Corpus::search`]; a similarity that scores documents without any of the terms.
    pub(super) fn scores(&self, part: Part, similarity: &Similarity) -> Result<Vec<f64>> {
        let query = Query { parts: vec![part] };
        let plan = Plan::new(self, &query, similarity)?;
        if similarity.adds_length() || similarity.combines_fields() {
            bail!("the scores of all documents are for a sum over terms");
        }
        let scratch = plan.score_all(self)?;
        let scores = scratch.scores.clone();
        self.keep_scratch(Scratch::reset(scratch));
        Ok(scores)
    }

    /// A document's score for a query, opened: the numbers that [`Corpus::search`] adds up, in its
    /// order. 0 for a document that the query does not find. Errors as there; no such document.
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
            let mut asked_for = 0.0;
            for (text, weight) in &part.terms {
                ensure!(weight.is_finite(), "the weight of {text:?} is {weight}");
                let found = corpus.find(part.field, text, similarity.uses_cf())?;
                let Some(Found {
                    counts: term,
                    max_tf,
                    postings,
                }) = found
                else {
                    continue;
                };
                asked_for += weight;
                let asked = Asked {
                    part: at,
                    field: part.field,
                    text,
                    field_weight: part.weight,
                    term_weight: *weight,
                    counts,
                    df: term.df,
                    max_tf,
                    score: similarity.term(counts, term),
                    postings,
                };
                let same = |group: &&mut Vec<Asked>| group.first().is_some_and(|a| a.text == *text);
                match plan.groups.iter_mut().find(same) {
                    Some(group) if similarity.combines_fields() => group.push(asked),
                    _ => plan.groups.push(vec![asked]),
                }
            }
            if similarity.adds_length() {
                plan.lengths.push((part.field, part.weight * asked_for));
            }
        }
        plan.length_scores = corpus.length_scores(similarity);
        if similarity.combines_fields() {
            plan.join_counts(similarity);
        }
        Ok(plan)
    }

    /// BM25F: a term in several fields has the largest df of them.
    fn join_counts(&mut self, similarity: &Similarity) {
        for group in &mut self.groups {
            let df = group.iter().map(|asked| asked.df).max().unwrap_or(0);
            for asked in group {
                let counts = TermCounts { df, cf: 0 };
                asked.df = df;
                asked.score = similarity.term(asked.counts, counts);
            }
        }
    }

    /// Whether each part that must match has a term that is there at all.
    fn can_match(&self, query: &Query) -> bool {
        let there = self
            .groups
            .iter()
            .flatten()
            .fold(0u64, |bits, a| bits | 1 << a.part);
        !self.groups.is_empty()
            && (0..query.parts.len()).all(|at| self.must & 1 << at == 0 || there & 1 << at != 0)
    }

    /// Adds up the scores of all documents.
    fn score_all(&self, corpus: &Corpus) -> Result<Scratch> {
        let mut scratch = corpus.scratch();
        scratch.demand(self.must != 0);
        let mut known = Known::default();
        for group in &self.groups {
            if self.similarity.combines_fields() {
                self.add_combined(corpus, group, &mut scratch)?;
            }
            for asked in group {
                if !self.similarity.combines_fields() {
                    known.add_postings(&mut scratch.scores, asked)?;
                }
                if self.must & 1 << asked.part != 0 {
                    let matched = &mut scratch.matched;
                    asked
                        .postings
                        .each_block_over(matched, |_, matched, _, documents, _| {
                            for document in documents {
                                if let Some(bits) = matched.get_mut(*document as usize) {
                                    *bits |= 1 << asked.part;
                                }
                            }
                        })?;
                }
            }
        }
        Ok(scratch)
    }

    /// BM25F: a term's frequencies in all fields first, then one score.
    fn add_combined(&self, corpus: &Corpus, group: &[Asked], scratch: &mut Scratch) -> Result<()> {
        let Some(first) = group.first() else {
            return Ok(());
        };
        scratch.frequencies.resize(scratch.scores.len(), 0.0);
        for asked in group {
            asked.postings.each_block(|block| {
                for (document, tf) in block.documents.iter().zip(block.tfs) {
                    let number = block.base + document;
                    let length = corpus.length(asked.field, number).unwrap_or(0);
                    if let Some(sum) = scratch.frequencies.get_mut(number as usize) {
                        if *sum == 0.0 {
                            scratch.touched.push(number as usize);
                        }
                        *sum += self.frequency(asked, f64::from(*tf), length);
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

    /// BM25F: what a term's frequency in one field comes to.
    fn frequency(&self, asked: &Asked, tf: f64, length: u32) -> f64 {
        asked.field_weight
            * tf
            * self
                .similarity
                .occurrence(asked.field, asked.counts, length)
    }

    /// Gives the documents that are found and wanted to the top.
    fn collect(&self, corpus: &Corpus, cut: Cut, scratch: &Scratch, top: &mut Top) {
        // a sample tells about how high the last of the best is, so that few others are looked at; where it was too high, all are
        top.threshold = self.guess(scratch, cut.k);
        self.collect_from(corpus, cut, scratch, top);
        if top.len() < cut.k && top.threshold > f64::NEG_INFINITY {
            top.clear();
            self.collect_from(corpus, cut, scratch, top);
        }
    }

    /// Probably a little less than the k-th highest score.
    fn guess(&self, scratch: &Scratch, k: usize) -> f64 {
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
        // most scores are too low: so many at once are passed over without a branch for each
        const TOGETHER: usize = 8;
        for (first, scores) in (0..).step_by(TOGETHER).zip(scratch.scores.chunks(TOGETHER)) {
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

    /// Gives a document to the top, if it is found and wanted.
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
            || corpus.is_left_out(number, !cut.short, !cut.duplicates)
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

    fn length_part(&self, corpus: &Corpus, field: usize, weight: f64, number: u32) -> f64 {
        let length = corpus.length(field, number).unwrap_or(0);
        weight * self.length_score(length)
    }

    /// Dirichlet's score of a length; 0 for other similarities.
    fn length_score(&self, length: u32) -> f64 {
        match self.length_scores.get(length as usize) {
            Some(score) => *score,
            None => self.similarity.length_score(length).unwrap_or(0.0),
        }
    }

    fn explain(&self, corpus: &Corpus, number: u32) -> Result<Explanation> {
        let name = |field: usize| corpus.meta().fields.get(field).map_or("", String::as_str);
        let mut parts = Vec::new();
        let mut sum = UNTOUCHED;
        let mut matched = 0u64;
        for group in &self.groups {
            let mut frequency = 0.0;
            let mut fields = Vec::new();
            for asked in group {
                let tf = asked.postings.frequency(number)?;
                if tf == 0 {
                    continue;
                }
                matched |= 1 << asked.part;
                let length = corpus.length(asked.field, number).unwrap_or(0);
                let how = format!(
                    "{tf} of {length} terms; in {} of {} documents",
                    asked.df, asked.counts.documents
                );
                let (value, how) = if self.similarity.combines_fields() {
                    let value = self.frequency(asked, f64::from(tf), length);
                    frequency += value;
                    (value, how)
                } else {
                    let score = asked.score.score(f64::from(tf), length);
                    let weight = asked.field_weight * asked.term_weight;
                    let value = weight * score;
                    sum += value + 0.0;
                    (value, format!("weight {weight} × {score:.6}: {how}"))
                };
                fields.push(Explanation {
                    name: format!("{}: {}", name(asked.field), asked.text),
                    value,
                    how,
                    parts: Vec::new(),
                });
            }
            match group.first() {
                Some(first) if self.similarity.combines_fields() && !fields.is_empty() => {
                    let value = group_weight(group) * first.score.score(frequency, 0);
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
        for (field, weight) in &self.lengths {
            let value = self.length_part(corpus, *field, *weight, number);
            sum += value;
            let length = corpus.length(*field, number).unwrap_or(0);
            parts.push(Explanation {
                name: format!("{}: length", name(*field)),
                value,
                how: format!("{length} terms, for {weight} terms asked for"),
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

/// BM25F: how much a term weighs in the query: as much as in the part that gives it most.
fn group_weight(group: &[Asked]) -> f64 {
    group
        .iter()
        .map(|asked| asked.term_weight)
        .fold(0.0, f64::max)
}

/// What a term adds to the score of a document that has it so often, by the document's length.
#[inline(always)]
fn of_posting(asked: &Asked) -> impl Fn(u32, u32) -> f64 + use<> {
    let weight = asked.field_weight * asked.term_weight;
    let score = asked.score;
    move |tf, length| weight * score.score(f64::from(tf), length)
}

/// Adds to a score; a contribution is never minus zero, which is the score of a document without any.
#[inline(always)]
fn add_to(sum: &mut f64, contribution: f64) {
    *sum += contribution + 0.0;
}

/// Contributions of one term that were computed before, by frequency and length: a long list of postings has few different ones, and a
/// division or a logarithm takes longer than all else.
#[derive(Default)]
struct Known {
    contributions: Vec<f64>,
}

impl Known {
    const FREQUENCIES: usize = 4;
    const LENGTHS: usize = 2048;
    /// Shorter lists have too many different ones.
    const WORTH: u64 = 2048;

    /// Forgets the term before.
    fn begin(&mut self, asked: &Asked) {
        self.contributions.clear();
        if asked.postings.df() >= Self::WORTH {
            let count = Self::FREQUENCIES * Self::LENGTHS;
            self.contributions.resize(count, f64::NAN);
        }
    }

    /// What the term adds to a score.
    #[inline(always)]
    fn contribution(&mut self, tf: u32, length: u32, score: impl Fn(u32, u32) -> f64) -> f64 {
        let (t, l) = ((tf as usize).wrapping_sub(1), length as usize);
        if t >= Self::FREQUENCIES || l >= Self::LENGTHS {
            return score(tf, length);
        }
        match self.contributions.get_mut(t * Self::LENGTHS + l) {
            Some(known) => {
                if known.is_nan() {
                    *known = score(tf, length);
                }
                *known
            }
            None => score(tf, length),
        }
    }

    /// Adds a term's scores for its documents.
    fn add_postings(&mut self, scores: &mut [f64], asked: &Asked) -> Result<()> {
        if let TermScore::Bm25 { idf, floor, slope } = asked.score {
            // a division costs no more than a look-up, in a loop in which the compiler knows the formula
            let weight = asked.field_weight * asked.term_weight;
            let formula = TermScore::Bm25 { idf, floor, slope };
            return asked
                .postings
                .each_block_over(scores, |_, scores, lengths, documents, tfs| {
                    for (document, tf) in documents.iter().zip(tfs) {
                        let at = *document as usize;
                        if let (Some(sum), Some(length)) = (scores.get_mut(at), lengths.get(at)) {
                            add_to(sum, weight * formula.score(f64::from(*tf), *length));
                        }
                    }
                });
        }
        let score = of_posting(asked);
        self.begin(asked);
        asked
            .postings
            .each_block_over(scores, |_, scores, lengths, documents, tfs| {
                for (document, tf) in documents.iter().zip(tfs) {
                    let at = *document as usize;
                    if let (Some(sum), Some(length)) = (scores.get_mut(at), lengths.get(at)) {
                        add_to(sum, self.contribution(*tf, *length, &score));
                    }
                }
            })
    }
}
