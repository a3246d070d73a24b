//! The report of the image task: for each topic the two lists, the relevant images that they miss, and the details of each image.
//! First a plan decides what is shown, then the pictures for it are made, then the pages.

mod copies;
mod debate;
mod topic;
mod view;

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use anyhow::Result;
use riposte_eval::explained::ExplainedImage;
use riposte_eval::images::ImageEvaluation;
use riposte_eval::qrels::{ImageGrades, ImageQrels};
use riposte_eval::run::ImageRunLine;
use riposte_eval::topic::Topic;
use riposte_eval::{DocId, Explanation, Stance};

use super::TopicReport;
use super::pictures::{self, Destination, PictureList, ReportPictures, Size};
use super::place::ReportPlace;
use super::reason::image::CandidateFacts;
use super::shown::{OfTopic, ShownRun, by_rank};
use crate::collection::images::ImageCollection;
use crate::events::OnThreadEvent;
use crate::evidence::Channel;
use crate::evidence::ocr::Ocr;
use crate::evidence::picture::{PictureChannel, PictureStatistics, hamming};
use crate::evidence::store::Store;
use crate::score::picture_text::PictureWords;
use crate::score::select::{SAME_PICTURE_BITS, is_same_picture};
pub(crate) use debate::sheet;
use topic::PageBuilder;
pub(crate) use view::{Gauge, ImagesTopic, NOT_LISTED, SheetView, Thumbnail};

/// The data from which the report is made.
pub(crate) struct ImageReportData<'a> {
    pub collection: &'a ImageCollection,
    /// `None` if there is no evidence.
    pub store: Option<&'a Store>,
    pub run: &'a ShownRun<ImageRunLine>,
    /// Judgements, and the evaluation of the run by them.
    pub judged: Option<(&'a ImageQrels, &'a ImageEvaluation)>,
    pub place: &'a ReportPlace,
}

/// The number of images shown of a list, unless the user chooses another.
const DEPTH: usize = 10;

/// The number of relevant images shown for a topic that the run does not have. Others are only named.
const MISSED: usize = 6;

/// The maximum number of look-alikes that are shown for an image.
const LOOK_ALIKES: usize = 6;

/// The number of thumbnails of all topics' PRO lists (or CON lists) in the table of topics, and the maximum for each topic.
const THUMBNAILS: usize = 48;
const TOPIC_THUMBNAILS: usize = 4;

/// What is shown for a topic, decided before the pictures are made.
pub(crate) struct TopicPlan<'a> {
    topic: Topic,
    lists: [Vec<&'a ImageRunLine>; 2],
    /// The stances and ranks of images that are in the run, but below the depth that is shown.
    deeper: HashMap<&'a DocId, Vec<(Stance, u32)>>,
    dropped: [Vec<&'a ImageRunLine>; 2],
    other: HashMap<&'a DocId, Vec<(Stance, u32)>>,
    missed: Vec<&'a DocId>,
    more_missed: Vec<&'a DocId>,
    explained: HashMap<&'a DocId, &'a ExplainedImage>,
    candidate_ranks: HashMap<&'a DocId, CandidateRanks>,
    /// The facts that concern all candidates of the topic.
    candidates: CandidateFacts,
    changed: Option<usize>,
}

/// The ranks of a candidate among all candidates of its topic, from 1.
#[derive(Clone, Copy, Debug)]
struct CandidateRanks {
    relevance: usize,
    pro: usize,
    con: usize,
    of: usize,
}

/// An image that looks the same as another one.
pub(crate) struct LookAlike {
    pub id: DocId,
    /// The number of bits, of 64, in which the perceptual hashes differ.
    pub bits: u32,
    /// Whether the texts in both also agree: then a ranking keeps only one of them.
    pub is_copy: bool,
}

/// For each image that is shown, the images that look the same: copies first, then by distance.
pub(crate) type LookAlikes = HashMap<DocId, Vec<LookAlike>>;

/// Decides what is shown for each topic, and finds look-alikes. Errors: the evidence cannot be read.
pub fn plan<'a>(sources: &ImageReportData<'a>) -> Result<(Vec<TopicPlan<'a>>, LookAlikes)> {
    let topics = sources.run.by_topic().into_iter();
    let plans: Vec<TopicPlan> = topics.map(|topic| plan_topic(topic, sources)).collect();
    let look_alikes = look_alikes(sources.store, &plans)?;
    Ok((plans, look_alikes))
}

fn plan_topic<'a>(
    of_topic: OfTopic<'a, ImageRunLine>,
    sources: &ImageReportData<'a>,
) -> TopicPlan<'a> {
    let (topic, explained) = (of_topic.topic, of_topic.explained);
    // a PRO and a CON list
    let lists = |lines: Vec<&'a ImageRunLine>| {
        let of_side = |stance| lines.iter().copied().filter(move |l| l.stance == stance);
        Stance::BOTH.map(|stance| by_rank(of_side(stance)))
    };
    let (mut own, mut dropped) = (lists(of_topic.own), lists(of_topic.other));
    let depth = sources.place.depth.unwrap_or(DEPTH);
    let cut = |list: &mut Vec<&'a ImageRunLine>| list.split_off(depth.min(list.len()));
    let deeper = positions(own.iter_mut().flat_map(cut));
    dropped.iter_mut().for_each(|list| drop(cut(list)));
    let other = positions(dropped.iter().flatten().copied());
    for (dropped, own) in dropped.iter_mut().zip(&own) {
        dropped.retain(|line| !own.iter().any(|o| o.image == line.image));
    }
    let changed = sources.run.other().map(|_| {
        let is_there = |line: &ImageRunLine| {
            let mut positions = other.get(&line.image).into_iter().flatten();
            positions.any(|(stance, _)| *stance == line.stance)
        };
        own.iter().flatten().filter(|line| !is_there(line)).count()
    });
    let candidate_ranks = rank_candidates(&explained);
    let listed: BTreeSet<&DocId> = own.iter().flatten().map(|line| &line.image).collect();
    let counts = |grades: &ImageGrades| sources.place.edition.counts(grades.on_topic);
    let judged = sources.judged.and_then(|(qrels, _)| qrels.get(&topic.id));
    let relevant = judged.into_iter().flatten().filter(|(_, of)| counts(of));
    let mut missed: Vec<&DocId> = relevant.map(|(id, _)| id).collect();
    missed.retain(|id| !listed.contains(id));
    let position = |id: &DocId| candidate_ranks.get(id).map_or(usize::MAX, |s| s.relevance);
    missed.sort_by_key(|id| (position(id), *id));
    let more_missed = missed.split_off(missed.len().min(MISSED));
    TopicPlan {
        topic,
        lists: own,
        deeper,
        dropped,
        other,
        missed,
        more_missed,
        candidates: CandidateFacts::new(explained.iter().copied()),
        explained: explained.into_iter().map(|c| (&c.image, c)).collect(),
        candidate_ranks,
        changed,
    }
}

/// The stances and ranks of each image.
fn positions<'a>(
    lines: impl Iterator<Item = &'a ImageRunLine>,
) -> HashMap<&'a DocId, Vec<(Stance, u32)>> {
    let mut positions: HashMap<&DocId, Vec<(Stance, u32)>> = HashMap::new();
    for line in lines {
        let of_image = positions.entry(&line.image).or_default();
        of_image.push((line.stance, line.rank));
    }
    positions
}

/// The ranks of candidates by relevance, which is the order in which a ranking writes them, and by their scores for both lists.
fn rank_candidates<'a>(candidates: &[&'a ExplainedImage]) -> HashMap<&'a DocId, CandidateRanks> {
    let by_score = |stance: Stance| {
        let score = |c: &ExplainedImage| {
            let score = c.score(stance);
            score.map_or(f64::NEG_INFINITY, Explanation::value)
        };
        let mut order = candidates.to_vec();
        order.sort_by(|a, b| {
            let by_score = score(b).total_cmp(&score(a));
            by_score.then_with(|| a.image.cmp(&b.image))
        });
        let ids = order.into_iter().map(|candidate| &candidate.image);
        ids.zip(1..).collect::<HashMap<&DocId, usize>>()
    };
    let by_score = Stance::BOTH.map(by_score);
    let ids = candidates.iter().map(|candidate| &candidate.image);
    let ranks = (1..).zip(ids).map(|(relevance, id)| {
        let [pro, con] = [0, 1].map(|side| by_score[side].get(id).copied().unwrap_or(0));
        let of = candidates.len();
        let ranks = CandidateRanks {
            relevance,
            pro,
            con,
            of,
        };
        (id, ranks)
    });
    ranks.collect()
}

impl TopicPlan<'_> {
    /// All images whose details are shown, in the order of the page.
    fn shown(&self) -> Vec<&DocId> {
        let mut seen = BTreeSet::new();
        let lists = self.lists.iter().chain(&self.dropped).flatten();
        let ids = lists.map(|line| &line.image);
        let ids = ids.chain(self.missed.iter().copied());
        ids.filter(|id| seen.insert(*id)).collect()
    }

    fn thumbnails(&self, count: usize) -> impl Iterator<Item = &DocId> {
        let lists = self.lists.iter();
        lists.flat_map(move |list| list.iter().take(count).map(|line| &line.image))
    }
}

/// The number of thumbnails in each topic's PRO list and CON list.
fn thumbnails_per_list(topics: usize) -> usize {
    (THUMBNAILS / topics.max(1)).clamp(1, TOPIC_THUMBNAILS)
}

/// Finds the look-alikes of all images that are shown, by perceptual hash, and compares the texts in them.
fn look_alikes(store: Option<&Store>, plans: &[TopicPlan]) -> Result<LookAlikes> {
    let Some(store) = store else {
        return Ok(LookAlikes::new());
    };
    let mut texts: HashMap<DocId, Option<PictureWords>> = HashMap::new();
    let hashes = store.perceptual_hashes()?;
    let by_id: HashMap<&DocId, u64> = hashes.iter().map(|(id, hash)| (id, *hash)).collect();
    let shown: BTreeSet<&DocId> = plans.iter().flat_map(TopicPlan::shown).collect();
    let mut look_alikes = LookAlikes::new();
    for id in shown {
        let Some(own) = by_id.get(id) else { continue };
        let mut alike = Vec::new();
        for (other, hash) in &hashes {
            let bits = hamming(*own, *hash);
            if bits > SAME_PICTURE_BITS || other == id {
                continue;
            }
            for image in [id, other] {
                if !texts.contains_key(image) {
                    texts.insert(image.clone(), text_in(store, image)?);
                }
            }
            let of = |image| texts.get(image).and_then(Option::as_ref);
            alike.push(LookAlike {
                id: other.clone(),
                bits,
                is_copy: is_same_picture([Some(*own), Some(*hash)], [of(id), of(other)]),
            });
        }
        if !alike.is_empty() {
            alike.sort_by_key(|other| (!other.is_copy, other.bits));
            look_alikes.insert(id.clone(), alike);
        }
    }
    Ok(look_alikes)
}

/// The text in an image's picture; `None` if it was not read.
fn text_in(store: &Store, id: &DocId) -> Result<Option<PictureWords>> {
    if !store.has_channel(id, Ocr.name())? {
        return Ok(None);
    }
    let evidence = store.read_by(id, &[&Ocr, &PictureChannel])?;
    Ok(evidence.and_then(|evidence| {
        let width = evidence.get::<PictureStatistics>()?.width;
        Some(PictureWords::new(evidence.list(), width))
    }))
}

/// The pictures that the pages show.
pub(crate) fn picture_list(plans: &[TopicPlan], look_alikes: &LookAlikes) -> PictureList {
    let mut list = PictureList::default();
    for plan in plans {
        for id in plan.thumbnails(thumbnails_per_list(plans.len())) {
            list.add(id, Size::Mini);
        }
        for id in plan.shown() {
            list.add(id, Size::Card);
            list.add(id, Size::Whole);
            for other in look_alikes.get(id).into_iter().flatten().take(LOOK_ALIKES) {
                list.add(&other.id, Size::Card);
            }
        }
    }
    list
}

/// Makes the pictures of the report; see [`pictures::make`].
pub(crate) fn make_pictures(
    sources: &ImageReportData,
    list: &PictureList,
    destination: Destination,
    on_event: &mut OnThreadEvent,
) -> Result<ReportPictures> {
    let entries = &sources.collection.entries;
    let files = |id: &DocId| -> Option<Vec<PathBuf>> {
        let at = entries.binary_search_by(|entry| entry.id.cmp(id)).ok()?;
        Some(entries[at].list(&mut Vec::new()).images)
    };
    pictures::make(list, files, destination, on_event)
}

/// Makes the pages of all topics. Errors: the evidence cannot be read.
pub fn topics(
    sources: &ImageReportData,
    plans: &[TopicPlan],
    look_alikes: &LookAlikes,
    pictures: &ReportPictures,
) -> Result<Vec<TopicReport>> {
    let thumbnails = thumbnails_per_list(plans.len());
    let report = |plan| {
        let builder = PageBuilder::new(sources, plan, look_alikes, pictures)?;
        Ok(builder.report(thumbnails))
    };
    plans.iter().map(report).collect()
}
