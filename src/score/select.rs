//! Decides which documents are in the lists of a run, their order and their final scores. No other place decides the order of a run.

mod images;

use anyhow::{Result, bail};
use riposte_eval::{DocId, Explanation};

use crate::index::ScoredDoc;
pub use images::{ImageCandidate, Selected, Selection, select, select_claim};
pub(crate) use images::{LIST_LENGTH, SAME_PICTURE_BITS, is_same_picture};

/// Scores of this absolute value and more have no decimals as 32-bit floats: such floats are 64 apart.
const LARGE: f64 = 1e9;

/// Whether a run can have this score: it is a number, and not too large for a 32-bit float.
pub(crate) fn is_writable(score: f64) -> bool {
    score.abs() < crate::limits::MAX_SCORE
}

/// The part of a score that no run can have, if there is one: the innermost number that is infinite, not a number, or too large.
pub(crate) fn unwritable(score: &Explanation) -> Option<&Explanation> {
    if is_writable(score.value()) {
        return None;
    }
    Some(score.parts().iter().find_map(unwritable).unwrap_or(score))
}

/// The scores of a list, rounded to six decimals. A score that is not below the previous one, even as a 32-bit float, is lowered as far as
/// necessary.
fn strictly_decreasing(scores: impl Iterator<Item = f64>) -> impl Iterator<Item = f64> {
    let mut last = f32::INFINITY;
    scores.map(move |score| {
        if score.abs() >= LARGE {
            let score = (score as f32).min(last.next_down());
            last = score;
            return f64::from(score);
        }
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
/// the lists of images.
///
/// # Errors
/// A score is not finite, or too large for a run. The message names the document.
pub(crate) fn select_texts(
    mut ranking: Vec<ScoredDoc>,
    max_length: usize,
) -> Result<Vec<ScoredDoc>> {
    ranking.sort_by(|a, b| a.doc.cmp(&b.doc));
    select_in_order(ranking, max_length)
}

/// Like [`select_texts`], but ties keep the order of `ranking`, which comes from a search engine.
///
/// # Errors
/// Those of [`select_texts`].
pub(crate) fn select_in_order(
    mut ranking: Vec<ScoredDoc>,
    max_length: usize,
) -> Result<Vec<ScoredDoc>> {
    if let Some(found) = ranking.iter().find(|found| !is_writable(found.score)) {
        bail!("{}", not_writable(&found.doc, found.score, None));
    }
    ranking.sort_by(|a, b| b.score.total_cmp(&a.score));
    ranking.truncate(max_length);
    let scores: Vec<f64> = strictly_decreasing(ranking.iter().map(|found| found.score)).collect();
    for (found, score) in ranking.iter_mut().zip(scores) {
        found.score = score;
    }
    Ok(ranking)
}

/// The message about a score that no run can have. `part` is the part of the score to blame, if it is known.
pub(crate) fn not_writable(doc: &DocId, score: f64, part: Option<&Explanation>) -> String {
    let because = part.map(|part| format!(" (because of {} = {})", part.name(), part.value()));
    let because = because.unwrap_or_default();
    format!("the score of {doc} is {score}, which no run can have{because}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn text_scores_strictly_decrease_for_any_input(
            scores in proptest::collection::vec(
                prop_oneof![-1e8..1e8f64, -1.0..1.0f64, -1e29..1e29f64, -2e9..2e9f64, Just(0.5), Just(1e9), Just(-1e29)],
                0..60,
            ),
            most in 0usize..70,
        ) {
            let ranking = scores.iter().zip(0..).map(|(score, n)| ScoredDoc { doc: DocId(format!("d{n}")), score: *score });
            let selected = select_texts(ranking.collect(), most).unwrap();
            // no document is lost
            prop_assert_eq!(selected.len(), scores.len().min(most));
            for pair in selected.windows(2) {
                let written = |at: usize| -> f64 { format!("{:.6}", pair[at].score).parse().unwrap() };
                prop_assert!(written(0) as f32 > written(1) as f32, "{pair:?}");
            }
        }
    }

    #[test]
    fn a_score_that_no_run_can_have_is_an_error_that_names_the_document() {
        for (score, shown) in [
            (f64::NAN, "NaN"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (1e30, "1000000000000000000000000000000"),
        ] {
            let ranking = [("a", 1.0), ("b", score)];
            let ranking = ranking.map(|(id, score)| ScoredDoc {
                doc: DocId(id.to_owned()),
                score,
            });
            let error = select_texts(ranking.to_vec(), 1).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("the score of b is {shown}, which no run can have")
            );
        }
        let part = Explanation::new("fusion", f64::NAN);
        let score = Explanation::new("fusion", f64::NAN)
            .with_parts(vec![Explanation::new("fusion", 1.0), part.named("bm25 x")]);
        assert_eq!(unwritable(&score).unwrap().name(), "bm25 x");
    }
}
