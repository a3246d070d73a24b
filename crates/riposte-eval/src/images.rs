//! Precision of image runs at ten results for each topic and stance.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::attainable::{Attainable, DEPTH, relevance};
use crate::edition::Edition;
use crate::measure::ImageMeasure;
use crate::qrels::ImageQrels;
use crate::run::ImageRunLine;
use crate::values::{Aggregation, MeasureValues, prototext};
use crate::{Stance, TopicId};

/// Counts over the first ten images of a list, or of several lists. An image that was not judged counts as off topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// On topic; of these, argumentative; and on topic and of the stance of the list.
    pub relevant: [usize; 3],
    /// Judged for this topic.
    pub judged: usize,
    /// All images, at most ten per list.
    pub listed: usize,
}

impl Hits {
    fn and(self, other: Hits) -> Hits {
        Hits {
            relevant: sums(self.relevant, other.relevant),
            judged: self.judged + other.judged,
            listed: self.listed + other.listed,
        }
    }

    /// The shares of images on topic, argumentative and on stance, among `places` places; 0 if there are none.
    pub fn precision(&self, places: usize) -> [f64; 3] {
        shares(self.relevant, places)
    }
}

fn sums(a: [usize; 3], b: [usize; 3]) -> [usize; 3] {
    [0, 1, 2].map(|at| a[at] + b[at])
}

/// The counts as shares of this number of places; 0 if there are none.
fn shares(hits: [usize; 3], places: usize) -> [f64; 3] {
    hits.map(|hits| hits as f64 / places.max(1) as f64)
}

/// The number of places of a topic that P@10 counts: those of one list, or of both.
fn places(list: Option<Stance>) -> usize {
    list.map_or(2 * DEPTH, |_| DEPTH)
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
    /// Of the PRO list and of the CON list.
    lists: [Hits; 2],
    /// Whether the run has an image for the topic.
    pub in_run: bool,
    /// Whether an image was judged for the topic.
    pub is_judged: bool,
    /// The largest numbers that lists could reach with the judgements.
    attainable: Attainable,
}

impl TopicHits {
    /// The counts of a list, or the sum of both.
    pub fn of(&self, list: Option<Stance>) -> Hits {
        let [pro, con] = self.lists;
        list.map_or_else(|| pro.and(con), |stance| self.lists[stance as usize])
    }

    fn attainable(&self, list: Option<Stance>) -> [usize; 3] {
        let most = &self.attainable;
        list.map_or(most.both, |stance| most.lists[stance as usize])
    }
}

/// Counts and shares over several topics.
struct Total {
    topics: usize,
    hits: Hits,
    precision: [f64; 3],
    attainable: [f64; 3],
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
            let relevant = relevance(grades, stance, edition).map(usize::from);
            hits.relevant = sums(hits.relevant, relevant);
        }
        let topic = topics.entry(topic.clone()).or_default();
        topic.in_run = true;
        topic.lists[stance as usize] = hits;
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
        self.total(|topic| topic.in_run, None).precision
    }

    /// P@10 over the 20 places of each judged topic. Topics that the run leaves out count as zero.
    pub fn all_judged(&self) -> [f64; 3] {
        self.total(|topic| topic.is_judged, None).precision
    }

    /// P@10 over the 10 places of this stance, for each topic in the run.
    pub fn of_stance(&self, stance: Stance) -> [f64; 3] {
        self.total(|topic| topic.in_run, Some(stance)).precision
    }

    /// The value of a measure for each topic that it counts, and their mean.
    pub fn measure(&self, measure: &ImageMeasure) -> MeasureValues {
        self.values(measure, |topic, list| topic.of(list).relevant)
    }

    /// The highest value of a measure that a run can reach with these judgements, as [`measure`](Self::measure) counts.
    pub fn attainable(&self, measure: &ImageMeasure) -> MeasureValues {
        self.values(measure, TopicHits::attainable)
    }

    /// For each topic that the measure counts: which share of its places have images that the measure's question is true of, by `counts`.
    fn values(
        &self,
        measure: &ImageMeasure,
        counts: impl Fn(&TopicHits, Option<Stance>) -> [usize; 3],
    ) -> MeasureValues {
        let is_counted = |topic: &TopicHits| match measure.all_judged {
            true => topic.is_judged,
            false => topic.in_run,
        };
        let value = |topic: &TopicHits| {
            let shares = shares(counts(topic, measure.list), places(measure.list));
            shares[measure.question as usize]
        };
        let topics = self.topics.iter().filter(|(_, topic)| is_counted(topic));
        let values = topics.map(|(id, topic)| (id.clone(), value(topic)));
        MeasureValues::new(values.collect(), Aggregation::Mean)
    }

    /// The measures in the format of the organisers' evaluator (`evaluation.prototext`).
    pub fn prototext(&self) -> String {
        let names = [
            "topicRelevanceP@10",
            "argumentativenessP@10",
            "stanceRelevanceP@10",
        ];
        let values = self.official().map(|value| format!("{value:.3}"));
        prototext(names.into_iter().zip(values))
    }

    /// The table that the organisers' evaluator prints: comma-separated values with a header, and a line of precisions for each topic of the run.
    pub fn organisers_table(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(|f| {
            let names = ["onTopic", "argumentative", "onStance"];
            write!(f, "topic")?;
            for list in ["", "Pro", "Con"] {
                for name in names {
                    write!(f, ",{name}{list}")?;
                }
            }
            writeln!(f)?;
            for (id, topic) in self.topics.iter().filter(|(_, topic)| topic.in_run) {
                write!(f, "{id}")?;
                for list in [None, Some(Stance::Pro), Some(Stance::Con)] {
                    for share in topic.of(list).precision(places(list)) {
                        write!(f, ",{share:.2}")?;
                    }
                }
                writeln!(f)?;
            }
            Ok(())
        })
    }

    /// The counts of a list, or of both, over the topics that `include` selects.
    fn total(&self, include: fn(&TopicHits) -> bool, list: Option<Stance>) -> Total {
        let (mut hits, mut attainable, mut topics) = (Hits::default(), [0; 3], 0);
        for topic in self.topics.values().filter(|topic| include(topic)) {
            hits = hits.and(topic.of(list));
            attainable = sums(attainable, topic.attainable(list));
            topics += 1;
        }
        let places = topics * places(list);
        Total {
            topics,
            hits,
            precision: hits.precision(places),
            attainable: shares(attainable, places),
        }
    }

    /// Whether some topic has fewer relevant images than there are places. Topics without any judgement are ignored.
    fn is_limited(&self) -> bool {
        let mut judged = self.topics.values().filter(|topic| topic.is_judged);
        judged.any(|topic| topic.attainable.both != [2 * DEPTH; 3])
    }

    /// The titles of the columns of [`Self::cells`].
    fn titles(&self) -> String {
        let titles = ["on topic", "argumentative", "on stance"];
        match self.is_limited() {
            true => titles.map(|title| format!("{title:>14}")).join("  "),
            false => titles.join("  "),
        }
    }

    /// Precisions, in columns. If some judgements have fewer relevant images than places, each precision is followed by the highest value that a run
    /// can reach.
    fn cells(&self, precision: [f64; 3], attainable: [f64; 3]) -> String {
        let [on_topic, argumentative, on_stance] = precision;
        if !self.is_limited() {
            return format!("{on_topic:>8.3}  {argumentative:>13.3}  {on_stance:>9.3}");
        }
        let [a, b, c] = attainable;
        format!("{on_topic:.3} of {a:.3}  {argumentative:.3} of {b:.3}  {on_stance:.3} of {c:.3}")
    }

    /// The table of the topics in the run, one per line.
    pub fn by_topic(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(|f| {
            writeln!(f, "{:<8} {}   PRO    CON  judged", "topic", self.titles())?;
            for (topic, hits) in self.topics.iter().filter(|(_, t)| t.in_run) {
                let Hits { judged, listed, .. } = hits.of(None);
                let shares = |counts| shares(counts, 2 * DEPTH);
                let most = shares(hits.attainable(None));
                let cells = self.cells(shares(hits.of(None).relevant), most);
                let [pro, con] = hits.lists.map(|list| list.precision(DEPTH)[2]);
                writeln!(
                    f,
                    "{topic:<8} {cells}  {pro:.3}  {con:.3}  {judged:>2}/{listed}"
                )?;
            }
            Ok(())
        })
    }
}

impl fmt::Display for ImageEvaluation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let in_run = |topic: &TopicHits| topic.in_run;
        let is_judged = |topic: &TopicHits| topic.is_judged;
        let (official, all_judged) = (self.total(in_run, None), self.total(is_judged, None));
        let [pro, con] = Stance::BOTH.map(|stance| self.total(in_run, Some(stance)));
        writeln!(f, "{:<25} topics  {}", "P@10", self.titles())?;
        for (name, total) in [
            ("official: its own topics", &official),
            ("  PRO lists", &pro),
            ("  CON lists", &con),
            ("all judged topics", &all_judged),
        ] {
            let cells = self.cells(total.precision, total.attainable);
            writeln!(f, "{name:<25} {:>6}  {cells}", total.topics)?;
        }
        let Hits { judged, listed, .. } = official.hits;
        match listed - judged {
            _ if listed == 0 => {}
            0 => writeln!(f, "all {listed} images in the lists are judged")?,
            others => writeln!(
                f,
                "{judged} of the {listed} images in the lists are judged; the other {others} {} as not on topic",
                if others == 1 { "counts" } else { "count" }
            )?,
        }
        if self.is_limited() {
            writeln!(
                f,
                "after \"of\": what a perfect run has, because some topics have fewer relevant\nimages than the lists have places"
            )?;
        }
        Ok(())
    }
}
