//! What counts for P@10, and the highest value that a run can reach. This value is below 1 if fewer images are relevant than a list has places.

use std::collections::BTreeMap;

use crate::trec::edition::Edition;
use crate::trec::qrels::ImageGrades;
use crate::trec::{DocId, Stance};

/// The number of results of each topic and stance that P@10 counts.
pub(super) const DEPTH: usize = 10;

/// Whether an image with these grades is on topic, argumentative and on stance, in a list of this stance.
pub(super) fn relevance(grades: &ImageGrades, stance: Stance, edition: &Edition) -> [bool; 3] {
    let on_topic = edition.counts(grades.on_topic);
    let argues = Stance::BOTH.map(|s| edition.counts(grades.stance(s)));
    let on_stance = edition.counts(grades.stance(stance));
    [
        on_topic,
        on_topic && argues.contains(&true),
        on_topic && on_stance,
    ]
}

/// The largest number of images on topic, argumentative and on stance: in a topic's PRO list, in its CON list, and in both together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attainable {
    pub pro: [usize; 3],
    pub con: [usize; 3],
    /// If the run shows no image in both lists, each image counts once here, so this can be less than the sum of the two.
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
        let mut on_stance = [0; 3];
        for grades in grades.values() {
            let [is_on_topic, argues, is_pro] = relevance(grades, Stance::Pro, edition);
            let [_, _, is_con] = relevance(grades, Stance::Con, edition);
            on_topic += usize::from(is_on_topic);
            argumentative += usize::from(argues);
            match (is_pro, is_con) {
                (true, false) => on_stance[0] += 1,
                (false, true) => on_stance[1] += 1,
                (true, true) => on_stance[2] += 1,
                (false, false) => {}
            }
        }
        let [pro, con, either] = on_stance;
        let list = |of_stance: usize| [on_topic, argumentative, of_stance].map(|n| n.min(DEPTH));
        let (pro_list, con_list) = (list(pro + either), list(con + either));
        let both = if overlap {
            [0, 1, 2].map(|n| pro_list[n] + con_list[n])
        } else {
            let split =
                |to_pro: usize| (pro + to_pro).min(DEPTH) + (con + either - to_pro).min(DEPTH);
            [
                on_topic.min(2 * DEPTH),
                argumentative.min(2 * DEPTH),
                (0..=either).map(split).max().unwrap_or(0),
            ]
        };
        Attainable {
            pro: pro_list,
            con: con_list,
            both,
        }
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
        assert_eq!((few.pro, few.con), ([10, 9, 4], [10, 9, 5]));
        assert_eq!(few.both, [11, 9, 9]);
        assert_eq!(of([2, 4, 5, 0], true).both, [20, 18, 9]);
        // an image of both stances fills a place of the list that needs it
        assert_eq!(of([0, 9, 2, 3], false).both, [14, 14, 14]);
        assert_eq!(of([0, 12, 2, 3], false).both, [17, 17, 15]);
        assert_eq!(of([9, 30, 30, 9], false).both, [20; 3]);
        assert_eq!(of([0; 4], false), Attainable::default());
    }
}
