//! The lists of images for and against a topic, or about a claim.

use std::collections::BTreeMap;

use riposte_eval::{DocId, Stance};

use super::strictly_decreasing;
use crate::score::picture_text::PictureWords;

/// Number of images in the list of one topic and stance.
pub(crate) const LIST_LENGTH: usize = 10;

/// Two images look the same if their perceptual hashes (64 bits) differ in at most this number of bits. Nearly all reduced or recompressed
/// copies of a picture are within this limit, and unrelated pictures are beyond it. Two pictures of the same template with different words look
/// the same, too.
pub(crate) const SAME_PICTURE_BITS: u32 = 10;

/// A document that can be selected, and its score for each list.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageCandidate {
    pub doc: DocId,
    /// Score for the PRO list, at least 0; `None` excludes the document from the list.
    pub pro: Option<f64>,
    /// Score for the CON list, at least 0; `None` excludes the document from the list.
    pub con: Option<f64>,
    /// Perceptual hash; `None` if the image could not be decoded.
    pub phash: Option<u64>,
    /// The text in the picture; `None` if OCR was not run.
    pub text: Option<PictureWords>,
}

/// Whether two images show the same picture: they look the same and, if both texts were read, the texts agree.
pub(crate) fn is_same_picture(
    phashes: [Option<u64>; 2],
    texts: [Option<&PictureWords>; 2],
) -> bool {
    let ([Some(a), Some(b)], texts) = (phashes, texts) else {
        return false;
    };
    (a ^ b).count_ones() <= SAME_PICTURE_BITS
        && match texts {
            [Some(a), Some(b)] => a.agrees_with(b),
            _ => true,
        }
}

/// The lists of a topic.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// The PRO list, then the CON list.
    pub listed: Vec<Selected>,
    /// For each candidate that was left out as a copy, the candidate that shows the same picture. The latter need not be in a list.
    pub copies: BTreeMap<DocId, DocId>,
}

/// An entry of a list. Ranks start at 1. Within a list scores strictly decrease, both with six decimals and as 32-bit floats, so that every
/// evaluator sees the order of the ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Selected {
    pub doc: DocId,
    pub stance: Stance,
    pub rank: u32,
    pub score: f64,
}

/// Selects the PRO list and the CON list.
///
/// Among images of the same picture, only the one with the highest score is kept. Without `overlap`, no document is in both lists, and the
/// documents are assigned to the lists with the largest possible sum of scores. With `overlap`, each list takes the documents with the highest
/// score. Ties go to the smaller id.
pub fn select(candidates: &[ImageCandidate], overlap: bool) -> Selection {
    let (candidates, copies) = distinct(candidates);
    let lists: [Vec<(f64, &DocId)>; 2] = if overlap {
        Stance::BOTH.map(|stance| {
            let mut list = sorted(candidates.iter().copied(), stance);
            list.truncate(LIST_LENGTH);
            list
        })
    } else {
        assign_to_lists(&candidates)
    };
    let [pro, con] = lists;
    let mut listed = with_scores(Stance::Pro, &pro);
    listed.extend(with_scores(Stance::Con, &con));
    Selection { listed, copies }
}

/// Selects the single list of a claim: the `length` candidates with the highest score as PRO. Among images of the same picture, only the best
/// one is taken; copies follow at the end if there are too few other candidates.
pub fn select_claim(candidates: &[ImageCandidate], length: usize) -> Selection {
    let (_, copies) = distinct(candidates);
    let members = |are_copies: bool| {
        let of_kind = candidates.iter();
        let of_kind = of_kind.filter(|c| copies.contains_key(&c.doc) == are_copies);
        sorted(of_kind, Stance::Pro)
    };
    let mut list = members(false);
    list.extend(members(true));
    list.truncate(length);
    Selection {
        listed: with_scores(Stance::Pro, &list),
        copies,
    }
}

fn score_in(candidate: &ImageCandidate, stance: Stance) -> Option<f64> {
    let score = match stance {
        Stance::Pro => candidate.pro,
        Stance::Con => candidate.con,
    };
    score.filter(|w| w.is_finite())
}

fn best_score(candidate: &ImageCandidate) -> f64 {
    let scores = Stance::BOTH.map(|stance| score_in(candidate, stance));
    scores.into_iter().flatten().fold(0.0, f64::max)
}

/// The candidates that can be in a list, with their scores, sorted.
fn sorted<'a>(
    candidates: impl Iterator<Item = &'a ImageCandidate>,
    stance: Stance,
) -> Vec<(f64, &'a DocId)> {
    let scored = candidates.filter_map(|c| Some((score_in(c, stance)?, &c.doc)));
    let mut list: Vec<_> = scored.collect();
    sort(&mut list);
    list
}

/// Sorts by decreasing score; ties by id.
fn sort(list: &mut [(f64, &DocId)]) {
    list.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
}

/// The candidates by id, with only the one of highest score among images of the same picture. Also returns, for each other image, the one that
/// was kept.
fn distinct(candidates: &[ImageCandidate]) -> (Vec<&ImageCandidate>, BTreeMap<DocId, DocId>) {
    let mut order: Vec<&ImageCandidate> = candidates.iter().collect();
    order.sort_by(|a, b| {
        best_score(b)
            .total_cmp(&best_score(a))
            .then_with(|| a.doc.cmp(&b.doc))
    });
    let mut kept: Vec<&ImageCandidate> = Vec::new();
    let mut copies = BTreeMap::new();
    for candidate in order {
        let same = |other: &&&ImageCandidate| {
            let texts = [candidate.text.as_ref(), other.text.as_ref()];
            is_same_picture([candidate.phash, other.phash], texts)
        };
        match kept.iter().find(same) {
            Some(original) => {
                copies.insert(candidate.doc.clone(), original.doc.clone());
            }
            None => kept.push(candidate),
        }
    }
    kept.sort_by(|a, b| a.doc.cmp(&b.doc));
    (kept, copies)
}

/// Two disjoint lists with the largest sum of scores, by dynamic programming over the candidates. `best[p][c]` is the largest sum of the
/// candidates so far with `p` of them in the PRO list and `c` in the CON list.
fn assign_to_lists<'a>(candidates: &[&'a ImageCandidate]) -> [Vec<(f64, &'a DocId)>; 2] {
    const N: usize = LIST_LENGTH + 1;
    const IMPOSSIBLE: f64 = f64::NEG_INFINITY;
    let mut best = [[IMPOSSIBLE; N]; N];
    best[0][0] = 0.0;
    // for each candidate and state, the list to which the candidate was added to reach the state
    let mut choices: Vec<[[Option<Stance>; N]; N]> = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        let mut choice = [[None; N]; N];
        let before = best;
        for p in 0..N {
            for c in 0..N {
                for (stance, from) in [
                    (Stance::Pro, p.checked_sub(1).map(|p| before[p][c])),
                    (Stance::Con, c.checked_sub(1).map(|c| before[p][c])),
                ] {
                    if let (Some(from), Some(score)) = (from, score_in(candidate, stance))
                        && from + score > best[p][c]
                    {
                        best[p][c] = from + score;
                        choice[p][c] = Some(stance);
                    }
                }
            }
        }
        choices.push(choice);
    }
    // long lists are preferred first, because a document with the score 0 costs nothing; then two lists that are not empty
    let (mut p, mut c) = (0..N)
        .flat_map(|p| (0..N).map(move |c| (p, c)))
        .filter(|&(p, c)| best[p][c] > IMPOSSIBLE)
        .max_by(|a, b| {
            let serves_both = |(p, c): (usize, usize)| p.min(c) > 0;
            (a.0 + a.1)
                .cmp(&(b.0 + b.1))
                .then(serves_both(*a).cmp(&serves_both(*b)))
                .then(best[a.0][a.1].total_cmp(&best[b.0][b.1]))
        })
        .unwrap_or((0, 0));
    let mut lists = [Vec::new(), Vec::new()];
    for (candidate, choice) in candidates.iter().zip(&choices).rev() {
        let Some(stance) = choice[p][c] else { continue };
        *[&mut p, &mut c][stance as usize] -= 1;
        let score = score_in(candidate, stance).unwrap_or(0.0);
        lists[stance as usize].push((score, &candidate.doc));
    }
    lists.iter_mut().for_each(|list| sort(list));
    lists
}

fn with_scores(stance: Stance, list: &[(f64, &DocId)]) -> Vec<Selected> {
    let scores = strictly_decreasing(list.iter().map(|(score, _)| *score));
    let selected = |(rank, ((_, doc), score)): (u32, (&(f64, &DocId), f64))| Selected {
        doc: (*doc).clone(),
        stance,
        rank,
        score,
    };
    (1..).zip(list.iter().zip(scores)).map(selected).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::ocr::OcrLine;
    use proptest::prelude::*;

    fn candidate(id: usize, pro: f64, con: f64) -> ImageCandidate {
        ImageCandidate {
            doc: DocId(format!("I{id:04}")),
            pro: Some(pro),
            con: Some(con),
            phash: None,
            text: None,
        }
    }

    #[test]
    fn a_claim_has_one_list_and_copies_fill_it_up() {
        let mut images = [candidate(1, 0.9, 0.0), candidate(2, 0.8, 0.0)].to_vec();
        images.push(candidate(3, 0.1, 0.9));
        (images[0].phash, images[1].phash) = (Some(0), Some(1));
        let of = |length| {
            let selection = select_claim(&images, length);
            let listed = selection.listed.iter();
            assert!(listed.clone().all(|s| s.stance == Stance::Pro));
            let scores: Vec<f64> = listed.clone().map(|s| s.score).collect();
            assert!(scores.is_sorted_by(|a, b| a > b), "{scores:?}");
            listed.map(|s| s.doc.0.clone()).collect::<Vec<_>>()
        };
        assert_eq!(of(2), ["I0001", "I0003"]);
        assert_eq!(of(5), ["I0001", "I0003", "I0002"]);
        assert!(select_claim(&[], 5).listed.is_empty());
    }

    fn total(list: &[Selected]) -> f64 {
        list.iter().map(|s| s.score).sum()
    }

    #[test]
    fn a_document_goes_to_the_list_that_loses_more_without_it() {
        // each list by itself would begin with the first document; PRO has ten others that are nearly as good, CON has none
        let mut candidates = vec![candidate(1, 1.0, 0.9)];
        candidates.extend((2..12).map(|i| candidate(i, 0.95, 0.1)));
        candidates.extend((12..21).map(|i| candidate(i, 0.01, 0.01)));
        let lists = select(&candidates, false).listed;
        assert_eq!(lists.len(), 20);
        assert_eq!(
            (lists[0].doc.0.as_str(), lists[0].stance),
            ("I0002", Stance::Pro)
        );
        assert_eq!(
            (lists[10].doc.0.as_str(), lists[10].stance),
            ("I0001", Stance::Con)
        );
        let both = select(&candidates, true).listed;
        assert_eq!(
            (both[0].doc.0.as_str(), both[10].doc.0.as_str()),
            ("I0001", "I0001")
        );
    }

    #[test]
    fn the_same_picture_takes_one_slot() {
        let mut a = candidate(1, 0.5, 0.5);
        let mut b = candidate(2, 0.9, 0.5);
        let mut c = candidate(3, 0.1, 0.1);
        (a.phash, b.phash, c.phash) = (Some(0b1011), Some(0b0111), Some(u64::MAX));
        let selection = select(&[a, b, c], false);
        let docs: Vec<_> = selection.listed.into_iter().map(|s| s.doc.0).collect();
        assert_eq!(docs, ["I0002", "I0003"]);
        let [copy, original] = [1, 2].map(|n| candidate(n, 0.0, 0.0).doc);
        assert_eq!(selection.copies, BTreeMap::from([(copy, original)]));
    }

    #[test]
    fn equal_scores_are_made_different() {
        let candidates: Vec<_> = (0..20).map(|i| candidate(i, 90.0, 90.0)).collect();
        let lists = select(&candidates, false).listed;
        for pair in lists.windows(2).filter(|p| p[0].stance == p[1].stance) {
            assert!((pair[0].score as f32) > (pair[1].score as f32));
            assert!(pair[0].doc < pair[1].doc);
        }
    }

    fn list(selection: &Selection, stance: Stance) -> Vec<&str> {
        let of_stance = selection.listed.iter().filter(|s| s.stance == stance);
        of_stance.map(|s| s.doc.0.as_str()).collect()
    }

    #[test]
    fn of_few_images_the_one_that_loses_least_serves_the_empty_list() {
        // all have a higher score as PRO; the third has almost the same score as CON, and the first has a higher score as CON than the others
        let three = [
            candidate(1, 0.9, 0.5),
            candidate(2, 0.8, 0.1),
            candidate(3, 0.3, 0.2),
        ];
        let selection = select(&three, false);
        assert_eq!(list(&selection, Stance::Pro), ["I0001", "I0002"]);
        assert_eq!(list(&selection, Stance::Con), ["I0003"]);
        // a single image is in the list in which its score is higher
        let one = select(&three[..1], false);
        assert_eq!(list(&one, Stance::Pro), ["I0001"]);
        // a recipe can exclude images from a list; then the list is empty
        let excluded = three
            .clone()
            .map(|image| ImageCandidate { con: None, ..image });
        assert_eq!(list(&select(&excluded, false), Stance::Pro).len(), 3);
    }

    #[test]
    fn templates_with_other_words_are_two_pictures() {
        let with_text = |id, words: Option<&str>| {
            let line = |words: &str| OcrLine {
                text: words.to_owned(),
                confidence: 1.0,
                corners: [(0.0, 0.0), (200.0, 0.0), (200.0, 40.0), (0.0, 40.0)],
                block: 0,
            };
            ImageCandidate {
                phash: Some(7),
                text: words.map(|words| PictureWords::new(&[line(words)], 300)),
                ..candidate(id, 0.5, 0.5)
            }
        };
        for (words, pictures) in [
            ([Some("BAN GUNS"), Some("KEEP GUNS")], 2),
            ([Some("BAN GUNS"), Some("BAN GUNS")], 1),
            // the hash decides
            ([Some("BAN GUNS"), None], 1),
            ([None, None], 1),
        ] {
            let [a, b] = words;
            let both = [with_text(1, a), with_text(2, b)];
            let selection = select(&both, false);
            assert_eq!(selection.listed.len(), pictures, "{words:?}");
            assert_eq!(selection.copies.len(), 2 - pictures, "{words:?}");
        }
    }

    proptest! {
        #[test]
        fn two_pictures_serve_both_lists(
            scores in prop::collection::vec((0.0f64..3.0, 0.0f64..3.0, 0u64..40), 2..60),
            overlap in any::<bool>(),
        ) {
            let image = |(n, score): (usize, &(f64, f64, u64))| ImageCandidate {
                // one of 37 hashes that differ in many bits, or none: so some images are copies
                phash: (score.2 > 2).then(|| score.2.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
                ..candidate(n, score.0, score.1)
            };
            let candidates: Vec<ImageCandidate> = scores.iter().enumerate().map(image).collect();
            let selection = select(&candidates, overlap);
            let [pro, con] = Stance::BOTH.map(|stance| list(&selection, stance));
            prop_assert!(pro.len() <= 10 && con.len() <= 10);
            let pictures = candidates.len() - selection.copies.len();
            if pictures >= 2 {
                prop_assert!(!pro.is_empty() && !con.is_empty());
            }
            if !overlap {
                prop_assert!(pro.iter().all(|id| !con.contains(id)));
                prop_assert_eq!(pro.len() + con.len(), pictures.min(20));
            }
            for (copy, original) in &selection.copies {
                prop_assert!(!selection.copies.contains_key(original));
                prop_assert!(!pro.contains(&copy.0.as_str()) && !con.contains(&copy.0.as_str()));
            }
        }
    }

    proptest! {
        #[test]
        fn lists_are_disjoint_full_and_better_than_greedy(scores in prop::collection::vec((0.0f64..1.0, 0.0f64..1.0), 0..60)) {
            let candidates: Vec<_> = scores.iter().enumerate().map(|(i, w)| candidate(i, w.0, w.1)).collect();
            let lists = select(&candidates, false).listed;
            prop_assert_eq!(lists.len(), candidates.len().min(20));
            let mut docs: Vec<_> = lists.iter().map(|s| &s.doc).collect();
            docs.sort();
            docs.dedup();
            prop_assert_eq!(docs.len(), lists.len());
            // greedy: PRO takes its ten best or all but one, and CON takes the best of the others
            let mut pro = scores.clone();
            pro.sort_by(|a, b| b.0.total_cmp(&a.0));
            let mut con = pro.split_off(pro.len().saturating_sub(1).clamp(pro.len().min(1), 10));
            con.sort_by(|a, b| b.1.total_cmp(&a.1));
            con.truncate(10);
            let greedy: f64 = pro.iter().map(|w| w.0).chain(con.iter().map(|w| w.1)).sum();
            prop_assert!(total(&lists) >= greedy - 1e-4);
        }
    }
}
