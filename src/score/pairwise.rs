//! Orders documents by comparing them two at a time, with the sums of duoT5 (Pradeep, Nogueira and Lin 2021, SYM-SUM).
//!
//! Each ordered pair of documents has a preference p(a, b) in [0, 1]: the probability that a value of a exceeds one of b, averaged over the
//! opinions with their weights. The score of a is the sum over all other documents b of p(a, b) + 1 - p(b, a). All windows of a text are
//! compared, instead of only the best one, so the order differs from that of the point-wise scores of the same model.

use riposte_eval::Explanation;

use super::CHANNEL;

/// The values of one opinion on each document, in the order of the documents. An opinion that reads windows has several values for a document;
/// there are none if it has nothing to read.
pub(crate) struct OpinionValues {
    /// The name of the re-ranker.
    pub name: &'static str,
    pub weight: f64,
    pub values: Vec<Vec<f64>>,
}

/// Mann-Whitney's U of two documents' values, divided by the number of pairs: the probability that a value of `a` exceeds one of `b`, where equal
/// values count one half. A document without values loses to every document that has values.
fn preference(a: &[f64], b: &[f64]) -> f64 {
    match (a.is_empty(), b.is_empty()) {
        (true, true) => return 0.5,
        (true, false) => return 0.0,
        (false, true) => return 1.0,
        (false, false) => {}
    }
    let win = |x: &f64, y: &f64| match x.total_cmp(y) {
        std::cmp::Ordering::Less => 0.0,
        std::cmp::Ordering::Equal => 0.5,
        std::cmp::Ordering::Greater => 1.0,
    };
    let wins = a.iter().flat_map(|x| b.iter().map(move |y| win(x, y)));
    wins.sum::<f64>() / (a.len() * b.len()) as f64
}

/// For each of `documents` documents, the contribution of each opinion to its score: the opinion's share of the weights times the sum of
/// preferences. Opinions without weight or values are left out, so there can be no contributions.
pub(crate) fn sums(evidence: &[OpinionValues], documents: usize) -> Vec<Vec<Explanation>> {
    let is_on = |of: &&OpinionValues| of.weight > 0.0 && of.values.iter().any(|v| !v.is_empty());
    let on: Vec<&OpinionValues> = evidence.iter().filter(is_on).collect();
    let total: f64 = on.iter().map(|of| of.weight).sum();
    let sum = |values: &[Vec<f64>], a: usize| -> f64 {
        let others = (0..values.len()).filter(|b| *b != a);
        let preference = |a: usize, b: usize| preference(&values[a], &values[b]);
        others
            .map(|b| preference(a, b) + 1.0 - preference(b, a))
            .sum()
    };
    let of_document = |a: usize| {
        let part = |of: &&OpinionValues| {
            let (share, sum) = (of.weight / total, sum(&of.values, a));
            let others = documents.saturating_sub(1);
            let part = Explanation::new((CHANNEL, of.name), share * sum);
            part.with_how(format!(
                "weight {share:.3} × {sum:.4}, the preferences over {others} others"
            ))
        };
        on.iter().map(part).collect()
    };
    (0..documents).map(of_document).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(name: &'static str, weight: f64, values: &[&[f64]]) -> OpinionValues {
        OpinionValues {
            name,
            weight,
            values: values.iter().map(|v| v.to_vec()).collect(),
        }
    }

    fn totals(evidence: &[OpinionValues]) -> Vec<f64> {
        let of = sums(evidence, evidence[0].values.len());
        let total = |parts: &Vec<Explanation>| parts.iter().map(Explanation::value).sum();
        of.iter().map(total).collect()
    }

    #[test]
    fn a_text_that_is_good_throughout_beats_one_with_the_best_window() {
        // a has the best window, which beats both of b; its other window loses to both, and to c
        let windows = evidence("sentence", 1.0, &[&[0.9, 0.1], &[0.8, 0.7], &[0.3]]);
        assert_eq!(preference(&[0.9, 0.1], &[0.8, 0.7]), 0.5);
        let found = totals(&[windows]);
        // a: 2 · 1/2 over b, 2 · 1/2 over c; b: 2 · 1/2, 2 · 1; c: 2 · 1/2, 0
        assert_eq!(found, [2.0, 3.0, 1.0]);
    }

    #[test]
    fn opinions_share_the_preference_by_their_weights() {
        let side = evidence("side", 3.0, &[&[0.2], &[0.6], &[0.6]]);
        let quality = evidence("quality", 1.0, &[&[0.9], &[0.5], &[0.4]]);
        let off = evidence("cross", 5.0, &[&[], &[], &[]]);
        // side: 0, 2 + 1, 2 + 1; quality: 4, 2, 0
        assert_eq!(totals(&[side, quality, off]), [1.0, 2.75, 2.25]);
    }

    #[test]
    fn a_text_without_values_loses_and_a_single_document_has_no_one_to_beat() {
        let found = totals(&[evidence("sentence", 1.0, &[&[], &[-0.5], &[]])]);
        assert_eq!(found, [1.0, 4.0, 1.0]);
        assert_eq!(totals(&[evidence("sentence", 1.0, &[&[0.5]])]), [0.0]);
        assert_eq!(sums(&[], 2), [vec![], vec![]]);
    }
}
