//! The best documents without a look at most of the others.
//!
//! First estimates in single precision, a window of documents at a time: what a block of postings can add at most is known
//! from its head, so terms that cannot bring a document among the best by themselves are looked up
//! only for documents that others bring close (Turtle and Flood 1995, MaxScore; Ding and Suel 2011, block-max indexes).
//! Then the documents whose estimate may be among the best k get the score that [`super::Plan`] would
//! have added up, in its order: the ranking is the exhaustive one.

use super::{Asked, Plan, Top, UNTOUCHED};
use crate::index::corpus::{BLOCK, Block, Corpus, Cursor, Postings};
use crate::index::similarity::{Similarity, TermScore};

/// Documents whose estimates are added up at once: few enough for the fastest memory.
const WINDOW: usize = 1 << 12;

/// A window to which more postings were added is gone through from end to end, so many sums at once.
const MANY: usize = WINDOW / 16;
const PART: usize = 16;

/// To look up a document in a list takes as long as to add so many of its postings.
const LOOK_UP: usize = 6;

/// After so many windows that were read it is tried again to look up.
const RETRY: usize = 8;

/// Of a single-precision sum of n summands, each of a few roundings, the error is below (n + so many) × this × their
/// magnitudes.
const ROUNDING: f32 = f32::EPSILON / 2.0;
const ROUNDINGS: usize = 16;

/// Frequencies whose share in an estimate is computed once.
const KNOWN_FREQUENCIES: usize = 64;

impl Plan<'_> {
    /// Whether blocks bound scores: no score falls with the frequency or grows with the length, none is taken away, and
    /// any term makes a document found.
    pub(super) fn can_prune(&self, k: usize, documents: u32) -> bool {
        let monotone = match self.similarity {
            Similarity::Bm25 { .. }
            | Similarity::Dirichlet { .. }
            | Similarity::LuceneDirichlet { .. }
            | Similarity::JelinekMercer { .. }
            | Similarity::TfIdf => true,
            Similarity::Bm25f { .. } | Similarity::Dph => false,
        };
        let cheap = matches!(self.similarity, Similarity::Bm25 { .. });
        let added = |asked: &Asked| asked.field_weight * asked.term_weight >= 0.0;
        monotone
            && self.must == 0
            && self.groups.iter().flatten().all(added)
            && self.lengths.iter().all(|(_, weight)| *weight >= 0.0)
            // where many of the scores are wanted anyway, they cost less than estimates and scores: BM25's little
            && k < documents as usize / if cheap { 256 } else { 8 }
    }

    /// Gives the documents that can be among the best to the top.
    pub(super) fn search_pruned(&self, corpus: &Corpus, left_out: u8, top: &mut Top) {
        let mut pool = Estimates::collect(self, corpus, left_out, top.k);
        pool.sort_unstable();
        let mut scores = vec![UNTOUCHED; pool.len()];
        for asked in self.groups.iter().flatten() {
            let weight = asked.field_weight * asked.term_weight;
            let lengths = asked.lengths(corpus);
            let mut cursor = Cursor::new(asked.postings);
            for (number, sum) in pool.iter().zip(&mut scores) {
                let tf = cursor.frequency(*number);
                if tf > 0 {
                    let length = lengths.get(*number as usize).copied().unwrap_or(0);
                    *sum += weight * asked.score.score(f64::from(tf), length) + 0.0;
                }
            }
        }
        for (number, mut score) in pool.into_iter().zip(scores) {
            for (field, weight) in &self.lengths {
                score += self.length_part(corpus, *field, *weight, number);
            }
            top.push(corpus, score, number);
        }
    }
}

/// The sums of a window's documents.
struct Window {
    sums: Vec<f32>,
    /// A bit for each document with a sum.
    touched: [u64; WINDOW / 64],
    /// How many postings were added.
    added: usize,
    /// What is returned for a place outside.
    outside: f32,
}

impl Default for Window {
    fn default() -> Self {
        Window {
            sums: vec![0.0; WINDOW],
            touched: [0; WINDOW / 64],
            added: 0,
            outside: 0.0,
        }
    }
}

impl Window {
    fn add(&mut self, documents: &[u32], added: &[f32; BLOCK], start: u32) {
        self.added += documents.len();
        for (document, added) in documents.iter().zip(added) {
            let place = (document - start) as usize;
            if let (Some(sum), Some(bits)) =
                (self.sums.get_mut(place), self.touched.get_mut(place / 64))
            {
                *sum += added;
                *bits |= 1 << (place % 64);
            }
        }
    }

    /// Adds the documents' length scores to their sums; to no sum it may be added too.
    fn add_lengths(&mut self, weight: f32, scores: &[f32]) {
        if self.added > MANY {
            for (sum, score) in self.sums.iter_mut().zip(scores) {
                *sum += weight * score;
            }
            return;
        }
        for (word, bits) in self.touched.iter().enumerate() {
            let mut left = *bits;
            while left != 0 {
                let place = 64 * word + left.trailing_zeros() as usize;
                left &= left - 1;
                if let (Some(sum), Some(score)) = (self.sums.get_mut(place), scores.get(place)) {
                    *sum += weight * score;
                }
            }
        }
    }

    fn sum(&mut self, place: u32) -> &mut f32 {
        self.sums
            .get_mut(place as usize)
            .unwrap_or(&mut self.outside)
    }

    /// The places of the sums that are not below `low`.
    fn find(&self, low: f32, near: &mut Vec<u32>) {
        near.clear();
        if self.added > MANY {
            for (part, sums) in self.sums.chunks_exact(PART).enumerate() {
                // counted, because the compiler compares several at a time only where it need not stop
                if sums.iter().map(|sum| u32::from(*sum >= low)).sum::<u32>() == 0 {
                    continue;
                }
                for (place, sum) in (part * PART..).zip(sums) {
                    let bits = self.touched.get(place / 64).copied().unwrap_or(0);
                    if *sum >= low && bits & 1 << (place % 64) != 0 {
                        near.push(place as u32);
                    }
                }
            }
            return;
        }
        for (word, bits) in (0..).zip(&self.touched) {
            let mut left = *bits;
            while left != 0 {
                let place = 64 * word + left.trailing_zeros();
                left &= left - 1;
                if self.sums.get(place as usize).is_some_and(|sum| *sum >= low) {
                    near.push(place);
                }
            }
        }
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.added) > MANY {
            self.sums.fill(0.0);
            self.touched.fill(0);
            return;
        }
        for (word, bits) in self.touched.iter_mut().enumerate() {
            let mut left = std::mem::take(bits);
            while left != 0 {
                let place = 64 * word + left.trailing_zeros() as usize;
                left &= left - 1;
                if let Some(sum) = self.sums.get_mut(place) {
                    *sum = 0.0;
                }
            }
        }
    }
}

/// How much a posting adds to an estimate.
enum Estimate {
    Bm25 {
        factor: f32,
        floor: f32,
        slope: f32,
    },
    /// By frequency, and for Lucene's Dirichlet by length, never below 0.
    Sum {
        known: Box<[f32; KNOWN_FREQUENCIES]>,
        mu_p: f64,
        weight: f64,
        by_length: bool,
    },
    Other {
        weight: f64,
        score: TermScore,
    },
}

/// A term's postings, and how far they have been read.
struct List<'a> {
    postings: Postings<'a>,
    lengths: &'a [u32],
    estimate: Estimate,
    /// The first block that does not end before the window, whether it was read, and how far.
    at: usize,
    read: bool,
    block: Block,
    place: usize,
    /// Blocks' bounds, as far as they were needed.
    bounds: Vec<Option<Bound>>,
    /// Of the postings in the window.
    bound: Bound,
}

/// What a posting adds at most.
#[derive(Clone, Copy, Default)]
struct Bound {
    /// With its share of the document's length score, where that is a sum of its own.
    whole: f32,
    /// Without.
    own: f32,
}

/// Estimates of the documents in a window, and what may be among the best so far.
struct Estimates<'a> {
    corpus: &'a Corpus,
    plan: &'a Plan<'a>,
    left_out: u8,
    lists: Vec<List<'a>>,
    k: usize,
    pool: Vec<(f32, u32)>,
    full: usize,
    /// What is estimated lower is not among the best k.
    threshold: f32,
    slack: f32,
    /// So many documents were looked up in the last window that its lists had better been read.
    busy: bool,
}

impl<'a> Estimates<'a> {
    /// The documents that may be among the best k.
    fn collect(plan: &'a Plan<'a>, corpus: &'a Corpus, left_out: u8, k: usize) -> Vec<u32> {
        if k == 0 {
            return Vec::new();
        }
        let lists: Vec<List> = plan
            .groups
            .iter()
            .flatten()
            .map(|asked| List::new(asked, corpus))
            .collect();
        let magnitude: f32 = lists.iter().map(|l| l.magnitude(plan, corpus)).sum();
        let roundings = lists.len() + plan.lengths.len() + ROUNDINGS;
        let mut estimates = Estimates {
            corpus,
            plan,
            left_out,
            lists,
            k,
            pool: Vec::new(),
            full: 2 * k.max(8),
            threshold: f32::NEG_INFINITY,
            // of the document's estimate and of the one that it is held against
            slack: 2.0 * roundings as f32 * ROUNDING * magnitude,
            busy: false,
        };
        estimates.windows();
        let mut pool = std::mem::take(&mut estimates.pool);
        estimates.cut(&mut pool);
        pool.into_iter().map(|(_, number)| number).collect()
    }

    fn windows(&mut self) {
        let mut window = Window::default();
        let mut near = Vec::new();
        let mut order: Vec<usize> = (0..self.lists.len()).collect();
        let (mut start, mut windows) = (0, 0);
        while let Some(next) = self.lists.iter_mut().filter_map(|l| l.go_to(start)).min() {
            start = next;
            let end = start.saturating_add(WINDOW as u32);
            for list in &mut self.lists {
                list.bound_before(end, self.plan);
            }
            // those that cannot bring a document among the best by themselves come first
            order.sort_unstable_by(|a, b| {
                let bound = |at: usize| self.lists.get(at).map_or(0.0, |l| l.bound.whole);
                bound(*a).total_cmp(&bound(*b)).then(a.cmp(b))
            });
            let mut sum = 0.0;
            let few = order
                .iter()
                .take_while(|at| {
                    sum += self.lists.get(**at).map_or(0.0, |l| l.bound.whole.max(0.0));
                    sum + self.slack < self.threshold
                })
                .count();
            windows += 1;
            // what nothing is found in is passed over; after a busy window only some try again to look up
            let read_all = self.busy && few < order.len() && windows % RETRY != 0;
            let (looked_up, read) = order.split_at(if read_all { 0 } else { few });
            for at in read {
                if let Some(list) = self.lists.get_mut(*at) {
                    list.add(start, end, self.plan, &mut window);
                }
            }
            if !read.is_empty() {
                self.weigh((start, end), looked_up, &mut window, &mut near);
                window.clear();
            }
            if end == u32::MAX {
                break;
            }
            start = end;
        }
    }

    /// Takes the window's documents that may be among the best; `near` is room for them.
    fn weigh(
        &mut self,
        (start, end): (u32, u32),
        looked_up: &[usize],
        window: &mut Window,
        near: &mut Vec<u32>,
    ) {
        let own = |lists: &[List], at: &usize| lists.get(*at).map_or(0.0, |l| l.bound.own.max(0.0));
        let mut rest: f32 = looked_up.iter().map(|at| own(&self.lists, at)).sum();
        let low = self.threshold - self.slack;
        for (field, weight) in &self.plan.lengths {
            let scores = self.plan.length_scores.by_document.get(*field);
            let scores = scores.and_then(|scores| scores.get(start as usize..));
            window.add_lengths(*weight as f32, scores.unwrap_or_default());
        }
        window.find(low - rest, near);
        let (columns, left_out) = (&self.corpus.columns, self.left_out);
        near.retain(|place| !columns.has_mark(start + place, left_out));
        let documents = self.corpus.documents() as usize;
        let expected = |list: &List| list.postings.df() * WINDOW / documents.max(1);
        if !looked_up.is_empty() {
            let lists = looked_up.iter().filter_map(|at| self.lists.get(*at));
            self.busy = lists.map(expected).sum::<usize>() < LOOK_UP * near.len();
        }
        for at in looked_up.iter().rev() {
            rest -= own(&self.lists, at);
            let Some(list) = self.lists.get_mut(*at) else {
                continue;
            };
            if expected(list) < LOOK_UP * near.len() {
                list.add(start, end, self.plan, window);
            } else {
                for place in near.iter() {
                    *window.sum(*place) += list.look_up(start + place, self.plan);
                }
            }
            near.retain(|place| *window.sum(*place) + rest >= low);
        }
        for place in near.iter() {
            let estimate = *window.sum(*place);
            if estimate >= self.threshold - self.slack {
                self.take(estimate, start + place);
            }
        }
    }

    fn take(&mut self, estimate: f32, number: u32) {
        self.pool.push((estimate, number));
        if self.pool.len() >= self.full {
            let mut pool = std::mem::take(&mut self.pool);
            self.cut(&mut pool);
            // where many are equal, all of them stay
            self.full = self.full.max(2 * pool.len());
            self.pool = pool;
        }
    }

    fn cut(&mut self, pool: &mut Vec<(f32, u32)>) {
        if pool.len() > self.k {
            let by_estimate = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0);
            let (_, last, _) = pool.select_nth_unstable_by(self.k - 1, by_estimate);
            self.threshold = last.0;
            let low = self.threshold - self.slack;
            pool.retain(|(estimate, _)| *estimate >= low);
        }
    }
}

impl<'a> List<'a> {
    fn new(asked: &Asked<'a>, corpus: &'a Corpus) -> Self {
        let weight = asked.field_weight * asked.term_weight;
        let by_frequency = |mu_p: f64, by_length| Estimate::Sum {
            known: Box::new(std::array::from_fn(|tf| {
                (weight * (1.0 + tf as f64 / mu_p).ln()) as f32
            })),
            mu_p,
            weight,
            by_length,
        };
        List {
            postings: asked.postings,
            lengths: asked.lengths(corpus),
            estimate: match asked.score {
                TermScore::Bm25 { idf, floor, slope } => Estimate::Bm25 {
                    factor: (weight * idf) as f32,
                    floor: floor as f32,
                    slope: slope as f32,
                },
                TermScore::Dirichlet { mu_p } => by_frequency(mu_p, false),
                TermScore::LuceneDirichlet { mu_p, .. } => by_frequency(mu_p, true),
                score => Estimate::Other { weight, score },
            },
            at: 0,
            read: false,
            block: Block::default(),
            place: 0,
            bounds: vec![None; asked.postings.blocks()],
            bound: Bound::default(),
        }
    }

    /// At least as large as what a posting's summands can be.
    fn magnitude(&self, plan: &Plan, corpus: &Corpus) -> f32 {
        let longest = plan.length_score(corpus.longest()).abs() as f32;
        match &self.estimate {
            Estimate::Bm25 { factor, .. } => *factor,
            Estimate::Sum { weight, mu_p, .. } => {
                let most = (1.0 + f64::from(u32::MAX) / mu_p).ln();
                *weight as f32 * (most as f32 + longest)
            }
            Estimate::Other { weight, score } => {
                (weight * score.score(f64::from(corpus.longest()), 1)) as f32
            }
        }
    }

    /// What a posting adds to its document's estimate.
    #[inline(always)]
    fn estimate(estimate: &Estimate, plan: &Plan, tf: u32, length: u32) -> f32 {
        match estimate {
            Estimate::Bm25 {
                factor,
                floor,
                slope,
            } => {
                let tf = tf as f32;
                factor * (tf / (tf + (floor + slope * length as f32)))
            }
            Estimate::Sum {
                known,
                mu_p,
                weight,
                by_length,
            } => {
                let own = match known.get(tf as usize) {
                    Some(own) => *own,
                    None => (weight * (1.0 + f64::from(tf) / mu_p).ln()) as f32,
                };
                match by_length {
                    true => (own + (weight * plan.length_score(length)) as f32).max(0.0),
                    false => own,
                }
            }
            Estimate::Other { weight, score } => {
                (weight * score.score(f64::from(tf), length)) as f32
            }
        }
    }

    /// Passes over the blocks that end before that document: where the next posting may be at the earliest.
    fn go_to(&mut self, start: u32) -> Option<u32> {
        while self.postings.last(self.at)? < start {
            self.at += 1;
            self.read = false;
        }
        if self.read {
            let next = self.block.documents().get(self.place);
            return Some(next.copied().unwrap_or(start).max(start));
        }
        let before = self.at.checked_sub(1).and_then(|at| self.postings.last(at));
        Some(before.map_or(0, |last| last + 1).max(start))
    }

    /// Finds out what the postings before `end` add at most.
    fn bound_before(&mut self, end: u32, plan: &Plan) {
        self.bound = Bound::default();
        let mut at = self.at;
        let mut begins = match self.read {
            true => self.block.documents().get(self.place).copied(),
            false => None,
        };
        while let Some(last) = self.postings.last(at) {
            if begins.is_some_and(|begins| begins >= end) {
                break;
            }
            let bound = self.bound_of(at, plan);
            self.bound.whole = self.bound.whole.max(bound.whole);
            self.bound.own = self.bound.own.max(bound.own);
            begins = last.checked_add(1);
            at += 1;
        }
    }

    fn bound_of(&mut self, at: usize, plan: &Plan) -> Bound {
        if let Some(Some(known)) = self.bounds.get(at) {
            return *known;
        }
        let mut bound = Bound {
            whole: f32::NEG_INFINITY,
            own: 0.0,
        };
        for corner in self.postings.head(at).iter().flat_map(|h| h.corners) {
            let own = Self::estimate(&self.estimate, plan, corner.tf, corner.length);
            let share = match &self.estimate {
                Estimate::Sum {
                    weight,
                    by_length: false,
                    ..
                } => (weight * plan.length_score(corner.length)) as f32,
                _ => 0.0,
            };
            bound.own = bound.own.max(own);
            bound.whole = bound.whole.max(own + share);
        }
        if let Some(slot) = self.bounds.get_mut(at) {
            *slot = Some(bound);
        }
        bound
    }

    fn read_block(&mut self) {
        if !self.read {
            self.postings.read(self.at, &mut self.block);
            self.read = true;
            self.place = 0;
        }
    }

    /// Adds the postings of the window's documents.
    fn add(&mut self, start: u32, end: u32, plan: &Plan, window: &mut Window) {
        while self.at < self.postings.blocks() {
            self.read_block();
            let documents = self.block.documents().get(self.place..).unwrap_or_default();
            let from = documents.partition_point(|number| *number < start);
            let to = match documents.last() {
                Some(last) if *last < end => documents.len(),
                _ => documents.partition_point(|number| *number < end),
            };
            let tfs = self
                .block
                .frequencies()
                .get(self.place..)
                .unwrap_or_default();
            let whole = to == documents.len();
            if let (Some(documents), Some(tfs)) = (documents.get(from..to), tfs.get(from..to)) {
                let mut added = [0f32; BLOCK];
                self.estimates(documents, tfs, plan, &mut added);
                window.add(documents, &added, start);
            }
            self.place += to;
            if !whole {
                return;
            }
            self.at += 1;
            self.read = false;
        }
    }

    /// What postings add. A loop for each formula, in which the compiler knows which it is.
    fn estimates(&self, documents: &[u32], tfs: &[u32], plan: &Plan, added: &mut [f32; BLOCK]) {
        let mut lengths = [0u32; BLOCK];
        let by_length = !matches!(
            self.estimate,
            Estimate::Sum {
                by_length: false,
                ..
            }
        );
        if by_length {
            for (slot, document) in lengths.iter_mut().zip(documents) {
                *slot = self.lengths.get(*document as usize).copied().unwrap_or(0);
            }
        }
        let postings = added.iter_mut().zip(tfs).zip(&lengths);
        match &self.estimate {
            &Estimate::Bm25 {
                factor,
                floor,
                slope,
            } => postings.for_each(|((slot, tf), length)| {
                // neither has more than 31 bits, and so many are converted several at a time
                let (tf, length) = (*tf as i32 as f32, *length as i32 as f32);
                *slot = factor * (tf / (tf + (floor + slope * length)));
            }),
            estimate => postings.for_each(|((slot, tf), length)| {
                *slot = Self::estimate(estimate, plan, *tf, *length);
            }),
        }
    }

    /// What the term adds for a document, which is asked for in ascending order.
    fn look_up(&mut self, number: u32, plan: &Plan) -> f32 {
        if self.go_to(number) != Some(number) {
            return 0.0;
        }
        self.read_block();
        let rest = self.block.documents().get(self.place..).unwrap_or_default();
        self.place += rest.partition_point(|found| *found < number);
        let tf = match self.block.documents().get(self.place) {
            Some(found) if *found == number => self
                .block
                .frequencies()
                .get(self.place)
                .copied()
                .unwrap_or(0),
            _ => return 0.0,
        };
        let length = self.lengths.get(number as usize).copied().unwrap_or(0);
        Self::estimate(&self.estimate, plan, tf, length)
    }
}
