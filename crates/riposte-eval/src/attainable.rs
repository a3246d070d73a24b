//! What counts for P@10, and the highest value that a run can reach. This value is below 1 if fewer images are relevant than a list has places.

use std::collections::BTreeMap;

use crate::edition::Edition;
use crate::qrels::ImageGrades;
use crate::{DocId, Stance};

/// The number of results of each topic and stance that P@10 counts.
pub(super) const DEPTH: usize = 10;

/// Whether an image with these grades is on topic, argumentative and on stance, in a list of this stance.
pub(super) fn relevance(grades: &ImageGrades, stance: Stance, edition: &Edition) -> [bool; 3] {
    let on_topic = edition.counts(grades.on_topic);
    let argues = Stance::BOTH.map(|s| on_topic && edition.counts(grades.stance(s)));
    [on_topic, argues[0] || argues[1], argues[stance as usize]]
}

/// The largest number of images on topic, argumentative and on stance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Attainable {
    /// The numbers for a topic's PRO list, and for its CON list.
    pub lists: [[usize; 3]; 2],
    /// The numbers for both lists together. If the run shows no image in both lists, each image counts once here, so this can be less than the sum of the two.
    pub both: [usize; 3],
}

impl Attainable {
    /// The largest numbers that lists can reach with these judgements of a topic. `overlap` says whether an image may be in both lists.
    pub(super) fn of(
        grades: &BTreeMap<DocId, ImageGrades>,
        edition: &Edition,
        overlap: bool,
    ) -> Attainable {
        let [mut on_topic, mut argumentative] = [0; 2];
        // relevant images for only the PRO list, for only the CON list, and for either of them
        let [mut pro, mut con, mut either] = [0; 3];
        for grades in grades.values() {
            let [is_on_topic, argues, is_pro] = relevance(grades, Stance::Pro, edition);
            let [_, _, is_con] = relevance(grades, Stance::Con, edition);
            on_topic += usize::from(is_on_topic);
            argumentative += usize::from(argues);
            pro += usize::from(is_pro && !is_con);
            con += usize::from(is_con && !is_pro);
            either += usize::from(is_pro && is_con);
        }
        let list = |of_stance: usize| [on_topic, argumentative, of_stance].map(|n| n.min(DEPTH));
        let lists = [list(pro + either), list(con + either)];
        let both = if overlap {
            [0, 1, 2].map(|n| lists[0][n] + lists[1][n])
        } else {
            let split =
                |to_pro: usize| (pro + to_pro).min(DEPTH) + (con + either - to_pro).min(DEPTH);
            let on_stance = (0..=either).map(split).max().unwrap_or(0);
            let [on_topic, argumentative] = [on_topic, argumentative].map(|n| n.min(2 * DEPTH));
            [on_topic, argumentative, on_stance]
        };
        Attainable { lists, both }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Judgements with these numbers of images: on topic only, PRO, CON, PRO and CON.
    fn judged(counts: [usize; 4]) -> BTreeMap<DocId, ImageGrades> {
        let sides = [(0, 0), (1, 0), (0, 1), (1, 1)];
        let images = sides.into_iter().zip(counts);
        let images = images.flat_map(|(sides, count)| std::iter::repeat_n(sides, count));
        (0..)
            .zip(images)
            .map(|(n, (pro, con))| {
                let grades = ImageGrades {
                    on_topic: Some(1),
                    pro: Some(pro),
                    con: Some(con),
                };
                (DocId(format!("I{n}")), grades)
            })
            .collect()
    }

    #[test]
    fn few_relevant_images_limit_what_can_be_reached() {
        let of = |counts, overlap| Attainable::of(&judged(counts), Edition::first(), overlap);
        // eleven images for twenty places
        let few = of([2, 4, 5, 0], false);
        assert_eq!(few.lists, [[10, 9, 4], [10, 9, 5]]);
        assert_eq!(few.both, [11, 9, 9]);
        assert_eq!(of([2, 4, 5, 0], true).both, [20, 18, 9]);
        // an image of both stances fills a place of the list that needs it
        assert_eq!(of([0, 9, 2, 3], false).both, [14, 14, 14]);
        assert_eq!(of([0, 12, 2, 3], false).both, [17, 17, 15]);
        assert_eq!(of([9, 30, 30, 9], false).both, [20; 3]);
        assert_eq!(of([0; 4], false), Attainable::default());
    }
}
