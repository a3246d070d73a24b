//! Decides which documents are in the lists of a run, their order and their final scores. No other place decides the order of a run.

#[cfg(feature = "full")]
mod images;

use crate::index::ScoredDoc;
#[cfg(feature = "full")]
pub use images::{Candidate, Selected, Selection, select, select_claim};
#[cfg(feature = "full")]
pub(crate) use images::{LIST_LENGTH, SAME_PICTURE_BITS, is_same_picture};

/// The scores of a list, rounded to six decimals. A score that is not below the previous one, even as a 32-bit float, is lowered as far as
/// necessary.
fn strictly_decreasing(scores: impl Iterator<Item = f64>) -> impl Iterator<Item = f64> {
    let mut last = f32::INFINITY;
    scores.map(move |score| {
        let mut millionths = (score * 1e6).round();
        // subtracting a millionth does not change a large 32-bit float
        let step = (f64::from(last.next_up() - last) * 1e6).max(1.0);
        while (millionths / 1e6) as f32 >= last {
            millionths -= step;
        }
        let score = millionths / 1e6;
        last = score as f32;
        score
    })
}

/// The ranking of a text run: at most `max_length` documents by decreasing score, ties by id, with scores that strictly decrease like those of
/// the lists of images. Documents whose score is not finite, or at least 10^9 in absolute value, are left out.
pub(crate) fn select_texts(mut ranking: Vec<ScoredDoc>, max_length: usize) -> Vec<ScoredDoc> {
    ranking.sort_by(|a, b| a.doc.cmp(&b.doc));
    select_in_order(ranking, max_length)
}

/// Like [`select_texts`], but ties keep the order of `ranking`, which comes from a search engine.
pub(crate) fn select_in_order(mut ranking: Vec<ScoredDoc>, max_length: usize) -> Vec<ScoredDoc> {
    ranking.retain(|found| found.score.abs() < 1e9);
    ranking.sort_by(|a, b| b.score.total_cmp(&a.score));
    ranking.truncate(max_length);
    let scores: Vec<f64> = strictly_decreasing(ranking.iter().map(|found| found.score)).collect();
    for (found, score) in ranking.iter_mut().zip(scores) {
        found.score = score;
    }
    ranking
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use riposte_eval::DocId;

    proptest! {
        #[test]
        fn text_scores_strictly_decrease_for_any_input(
            scores in proptest::collection::vec(prop_oneof![-1e8..1e8f64, -1.0..1.0f64, Just(0.5), Just(f64::NAN)], 0..60),
            most in 0usize..70,
        ) {
            let ranking = scores.iter().zip(0..).map(|(score, n)| ScoredDoc { doc: DocId(format!("d{n}")), score: *score });
            let finite = scores.iter().filter(|s| s.is_finite()).count();
            let selected = select_texts(ranking.collect(), most);
            prop_assert_eq!(selected.len(), finite.min(most));
            for pair in selected.windows(2) {
                let written = |at: usize| -> f64 { format!("{:.6}", pair[at].score).parse().unwrap() };
                prop_assert!(written(0) as f32 > written(1) as f32, "{pair:?}");
            }
        }
    }
}
