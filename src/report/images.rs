//! The image task's report: for each topic the two lists, what was missed, and every image opened. First a plan of what is
//! shown, then the pictures that it needs, then the pages.

mod topic;
mod view;

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use anyhow::Result;

use super::pictures::{self, Pictures, Place, Size, Wanted};
use super::{Form, TopicReport, all_topics, by_topic};
use crate::collection::images::ImageCollection;
use crate::evidence::picture::hamming;
use crate::evidence::store::Store;
use crate::judge::Edition;
use crate::judge::evaluate::ImageEvaluation;
use crate::score::select::SAME_PICTURE_BITS;
use crate::trec::explained::ExplainedImage;
use crate::trec::qrels::{ImageGrades, ImageQrels};
use crate::trec::run::ImageRunLine;
use crate::trec::topic::Topic;
use crate::trec::{DocId, Stance, TopicId};
use topic::TopicView;
pub use view::{ImagesTopic, Mini};

/// What the report is made from.
pub struct Sources<'a> {
    pub collection: &'a ImageCollection,
    /// None if nothing is stored.
    pub store: Option<&'a Store>,
    pub topics: &'a [Topic],
    pub run: &'a [ImageRunLine],
    pub against: Option<(&'a str, &'a [ImageRunLine])>,
    /// Of this run; empty if there are none.
    pub explained: &'a [ExplainedImage],
    pub judged: Option<Judged<'a>>,
    /// Images of a list that are shown.
    pub depth: usize,
    pub form: Form,
}

/// Judgements, and what they say of the run.
#[derive(Clone, Copy)]
pub struct Judged<'a> {
    pub qrels: &'a ImageQrels,
    pub edition: Edition,
    pub evaluation: &'a ImageEvaluation,
}

/// Judged images that the run lacks are shown up to this number a topic; the others are named.
const MISSED: usize = 6;

/// Images that look the same are shown up to this number.
const COPIES: usize = 6;

/// Images of a list in the table of topics, in all: the fewer topics, the more each has.
const MINIS: usize = 48;
const MOST_MINIS: usize = 4;

/// What is shown of a topic, before there are pictures.
pub struct Plan<'a> {
    topic: Topic,
    lists: [Vec<&'a ImageRunLine>; 2],
    /// Places in the run of images that are not shown in its lists.
    deeper: HashMap<&'a DocId, Vec<(Stance, u32)>>,
    gone: [Vec<&'a ImageRunLine>; 2],
    other: HashMap<&'a DocId, Vec<(Stance, u32)>>,
    missed: Vec<(&'a DocId, ImageGrades)>,
    more_missed: Vec<&'a DocId>,
    explained: HashMap<&'a DocId, &'a ExplainedImage>,
    standings: HashMap<&'a DocId, Standing>,
    changed: Option<usize>,
}

/// Where a candidate stands among all of its topic, from 1.
#[derive(Clone, Copy, Debug)]
struct Standing {
    relevance: usize,
    pro: usize,
    con: usize,
    of: usize,
}

/// Which images look the same, of those that are shown.
pub type Copies = HashMap<DocId, Vec<(DocId, u32)>>;

/// What is shown: of each topic, and which images look the same.
pub fn plan<'a>(sources: &Sources<'a>) -> Result<(Vec<Plan<'a>>, Copies)> {
    let against = sources.against.map_or(&[][..], |(_, lines)| lines);
    let in_runs = sources.run.iter().chain(against).map(|line| &line.topic);
    let mut explained = by_topic(sources.explained, |image| &image.topic);
    let runs = by_topic(sources.run, |line| &line.topic);
    let others = by_topic(against, |line| &line.topic);
    let plans: Vec<Plan> = all_topics(sources.topics, in_runs)
        .into_iter()
        .map(|topic| {
            let of = |runs: &HashMap<&TopicId, Vec<&'a ImageRunLine>>| {
                lists(runs.get(&topic.id).map_or(&[], Vec::as_slice))
            };
            let (own, other) = (of(&runs), of(&others));
            let candidates = explained.remove(&topic.id).unwrap_or_default();
            plan_topic(topic, own, other, candidates, sources)
        })
        .collect();
    let copies = copies(sources.store, &plans)?;
    Ok((plans, copies))
}

/// A topic's lines as PRO and CON, by rank; a repeated image stands once.
fn lists<'a>(lines: &[&'a ImageRunLine]) -> [Vec<&'a ImageRunLine>; 2] {
    Stance::BOTH.map(|stance| {
        let mut list: Vec<_> = lines
            .iter()
            .copied()
            .filter(|l| l.stance == stance)
            .collect();
        list.sort_by_key(|line| line.rank);
        let mut seen = BTreeSet::new();
        list.retain(|line| seen.insert(&line.image));
        list
    })
}

fn plan_topic<'a>(
    topic: Topic,
    mut own: [Vec<&'a ImageRunLine>; 2],
    mut others: [Vec<&'a ImageRunLine>; 2],
    candidates: Vec<&'a ExplainedImage>,
    sources: &Sources<'a>,
) -> Plan<'a> {
    let mut deeper: HashMap<&DocId, Vec<(Stance, u32)>> = HashMap::new();
    for list in &mut own {
        for line in list.split_off(sources.depth.min(list.len())) {
            let places = deeper.entry(&line.image).or_default();
            places.push((line.stance, line.rank));
        }
    }
    for list in &mut others {
        list.truncate(sources.depth);
    }
    let mut other: HashMap<&DocId, Vec<(Stance, u32)>> = HashMap::new();
    for line in others.iter().flatten() {
        let places = other.entry(&line.image).or_default();
        places.push((line.stance, line.rank));
    }
    let mut gone = others;
    for (gone, own) in gone.iter_mut().zip(&own) {
        gone.retain(|line| !own.iter().any(|o| o.image == line.image));
    }
    let changed = sources.against.map(|_| {
        let new = |line: &&&ImageRunLine| {
            let places = other.get(&line.image);
            !places.is_some_and(|places| places.iter().any(|(stance, _)| *stance == line.stance))
        };
        own.iter().flatten().filter(new).count()
    });
    let standings = standings(&candidates);
    let listed: BTreeSet<&DocId> = own.iter().flatten().map(|line| &line.image).collect();
    let mut missed: Vec<(&DocId, ImageGrades)> = Vec::new();
    if let Some(judged) = sources.judged
        && let Some(grades) = judged.qrels.get(&topic.id)
    {
        let relevant = grades
            .iter()
            .filter(|(id, grades)| judged.edition.counts(grades.on_topic) && !listed.contains(id));
        missed = relevant.map(|(id, grades)| (id, *grades)).collect();
        let place = |id: &DocId| standings.get(id).map_or(usize::MAX, |s| s.relevance);
        missed.sort_by_key(|(id, _)| (place(id), *id));
    }
    let more_missed = missed.split_off(missed.len().min(MISSED));
    Plan {
        topic,
        lists: own,
        deeper,
        gone,
        other,
        missed,
        more_missed: more_missed.into_iter().map(|(id, _)| id).collect(),
        explained: candidates.into_iter().map(|c| (&c.image, c)).collect(),
        standings,
        changed,
    }
}

/// Places by relevance (the order in which a ranking writes its candidates) and by worth in either list.
fn standings<'a>(candidates: &[&'a ExplainedImage]) -> HashMap<&'a DocId, Standing> {
    let by_worth = |stance: Stance| -> HashMap<&DocId, usize> {
        let worth = |c: &ExplainedImage| c.score(stance).map_or(f64::NEG_INFINITY, |w| w.value);
        let mut order: Vec<&&ExplainedImage> = candidates.iter().collect();
        order.sort_by(|a, b| {
            worth(b)
                .total_cmp(&worth(a))
                .then_with(|| a.image.cmp(&b.image))
        });
        order.into_iter().map(|c| &c.image).zip(1..).collect()
    };
    let (pro, con) = (by_worth(Stance::Pro), by_worth(Stance::Con));
    (1..)
        .zip(candidates)
        .map(|(relevance, candidate)| {
            let id = &candidate.image;
            let standing = Standing {
                relevance,
                pro: pro.get(id).copied().unwrap_or(0),
                con: con.get(id).copied().unwrap_or(0),
                of: candidates.len(),
            };
            (id, standing)
        })
        .collect()
}

impl Plan<'_> {
    /// Every image that has a view of its own, in the order of the page.
    fn shown(&self) -> Vec<&DocId> {
        let mut seen = BTreeSet::new();
        let lists = self.lists.iter().chain(&self.gone).flatten();
        let ids = lists.map(|line| &line.image);
        let ids = ids.chain(self.missed.iter().map(|(id, _)| *id));
        ids.filter(|id| seen.insert(*id)).collect()
    }

    fn minis(&self, count: usize) -> impl Iterator<Item = &DocId> {
        let lists = self.lists.iter();
        lists.flat_map(move |list| list.iter().take(count).map(|line| &line.image))
    }
}

fn minis_a_list(topics: usize) -> usize {
    (MINIS / topics.max(1)).clamp(1, MOST_MINIS)
}

/// Compares the images that are shown with all that are stored.
fn copies(store: Option<&Store>, plans: &[Plan]) -> Result<Copies> {
    let Some(store) = store else {
        return Ok(Copies::new());
    };
    let hashes = store.perceptual_hashes()?;
    let by_id: HashMap<&DocId, u64> = hashes.iter().map(|(id, hash)| (id, *hash)).collect();
    let shown: BTreeSet<&DocId> = plans.iter().flat_map(Plan::shown).collect();
    let mut copies = Copies::new();
    for id in shown {
        let Some(own) = by_id.get(id) else { continue };
        let mut alike: Vec<(DocId, u32)> = hashes
            .iter()
            .map(|(other, hash)| (other, hamming(*own, *hash)))
            .filter(|(other, bits)| *bits <= SAME_PICTURE_BITS && *other != id)
            .map(|(other, bits)| (other.clone(), bits))
            .collect();
        if !alike.is_empty() {
            alike.sort_by_key(|(_, bits)| *bits);
            copies.insert(id.clone(), alike);
        }
    }
    Ok(copies)
}

/// The pictures that the pages show.
pub fn wanted(plans: &[Plan], copies: &Copies) -> Wanted {
    let mut wanted = Wanted::default();
    for plan in plans {
        for id in plan.minis(minis_a_list(plans.len())) {
            wanted.add(id, Size::Mini);
        }
        for id in plan.shown() {
            wanted.add(id, Size::Card);
            wanted.add(id, Size::Whole);
            for (copy, _) in copies.get(id).into_iter().flatten().take(COPIES) {
                wanted.add(copy, Size::Card);
            }
        }
    }
    wanted
}

/// Makes the pictures of a report; see [`pictures::make`].
pub fn make_pictures(
    sources: &Sources,
    wanted: &Wanted,
    place: Place,
    done: &mut (dyn FnMut(usize) + Send),
) -> Result<Pictures> {
    let entries = sources.collection.entries();
    let files = |id: &DocId| -> Option<Vec<PathBuf>> {
        let at = entries.binary_search_by(|entry| entry.id.cmp(id)).ok()?;
        Some(entries[at].list(&mut Vec::new()).images)
    };
    pictures::make(wanted, files, place, done)
}

/// The topics' pages, from what is stored of the images.
pub fn topics(
    sources: &Sources,
    plans: &[Plan],
    copies: &Copies,
    pictures: &Pictures,
) -> Result<Vec<TopicReport>> {
    let minis = minis_a_list(plans.len());
    let mut topics = Vec::with_capacity(plans.len());
    for plan in plans {
        topics.push(TopicView::new(sources, plan, copies, pictures)?.report(minis));
    }
    Ok(topics)
}
