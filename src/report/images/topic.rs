//! Collects the content of a topic's page, from its plan, the evidence and the explanations.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::Result;

use super::super::chart::{Candidate, Scatter};
use super::super::pictures::{Pictures, Size, Source};
use super::super::reason;
use super::super::tree::{Gauge, Row};
use super::super::words::{
    Marker, difference, number, ordinal, shortened, three_decimals, web_address,
};
use super::super::{Body, Change, TopicReport};
use super::view::{Card, GradeView, ImageView, ImagesTopic, Lean, Side, Thumbnail};
use super::view::{LINES, blocks_of, class, facts, gauge, page_view};
use super::{LOOK_ALIKES, LookAlike, LookAlikes, Sources, TopicPlan};
use crate::evidence::{Evidence, PageEvidence};
use crate::topic::question::{self, TopicParts};
use crate::trec::qrels::ImageGrades;
use crate::trec::run::ImageRunLine;
use crate::trec::{DocId, Explanation, Stance};

/// The maximum number of pages shown for an image.
const PAGES: usize = 3;

/// The maximum number of characters of an alternative text.
const ALT: usize = 160;

/// Collects the content of a topic's page.
pub(super) struct PageBuilder<'a> {
    pub(super) sources: &'a Sources<'a>,
    pub(super) plan: &'a TopicPlan<'a>,
    pub(super) look_alikes: &'a LookAlikes,
    pictures: &'a Pictures,
    evidence: HashMap<&'a DocId, Evidence>,
}

impl<'a> PageBuilder<'a> {
    pub(super) fn new(
        sources: &'a Sources<'a>,
        plan: &'a TopicPlan<'a>,
        look_alikes: &'a LookAlikes,
        pictures: &'a Pictures,
    ) -> Result<Self> {
        let mut evidence = HashMap::new();
        if let Some(store) = sources.store {
            for id in plan.shown() {
                if let Some(read) = store.read(id)? {
                    evidence.insert(id, read);
                }
            }
        }
        Ok(PageBuilder {
            sources,
            plan,
            look_alikes,
            pictures,
            evidence,
        })
    }

    pub(super) fn report(&self, thumbnails: usize) -> TopicReport {
        let words = question::read(&self.plan.topic, TopicParts::default()).words;
        let mut marker = Marker::new(&words);
        let shown = self.plan.shown();
        let anchors: Vec<String> = shown.iter().map(|id| self.anchor(id)).collect();
        let mut images: Vec<ImageView> =
            shown.iter().map(|id| self.image(id, &mut marker)).collect();
        for (n, image) in images.iter_mut().enumerate() {
            image.previous = n.checked_sub(1).map(|n| anchors[n].clone());
            image.next = anchors.get(n + 1).cloned();
        }
        let sides = [0, 1].map(|n| self.side(n)).into();
        let thumbnails = [0, 1].map(|n| {
            let list = self.plan.lists[n].iter().take(thumbnails);
            list.filter_map(|line| self.thumbnail(&line.image))
                .collect()
        });
        let missed = self.plan.missed.iter();
        let debate = self.debate(&mut marker);
        let form = self.sources.form;
        let debate_href = debate.as_ref().map(|_| form.debate(&self.plan.topic.id));
        TopicReport {
            topic: self.plan.topic.clone(),
            thumbnails,
            first: None,
            changed: self.plan.changed,
            body: Body::Images(ImagesTopic {
                sides,
                missed: missed.map(|(id, _)| self.missed(id)).collect(),
                more_missed: self
                    .plan
                    .more_missed
                    .iter()
                    .map(|id| self.missed_name(id))
                    .collect(),
                images,
                debate,
                debate_href,
                plot: self.plot(),
                has_leans: shown.iter().any(|id| self.lean(id).is_some()),
                is_judged: self.grades().is_some(),
                against: self.sources.against.map(|(name, _)| name.to_owned()),
            }),
        }
    }

    fn grades(&self) -> Option<&'a BTreeMap<DocId, ImageGrades>> {
        self.sources.judged?.qrels.get(&self.plan.topic.id)
    }

    pub(super) fn anchor(&self, id: &DocId) -> String {
        self.sources.form.anchor(&self.plan.topic.id, &id.0)
    }

    pub(super) fn picture(&self, id: &DocId, size: Size) -> Option<Source> {
        self.pictures.get(id)?.sizes.get(&size).cloned()
    }

    fn thumbnail(&self, id: &DocId) -> Option<Thumbnail> {
        Some(Thumbnail {
            href: self.sources.form.document(&self.plan.topic.id, &id.0),
            alt: self.alt(id),
            source: self.picture(id, Size::Mini)?,
        })
    }

    fn side(&self, n: usize) -> Side {
        let stance = Stance::BOTH[n];
        let list = &self.plan.lists[n];
        let precision = self.sources.judged.and_then(|judged| {
            let hits = judged.evaluation.topics.get(&self.plan.topic.id)?;
            let hits = match stance {
                Stance::Pro => hits.pro,
                Stance::Con => hits.con,
            };
            self.grades()?;
            Some(hits.precision(10).map(three_decimals))
        });
        Side {
            stance,
            class: class(stance),
            cards: list.iter().map(|line| self.listed(line)).collect(),
            precision,
            dropped: self.plan.dropped[n]
                .iter()
                .map(|line| self.dropped(line))
                .collect(),
        }
    }

    pub(super) fn card(&self, id: &DocId, label: String) -> Card {
        Card {
            href: format!("#{}", self.anchor(id)),
            label,
            caption: self.caption(id),
            alt: self.alt(id),
            source: self.picture(id, Size::Card),
            score: None,
            grade: None,
            lean: self.lean(id),
            change: None,
            twins: None,
        }
    }

    fn listed(&self, line: &ImageRunLine) -> Card {
        Card {
            twins: self.left_out(&line.image),
            score: line.score.map(three_decimals),
            grade: self.grade(&line.image, Some(line.stance)),
            change: self.change(line),
            ..self.card(&line.image, line.rank.to_string())
        }
    }

    fn dropped(&self, line: &ImageRunLine) -> Card {
        Card {
            grade: self.grade(&line.image, Some(line.stance)),
            change: Some(self.current_position(&line.image)),
            twins: self.original(&line.image),
            ..self.card(&line.image, format!("was {}", line.rank))
        }
    }

    fn missed(&self, id: &DocId) -> Card {
        Card {
            grade: self.grade(id, None),
            change: Some(self.current_position(id)),
            twins: self.original(id),
            ..self.card(id, "missed".into())
        }
    }

    fn current_position(&self, id: &DocId) -> Change {
        Change {
            class: "gone",
            text: self.brief_position(id),
            title: "its position in this run".into(),
        }
    }

    fn missed_name(&self, id: &DocId) -> String {
        format!("{id} ({})", self.brief_position(id))
    }

    /// How the image's rank differs from that in the other run.
    fn change(&self, line: &ImageRunLine) -> Option<Change> {
        let (name, _) = self.sources.against?;
        let positions = self.plan.other.get(&line.image);
        let positions = positions.map_or(&[][..], Vec::as_slice);
        let here = positions.iter().find(|(stance, _)| *stance == line.stance);
        Some(match (here, positions.first()) {
            (None, Some((stance, rank))) => Change {
                class: "crossed",
                text: format!("from {stance} {rank}"),
                title: format!("on the other side in {name}"),
            },
            _ => Change::between(name, here.map(|(_, rank)| *rank), line.rank),
        })
    }

    fn grade(&self, id: &DocId, stance: Option<Stance>) -> Option<GradeView> {
        let judged = self.sources.judged?;
        let grades = self.grades()?;
        Some(match grades.get(id) {
            None => GradeView {
                class: "unjudged",
                text: "unjudged",
            },
            Some(grades) => {
                let counts = |grade| judged.edition.counts(grade);
                let on_topic = counts(grades.on_topic);
                let [pro, con] = Stance::BOTH.map(|s| on_topic && counts(grades.stance(s)));
                let on_stance = match stance {
                    Some(Stance::Pro) => pro,
                    Some(Stance::Con) => con,
                    None => pro || con,
                };
                let (class, text) = match (on_topic, pro, con, stance) {
                    (false, ..) => ("off", "off topic"),
                    (true, false, false, _) => ("topic", "on topic"),
                    (true, true, true, None) => ("stance", "PRO and CON"),
                    (true, true, false, None) => ("stance", "PRO"),
                    (true, false, true, None) => ("stance", "CON"),
                    (true, .., Some(_)) if on_stance => ("stance", "on stance"),
                    (true, ..) => ("argues", "other stance"),
                };
                GradeView { class, text }
            }
        })
    }

    /// P(pro) and P(con), if the explanation has them.
    fn lean(&self, id: &DocId) -> Option<Lean> {
        let explained = self.plan.explained.get(id)?;
        let [pro, con] = Stance::BOTH.map(|stance| explained.probability(stance));
        let (pro, con) = (pro?, con?);
        let width = |p: f64| 50.0 * p.clamp(0.0, 1.0);
        Some(Lean {
            pro: three_decimals(pro),
            con: three_decimals(con),
            pro_width: format!("{:.1}", width(pro)),
            con_width: format!("{:.1}", width(con)),
            con_x: format!("{:.1}", 100.0 - width(con)),
        })
    }

    /// The position of an image that is not in this list.
    fn brief_position(&self, id: &DocId) -> String {
        if let Some(copy) = self.listed_copy(id) {
            return format!("copy of {}", self.position(copy));
        }
        if !self.lines(id).is_empty() {
            return format!("now {}", self.position(id));
        }
        if let Some(positions) = self.plan.deeper.get(id) {
            return join_positions(positions.iter().copied());
        }
        match self.plan.candidate_ranks.get(id) {
            Some(at) => format!(
                "{} of {} by relevance, {} as PRO, {} as CON",
                ordinal(at.relevance),
                at.of,
                ordinal(at.pro),
                ordinal(at.con)
            ),
            None if self.plan.candidate_ranks.is_empty() => "not in the run".into(),
            None => "not among the candidates".into(),
        }
    }

    /// All positions of an image, one per line: in this run, among the candidates, in the other run.
    fn all_positions(&self, id: &DocId) -> Vec<String> {
        let mut lines = Vec::new();
        for line in self.lines(id) {
            let rank = ordinal(line.rank as usize);
            let score = line.score.map(number);
            let score = score.map_or_else(String::new, |score| format!(", score {score}"));
            lines.push(format!("{rank} in the {} list{score}", line.stance));
        }
        if let Some(positions) = self.plan.deeper.get(id) {
            lines.push(format!(
                "{} in the run",
                join_positions(positions.iter().copied())
            ));
        }
        match self.plan.candidate_ranks.get(id) {
            Some(at) => lines.push(format!(
                "{} of {} candidates by relevance, {} as PRO, {} as CON",
                ordinal(at.relevance),
                at.of,
                ordinal(at.pro),
                ordinal(at.con)
            )),
            None if self.plan.candidate_ranks.is_empty() => {}
            None => lines.push("not among the candidates".into()),
        }
        if let Some((name, _)) = self.sources.against {
            lines.push(match self.plan.other.get(id) {
                Some(positions) => {
                    format!("{} in {name}", join_positions(positions.iter().copied()))
                }
                None => format!("not in {name}"),
            });
        }
        lines
    }

    /// The lines of an image in the lists that are shown.
    pub(super) fn lines(&self, id: &DocId) -> Vec<&ImageRunLine> {
        let lines = self.plan.lists.iter().flatten();
        lines.filter(|line| line.image == *id).copied().collect()
    }

    /// The stance and rank of an image ("PRO 3"), or "not listed".
    pub(super) fn position(&self, id: &DocId) -> String {
        let lines = self.lines(id);
        if lines.is_empty() {
            "not listed".into()
        } else {
            join_positions(lines.iter().map(|line| (line.stance, line.rank)))
        }
    }

    fn first_page(&self, id: &DocId) -> Option<&PageEvidence> {
        self.evidence.get(id)?.pages.first()
    }

    fn caption(&self, id: &DocId) -> String {
        let page = self.first_page(id);
        let title = page
            .map(|page| page.words.title.trim())
            .filter(|title| !title.is_empty());
        shortened(title.unwrap_or(&id.0), 90)
    }

    /// The alternative text of an image: that of its page, else the text in it.
    fn alt(&self, id: &DocId) -> String {
        let alt = self.first_page(id).map(|page| page.words.alt.trim());
        if let Some(alt) = alt.filter(|alt| !alt.is_empty()) {
            return shortened(alt, ALT);
        }
        let read = self
            .evidence
            .get(id)
            .map(|e| e.ocr_text().replace('\n', " "));
        match read.filter(|text| !text.trim().is_empty()) {
            Some(text) => shortened(&format!("Image with the text: {text}"), ALT),
            None => format!("Image {id}"),
        }
    }

    fn image(&self, id: &DocId, marker: &mut Marker) -> ImageView {
        let listed = self.lines(id);
        let stance = listed.first().map(|line| line.stance);
        let pictures = self.pictures.get(id);
        let evidence = self.evidence.get(id);
        let blocks = evidence.map(|evidence| blocks_of(evidence, marker));
        let line_count = evidence.map_or(0, |evidence| evidence.ocr.len());
        let pages = evidence.map_or(&[][..], |e| &e.pages);
        let shown_pages = pages.iter().take(PAGES);
        let shown_pages = shown_pages.map(|page| page_view(page, marker)).collect();
        let url = evidence.map(|e| e.url.clone()).unwrap_or_default();
        let facts = evidence.map(facts).unwrap_or_default();
        let more_pages = pages.len().saturating_sub(PAGES);
        let (gauges, formula, rows) = self.explanation(id, stance);
        let look_alikes = self
            .look_alikes
            .get(id)
            .into_iter()
            .flatten()
            .take(LOOK_ALIKES);
        let (copies, others): (Vec<_>, Vec<_>) = look_alikes.partition(|other| other.is_copy);
        let views =
            |of: Vec<&LookAlike>| of.into_iter().map(|other| self.look_alike(other)).collect();
        ImageView {
            anchor: self.anchor(id),
            id: id.0.clone(),
            class: stance.map_or("none", class),
            position: self.position(id),
            previous: None,
            next: None,
            alt: self.alt(id),
            source: self.picture(id, Size::Whole),
            fault: pictures.and_then(|p| p.fault.clone()),
            width: pictures.map_or(0, |p| p.width),
            height: pictures.map_or(0, |p| p.height),
            blocks: blocks.unwrap_or_default(),
            line_count,
            more_lines: line_count.saturating_sub(LINES),
            positions: self.all_positions(id),
            grade: self.grade(id, stance),
            reason: self.reason(id),
            gauges,
            like: self.like(id, marker),
            formula,
            rows,
            pages: shown_pages,
            more_pages,
            copy_of: self.listed_copy(id).map(|copy| self.twin(copy)),
            copies: views(copies),
            look_alikes: views(others),
            facts,
            link: web_address(&url),
            url: shortened(&url, 300),
        }
    }

    /// Why an image has its place, by the explanation of its score.
    fn reason(&self, id: &DocId) -> Option<String> {
        let explained = self.plan.explained.get(id)?;
        let by_relevance = self.plan.candidate_ranks.get(id)?.relevance;
        let original = explained.copy_of.as_ref();
        let original = original.and_then(|original| self.plan.explained.get(original));
        let candidates = &self.plan.candidates;
        reason::image::sentence(explained, candidates, by_relevance, original.copied())
    }

    /// The numbers behind an image's score: as bars, as a formula, and as the trees of its explanation.
    fn explanation(
        &self,
        id: &DocId,
        stance: Option<Stance>,
    ) -> (Vec<Gauge>, Option<String>, Vec<Row>) {
        let Some(explained) = self.plan.explained.get(id) else {
            return (Vec::new(), None, Vec::new());
        };
        let best = || {
            let score = |s: &Stance| {
                let score = explained.score(*s);
                score.map_or(f64::NEG_INFINITY, Explanation::value)
            };
            let [pro, con] = Stance::BOTH;
            if score(&con) > score(&pro) { con } else { pro }
        };
        let stance = stance.unwrap_or_else(best);
        let other = match stance {
            Stance::Pro => Stance::Con,
            Stance::Con => Stance::Pro,
        };
        let titled =
            |score: &Explanation, stance: Stance| score.clone().named(format!("score as {stance}"));
        let (first, second) = (explained.score(stance), explained.score(other));
        let mut rows = Vec::new();
        let mut gauges = Vec::new();
        if let Some(score) = first {
            rows.push(Row::new(&titled(score, stance)));
            gauges.extend(score.parts().iter().filter_map(gauge));
        }
        if let Some(score) = second {
            rows.push(match first {
                Some(first) => Row::without_repeats(&titled(score, other), first),
                None => Row::new(&titled(score, other)),
            });
            let is_new = |part: &&Explanation| {
                let above = first.zip(part.id());
                above.is_none_or(|(first, id)| first.part(id).is_none())
            };
            gauges.extend(score.parts().iter().filter(is_new).filter_map(gauge));
        }
        let formula = first
            .filter(|score| !score.parts().is_empty())
            .map(|score| format!("{} = {}", number(score.value()), score.how()));
        (gauges, formula, rows)
    }

    /// The plot of all candidates of the topic.
    fn plot(&self) -> Option<Scatter> {
        let grades = self.grades();
        let shown: BTreeSet<&DocId> = self.plan.shown().into_iter().collect();
        let mut explained: Vec<_> = self.plan.explained.values().collect();
        explained.sort_by_key(|c| &c.image);
        let candidates = explained.into_iter().filter_map(|candidate| {
            let relevance = candidate.relevance()?;
            let [pro, con] = Stance::BOTH.map(|stance| candidate.probability(stance));
            let lean = pro? - con?;
            let id = &candidate.image;
            let lines = self.lines(id);
            let is_relevant = self
                .sources
                .judged
                .zip(grades)
                .is_some_and(|(judged, grades)| {
                    grades
                        .get(id)
                        .is_some_and(|g| judged.edition.counts(g.on_topic))
                });
            let position = self.position(id);
            Some(Candidate {
                relevance: relevance.value(),
                lean,
                list: lines.first().map_or("none", |line| class(line.stance)),
                is_relevant,
                title: format!(
                    "{position}: {id}, relevance {}, P(pro) − P(con) {}",
                    three_decimals(relevance.value()),
                    difference(lean)
                ),
                href: shown.contains(id).then(|| format!("#{}", self.anchor(id))),
            })
        });
        Scatter::new(candidates.collect())
    }
}

/// Joins stances and ranks: "PRO 3, CON 7".
fn join_positions(positions: impl Iterator<Item = (Stance, u32)>) -> String {
    let positions: Vec<String> = positions
        .map(|(stance, rank)| format!("{stance} {rank}"))
        .collect();
    positions.join(", ")
}
