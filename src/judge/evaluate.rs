//! Precision of image runs at ten results for each topic and stance.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::attainable::{Attainable, DEPTH, relevance};
use super::measure::{ImageMeasure, ImageQuestion};
use super::{Aggregation, Values};
use crate::trec::edition::Edition;
use crate::trec::qrels::ImageQrels;
use crate::trec::run::ImageRunLine;
use crate::trec::{Stance, TopicId};

/// Counts over the first ten images of a list, or of several lists. An image that was not judged counts as off topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    pub on_topic: usize,
    /// On topic, and either for or against.
    pub argumentative: usize,
    /// On topic, and of the stance of the list.
    pub on_stance: usize,
    /// Judged for this topic.
    pub judged: usize,
    /// All images, at most ten per list.
    pub listed: usize,
}

impl Hits {
    fn add(&mut self, other: Hits) {
        self.on_topic += other.on_topic;
        self.argumentative += other.argumentative;
        self.on_stance += other.on_stance;
        self.judged += other.judged;
        self.listed += other.listed;
    }

    /// The shares of images on topic, argumentative and on stance, among `places` places; 0 if there are none.
    pub fn precision(&self, places: usize) -> [f64; 3] {
        let hits = [self.on_topic, self.argumentative, self.on_stance];
        shares(hits, places)
    }
}

/// The counts as shares of this number of places; 0 if there are none.
fn shares(hits: [usize; 3], places: usize) -> [f64; 3] {
    hits.map(|hits| hits as f64 / places.max(1) as f64)
}

/// P@10 of an image run (Touché 2022 and 2023, Task 3), by topic; `Display` is the table for the whole run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageEvaluation {
    /// The topics that are in the run or judged.
    pub topics: BTreeMap<TopicId, TopicHits>,
}

/// The counts for a topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TopicHits {
    pub pro: Hits,
    pub con: Hits,
    pub in_run: bool,
    pub is_judged: bool,
    /// The largest numbers that lists could reach with the judgements.
    pub attainable: Attainable,
}

impl TopicHits {
    /// The sum of both lists.
    pub fn both(&self) -> Hits {
        let mut both = self.pro;
        both.add(self.con);
        both
    }

    fn list(&self, stance: Stance) -> Hits {
        match stance {
            Stance::Pro => self.pro,
            Stance::Con => self.con,
        }
    }
}

/// The lists of a run, by topic and stance: their lines by rank, and lines of equal ranks in the order of the file.
pub(super) fn lists(run: &[ImageRunLine]) -> BTreeMap<(&TopicId, Stance), Vec<&ImageRunLine>> {
    let mut lists: BTreeMap<(&TopicId, Stance), Vec<&ImageRunLine>> = BTreeMap::new();
    for line in run {
        let list = lists.entry((&line.topic, line.stance)).or_default();
        list.push(line);
    }
    for list in lists.values_mut() {
        list.sort_by_key(|line| line.rank);
    }
    lists
}

/// The lines that count: of each list, the ten with the lowest ranks.
pub fn counted_lines(run: &[ImageRunLine]) -> impl Iterator<Item = &ImageRunLine> {
    let lists = lists(run).into_values();
    lists.flat_map(|list| list.into_iter().take(DEPTH))
}

/// Evaluates a run. Of each list, the ten lines with the lowest ranks count; equal ranks are in the order of the file. A repeated image
/// counts each time, as in the organisers' evaluator (`verify` warns of it).
pub fn evaluate_images(
    run: &[ImageRunLine],
    qrels: &ImageQrels,
    edition: &Edition,
) -> ImageEvaluation {
    let mut topics: BTreeMap<TopicId, TopicHits> = BTreeMap::new();
    for topic in qrels.keys() {
        topics.entry(topic.clone()).or_default().is_judged = true;
    }
    for ((topic, stance), list) in lists(run) {
        let mut hits = Hits::default();
        for line in list.iter().take(DEPTH) {
            hits.listed += 1;
            let Some(grades) = qrels.get(topic).and_then(|t| t.get(&line.image)) else {
                continue;
            };
            hits.judged += 1;
            let [on_topic, argumentative, on_stance] = relevance(grades, stance, edition);
            hits.on_topic += usize::from(on_topic);
            hits.argumentative += usize::from(argumentative);
            hits.on_stance += usize::from(on_stance);
        }
        let topic = topics.entry(topic.clone()).or_default();
        topic.in_run = true;
        match stance {
            Stance::Pro => topic.pro = hits,
            Stance::Con => topic.con = hits,
        }
    }
    let in_both = in_both_lists(run);
    for (id, topic) in &mut topics {
        if let Some(grades) = qrels.get(id) {
            topic.attainable = Attainable::of(grades, edition, in_both.contains(id));
        }
    }
    ImageEvaluation { topics }
}

/// The topics with an image in both lists.
fn in_both_lists(run: &[ImageRunLine]) -> BTreeSet<&TopicId> {
    let of_stance = |stance: Stance| {
        let lines = run.iter().filter(move |line| line.stance == stance);
        lines.map(|line| (&line.topic, &line.image))
    };
    let pro: BTreeSet<_> = of_stance(Stance::Pro).collect();
    let twice = of_stance(Stance::Con).filter(|line| pro.contains(line));
    twice.map(|(topic, _)| topic).collect()
}

impl ImageEvaluation {
    /// P@10 as the organisers compute it (on topic, argumentative, on stance): over the 20 places of each topic in the run. Topics that
    /// the run leaves out do not count.
    pub fn official(&self) -> [f64; 3] {
        let (hits, topics) = self.sum(|t| t.in_run, TopicHits::both);
        hits.precision(2 * DEPTH * topics)
    }

    /// P@10 over the 20 places of each judged topic. Topics that the run leaves out count as zero.
    pub fn all_judged(&self) -> [f64; 3] {
        let (hits, topics) = self.sum(|t| t.is_judged, TopicHits::both);
        hits.precision(2 * DEPTH * topics)
    }

    /// P@10 over the 10 places of this stance, for each topic in the run.
    pub fn of_stance(&self, stance: Stance) -> [f64; 3] {
        let (hits, topics) = self.sum(|t| t.in_run, |t| t.list(stance));
        hits.precision(DEPTH * topics)
    }

    /// The value of a measure for each topic that it counts, and their mean.
    pub fn measure(&self, measure: &ImageMeasure) -> Values {
        self.values(measure, |topic, list| match list {
            Some(stance) => topic.list(stance).precision(DEPTH),
            None => topic.both().precision(2 * DEPTH),
        })
    }

    /// The highest value of a measure that a run can reach with these judgements, as [`measure`](Self::measure) counts.
    pub fn attainable(&self, measure: &ImageMeasure) -> Values {
        self.values(measure, |topic, list| {
            let (hits, places) = match list {
                Some(Stance::Pro) => (topic.attainable.pro, DEPTH),
                Some(Stance::Con) => (topic.attainable.con, DEPTH),
                None => (topic.attainable.both, 2 * DEPTH),
            };
            shares(hits, places)
        })
    }

    /// For each topic that the measure counts, the one of its `shares` (on topic, argumentative, on stance) that the measure asks for.
    fn values(
        &self,
        measure: &ImageMeasure,
        shares: impl Fn(&TopicHits, Option<Stance>) -> [f64; 3],
    ) -> Values {
        let value = |topic: &TopicHits| {
            let [on_topic, argumentative, on_stance] = shares(topic, measure.list);
            match measure.question {
                ImageQuestion::OnTopic => on_topic,
                ImageQuestion::Argumentative => argumentative,
                ImageQuestion::OnStance => on_stance,
            }
        };
        let topics = self
            .topics
            .iter()
            .filter(|(_, topic)| {
                if measure.all_judged {
                    topic.is_judged
                } else {
                    topic.in_run
                }
            })
            .map(|(id, topic)| (id.clone(), value(topic)))
            .collect();
        Values::new(topics, Aggregation::Mean)
    }

    /// The measures in the format of the organisers' evaluator (`evaluation.prototext`).
    pub fn prototext(&self) -> String {
        let [on_topic, argumentative, on_stance] = self.official();
        super::prototext(&[
            ("topicRelevanceP@10", format!("{on_topic:.3}")),
            ("argumentativenessP@10", format!("{argumentative:.3}")),
            ("stanceRelevanceP@10", format!("{on_stance:.3}")),
        ])
    }

    /// The sum of the counts over the topics that `include` selects, and the number of these topics.
    fn sum(
        &self,
        include: impl Fn(&TopicHits) -> bool,
        hits: impl Fn(&TopicHits) -> Hits,
    ) -> (Hits, usize) {
        let (mut sum, mut topics) = (Hits::default(), 0);
        for topic in self.topics.values().filter(|t| include(t)) {
            sum.add(hits(topic));
            topics += 1;
        }
        (sum, topics)
    }

    /// The table of the topics in the run, one per line.
    pub fn by_topic(&self) -> impl fmt::Display + '_ {
        ByTopic(self)
    }
}

/// Precisions, in columns. If some judgements have fewer relevant images than places, each precision is followed by the highest value that a run can
/// reach.
struct Cells {
    precision: [f64; 3],
    attainable: Option<[f64; 3]>,
}

impl fmt::Display for Cells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [on_topic, argumentative, on_stance] = self.precision;
        match self.attainable {
            None => write!(
                f,
                "{on_topic:>8.3}  {argumentative:>13.3}  {on_stance:>9.3}"
            ),
            Some([a, b, c]) => write!(
                f,
                "{on_topic:.3} of {a:.3}  {argumentative:.3} of {b:.3}  {on_stance:.3} of {c:.3}"
            ),
        }
    }
}

impl ImageEvaluation {
    /// Whether some topic has fewer relevant images than there are places. Topics without any judgement are ignored.
    fn is_limited(&self) -> bool {
        let mut judged = self.topics.values().filter(|topic| topic.is_judged);
        judged.any(|topic| topic.attainable.both != [2 * DEPTH; 3])
    }

    /// The titles of the columns of [`Cells`].
    fn titles(&self) -> String {
        let titles = ["on topic", "argumentative", "on stance"];
        if self.is_limited() {
            titles.map(|title| format!("{title:>14}")).join("  ")
        } else {
            titles.join("  ")
        }
    }

    fn cells(&self, precision: [f64; 3], attainable: [f64; 3]) -> Cells {
        Cells {
            precision,
            attainable: self.is_limited().then_some(attainable),
        }
    }

    /// The largest counts over the topics that `include` selects, as shares of all places: `places` for each topic.
    fn most(
        &self,
        include: impl Fn(&TopicHits) -> bool,
        counts: impl Fn(&Attainable) -> [usize; 3],
        places: usize,
    ) -> [f64; 3] {
        let (mut sum, mut topics) = ([0; 3], 0);
        for topic in self.topics.values().filter(|t| include(t)) {
            for (sum, count) in sum.iter_mut().zip(counts(&topic.attainable)) {
                *sum += count;
            }
            topics += 1;
        }
        shares(sum, places * topics)
    }
}

impl fmt::Display for ImageEvaluation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (all, in_run) = self.sum(|t| t.in_run, TopicHits::both);
        let (_, judged) = self.sum(|t| t.is_judged, TopicHits::both);
        let of_list = |stance: Stance| {
            let counts = move |most: &Attainable| match stance {
                Stance::Pro => most.pro,
                Stance::Con => most.con,
            };
            let most = self.most(|t| t.in_run, counts, DEPTH);
            self.cells(self.of_stance(stance), most)
        };
        let most = |include: fn(&TopicHits) -> bool| self.most(include, |m| m.both, 2 * DEPTH);
        writeln!(f, "{:<25} topics  {}", "P@10", self.titles())?;
        for (name, topics, cells) in [
            (
                "official: its own topics",
                in_run,
                self.cells(self.official(), most(|t| t.in_run)),
            ),
            ("  PRO lists", in_run, of_list(Stance::Pro)),
            ("  CON lists", in_run, of_list(Stance::Con)),
            (
                "all judged topics",
                judged,
                self.cells(self.all_judged(), most(|t| t.is_judged)),
            ),
        ] {
            writeln!(f, "{name:<25} {topics:>6}  {cells}")?;
        }
        writeln!(
            f,
            "judged: {} of {} images listed; the others count as off topic",
            all.judged, all.listed
        )?;
        if self.is_limited() {
            writeln!(
                f,
                "of: the best that a run can reach, because some topics have fewer relevant\n    images than places"
            )?;
        }
        Ok(())
    }
}

struct ByTopic<'a>(&'a ImageEvaluation);

impl fmt::Display for ByTopic<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<8} {}   PRO    CON  judged", "topic", self.0.titles())?;
        for (topic, hits) in self.0.topics.iter().filter(|(_, t)| t.in_run) {
            let both = hits.both();
            let most = shares(hits.attainable.both, 2 * DEPTH);
            let cells = self.0.cells(both.precision(2 * DEPTH), most);
            let [_, _, pro] = hits.pro.precision(DEPTH);
            let [_, _, con] = hits.con.precision(DEPTH);
            writeln!(
                f,
                "{topic:<8} {cells}  {pro:.3}  {con:.3}  {:>2}/{}",
                both.judged, both.listed
            )?;
        }
        Ok(())
    }
}
