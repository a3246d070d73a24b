//! A topic's page at work: from its plan, stored evidence and explanations to what the templates show.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::Result;

use super::super::chart::{Candidate, Scatter};
use super::super::pictures::{Pictures, Size, Source};
use super::super::tree::Row;
use super::super::words::{Marker, difference, number, shortened, three, web_address};
use super::super::{Body, Change, TopicReport};
use super::view::{Card, CopyView, Gauge, GradeView, ImageView, ImagesTopic, Lean, Mini, Side};
use super::view::{class, facts, gauge, lines_of, page_view};
use super::{COPIES, Copies, Plan, Sources};
use crate::evidence::{Evidence, PageEvidence};
use crate::topic::question::{self, TopicParts};
use crate::trec::qrels::ImageGrades;
use crate::trec::run::ImageRunLine;
use crate::trec::{DocId, Explanation, Stance};

/// Pages that an image stands on, shown.
const PAGES: usize = 3;

/// Characters of an alternative text.
const ALT: usize = 160;

/// A topic at work.
pub(super) struct TopicView<'a> {
    sources: &'a Sources<'a>,
    plan: &'a Plan<'a>,
    copies: &'a Copies,
    pictures: &'a Pictures,
    evidence: HashMap<&'a DocId, Evidence>,
}

impl<'a> TopicView<'a> {
    pub(super) fn new(
        sources: &'a Sources<'a>,
        plan: &'a Plan<'a>,
        copies: &'a Copies,
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
        Ok(TopicView {
            sources,
            plan,
            copies,
            pictures,
            evidence,
        })
    }

    pub(super) fn report(&self, minis: usize) -> TopicReport {
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
        let minis = [0, 1].map(|n| {
            let list = self.plan.lists[n].iter().take(minis);
            list.filter_map(|line| self.mini(&line.image)).collect()
        });
        let missed = self.plan.missed.iter();
        TopicReport {
            topic: self.plan.topic.clone(),
            minis,
            first: None,
            changed: self.plan.changed,
            body: Body::Images(ImagesTopic {
                sides,
                missed: missed.map(|(id, _)| self.missed(id)).collect(),
                more_missed: self
                    .plan
                    .more_missed
                    .iter()
                    .map(|id| self.name_missed(id))
                    .collect(),
                images,
                plot: self.plot(),
                is_judged: self.grades().is_some(),
                against: self.sources.against.map(|(name, _)| name.to_owned()),
            }),
        }
    }

    fn grades(&self) -> Option<&'a BTreeMap<DocId, ImageGrades>> {
        self.sources.judged?.qrels.get(&self.plan.topic.id)
    }

    fn anchor(&self, id: &DocId) -> String {
        self.sources.form.anchor(&self.plan.topic.id, &id.0)
    }

    fn pictured(&self, id: &DocId, size: Size) -> Option<Source> {
        self.pictures.get(id)?.sizes.get(&size).cloned()
    }

    fn mini(&self, id: &DocId) -> Option<Mini> {
        Some(Mini {
            href: self.sources.form.document(&self.plan.topic.id, &id.0),
            alt: self.alt(id),
            source: self.pictured(id, Size::Mini)?,
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
            Some(hits.precision(10).map(three))
        });
        Side {
            stance,
            class: class(stance),
            cards: list.iter().map(|line| self.listed(line)).collect(),
            precision,
            gone: self.plan.gone[n]
                .iter()
                .map(|line| self.gone(line))
                .collect(),
        }
    }

    fn card(&self, id: &DocId, label: String) -> Card {
        Card {
            href: format!("#{}", self.anchor(id)),
            label,
            caption: self.caption(id),
            alt: self.alt(id),
            source: self.pictured(id, Size::Card),
            score: None,
            grade: None,
            lean: self.lean(id),
            change: None,
        }
    }

    fn listed(&self, line: &ImageRunLine) -> Card {
        Card {
            score: Some(three(line.score)),
            grade: self.grade(&line.image, Some(line.stance)),
            change: self.change(line),
            ..self.card(&line.image, line.rank.to_string())
        }
    }

    fn gone(&self, line: &ImageRunLine) -> Card {
        Card {
            grade: self.grade(&line.image, Some(line.stance)),
            change: Some(self.gone_to(&line.image)),
            ..self.card(&line.image, format!("was {}", line.rank))
        }
    }

    fn missed(&self, id: &DocId) -> Card {
        Card {
            grade: self.grade(id, None),
            change: Some(self.gone_to(id)),
            ..self.card(id, "missed".into())
        }
    }

    fn gone_to(&self, id: &DocId) -> Change {
        Change {
            class: "gone",
            text: self.standing(id),
            title: "where it stands in this run".into(),
        }
    }

    fn name_missed(&self, id: &DocId) -> String {
        format!("{id} ({})", self.standing(id))
    }

    /// Against the other run.
    fn change(&self, line: &ImageRunLine) -> Option<Change> {
        let (name, _) = self.sources.against?;
        let places = self.plan.other.get(&line.image);
        let places = places.map_or(&[][..], Vec::as_slice);
        let here = places.iter().find(|(stance, _)| *stance == line.stance);
        Some(match (here, places.first()) {
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
                pips: Vec::new(),
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
                GradeView {
                    class,
                    text,
                    pips: match stance {
                        Some(_) => vec![on_topic, pro || con, on_stance],
                        None => vec![on_topic, pro || con],
                    },
                }
            }
        })
    }

    /// P(pro) and P(con), where the explanation speaks of them.
    fn lean(&self, id: &DocId) -> Option<Lean> {
        let explained = self.plan.explained.get(id)?;
        let [pro, con] = Stance::BOTH.map(|s| probability(explained.score(s)?));
        let (pro, con) = (pro?.value, con?.value);
        let width = |p: f64| 50.0 * p.clamp(0.0, 1.0);
        Some(Lean {
            pro: three(pro),
            con: three(con),
            pro_width: format!("{:.1}", width(pro)),
            con_width: format!("{:.1}", width(con)),
            con_x: format!("{:.1}", 100.0 - width(con)),
        })
    }

    /// Where an image stands that is in no list.
    fn standing(&self, id: &DocId) -> String {
        if let Some((_, copy)) = self.listed_copy(id) {
            return copy;
        }
        if let Some(places) = self.plan.deeper.get(id) {
            return named(places.iter().copied());
        }
        match self.plan.standings.get(id) {
            Some(at) => format!(
                "of {}: relevance {}, PRO {}, CON {}",
                at.of, at.relevance, at.pro, at.con
            ),
            None if self.plan.standings.is_empty() => "not in the run".into(),
            None => "not among the candidates".into(),
        }
    }

    /// The same of any image, line by line: in this run, among the candidates, in the other run.
    fn standing_opened(&self, id: &DocId) -> Vec<String> {
        let mut lines = Vec::new();
        for line in self.places(id) {
            let ImageRunLine { stance, rank, .. } = line;
            lines.push(format!(
                "{stance} rank {rank} with score {}",
                number(line.score)
            ));
        }
        if let Some(places) = self.plan.deeper.get(id) {
            lines.push(format!("{} in the run", named(places.iter().copied())));
        }
        match self.plan.standings.get(id) {
            Some(at) => lines.push(format!(
                "among {} candidates: {} by relevance, {} as PRO, {} as CON",
                at.of, at.relevance, at.pro, at.con
            )),
            None if self.plan.standings.is_empty() => {}
            None => lines.push("not among the candidates".into()),
        }
        lines.extend(self.listed_copy(id).map(|(_, copy)| copy));
        if let Some((name, _)) = self.sources.against {
            lines.push(match self.plan.other.get(id) {
                Some(places) => format!("{} in {name}", named(places.iter().copied())),
                None => format!("not in {name}"),
            });
        }
        lines
    }

    /// The listed image that looks the same, and where it stands.
    fn listed_copy(&self, id: &DocId) -> Option<(&DocId, String)> {
        let copies = self.copies.get(id)?;
        let lines = || self.plan.lists.iter().flatten();
        if lines().any(|line| line.image == *id) {
            return None;
        }
        copies.iter().find_map(|(copy, _)| {
            let line = lines().find(|line| line.image == *copy)?;
            Some((copy, format!("a copy is {} {}", line.stance, line.rank)))
        })
    }

    fn places(&self, id: &DocId) -> Vec<&ImageRunLine> {
        let lines = self.plan.lists.iter().flatten();
        lines.filter(|line| line.image == *id).copied().collect()
    }

    /// "PRO 3", "not listed".
    fn place(&self, id: &DocId) -> String {
        let places = self.places(id);
        match places.is_empty() {
            true => "not listed".into(),
            false => named(places.iter().map(|line| (line.stance, line.rank))),
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

    /// What a person who does not see the image is told.
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
        let places = self.places(id);
        let stance = places.first().map(|line| line.stance);
        let pictured = self.pictures.get(id);
        let evidence = self.evidence.get(id);
        let (lines, more_lines) = match evidence {
            Some(evidence) => lines_of(evidence, marker),
            None => (Vec::new(), 0),
        };
        let pages = evidence.map_or(&[][..], |e| &e.pages);
        let shown_pages = pages.iter().take(PAGES);
        let shown_pages = shown_pages.map(|page| page_view(page, marker)).collect();
        let url = evidence.map(|e| e.url.clone()).unwrap_or_default();
        let facts = evidence.map(facts).unwrap_or_default();
        let more_pages = pages.len().saturating_sub(PAGES);
        let (gauges, formula, rows) = self.opened(id, stance);
        let copies = self.copies.get(id).into_iter().flatten().take(COPIES);
        ImageView {
            anchor: self.anchor(id),
            id: id.0.clone(),
            class: stance.map_or("none", class),
            place: self.place(id),
            previous: None,
            next: None,
            alt: self.alt(id),
            source: self.pictured(id, Size::Whole),
            fault: pictured.and_then(|p| p.fault.clone()),
            width: pictured.map_or(0, |p| p.width),
            height: pictured.map_or(0, |p| p.height),
            lines,
            more_lines,
            standing: self.standing_opened(id),
            grade: self.grade(id, stance),
            gauges,
            formula,
            rows,
            pages: shown_pages,
            more_pages,
            copies: copies.map(|(copy, bits)| self.copy(copy, *bits)).collect(),
            facts,
            link: web_address(&url),
            url: shortened(&url, 300),
        }
    }

    fn copy(&self, id: &DocId, bits: u32) -> CopyView {
        let shown = self.plan.shown().contains(&id);
        CopyView {
            id: id.0.clone(),
            href: shown.then(|| format!("#{}", self.anchor(id))),
            source: self.pictured(id, Size::Card),
            bits,
            place: self.place(id),
        }
    }

    /// The numbers behind its place: in one look, as a sum, and as the trees that ranked.
    fn opened(&self, id: &DocId, stance: Option<Stance>) -> (Vec<Gauge>, Option<String>, Vec<Row>) {
        let Some(explained) = self.plan.explained.get(id) else {
            return (Vec::new(), None, Vec::new());
        };
        let best = || {
            let worth = |s: &Stance| explained.score(*s).map_or(f64::NEG_INFINITY, |w| w.value);
            let [pro, con] = Stance::BOTH;
            if worth(&con) > worth(&pro) { con } else { pro }
        };
        let stance = stance.unwrap_or_else(best);
        let other = match stance {
            Stance::Pro => Stance::Con,
            Stance::Con => Stance::Pro,
        };
        let titled = |worth: &Explanation, stance: Stance| Explanation {
            name: format!("worth as {stance}"),
            ..worth.clone()
        };
        let (first, second) = (explained.score(stance), explained.score(other));
        let mut rows = Vec::new();
        let mut gauges = Vec::new();
        if let Some(worth) = first {
            rows.push(Row::of(&titled(worth, stance)));
            gauges.extend(worth.parts.iter().map(|part| gauge(part, stance)));
        }
        if let Some(worth) = second {
            rows.push(match first {
                Some(first) => Row::unlike(&titled(worth, other), first),
                None => Row::of(&titled(worth, other)),
            });
            let shown = |part: &&Explanation| {
                !first.is_some_and(|first| first.parts.iter().any(|f| f.name == part.name))
            };
            gauges.extend(
                worth
                    .parts
                    .iter()
                    .filter(shown)
                    .map(|part| gauge(part, other)),
            );
        }
        let formula = first
            .filter(|worth| !worth.parts.is_empty())
            .map(|worth| format!("{} = {}", number(worth.value), worth.how));
        (gauges, formula, rows)
    }

    /// All candidates of the topic.
    fn plot(&self) -> Option<Scatter> {
        let grades = self.grades();
        let shown: BTreeSet<&DocId> = self.plan.shown().into_iter().collect();
        let mut explained: Vec<_> = self.plan.explained.values().collect();
        explained.sort_by_key(|c| &c.image);
        let candidates = explained.into_iter().filter_map(|candidate| {
            let [pro, con] = Stance::BOTH.map(|s| candidate.score(s));
            let relevance = pro
                .or(con)?
                .parts
                .iter()
                .find(|part| part.name == "relevance")?;
            let lean = probability(pro?)?.value - probability(con?)?.value;
            let id = &candidate.image;
            let places = self.places(id);
            let is_relevant = self
                .sources
                .judged
                .zip(grades)
                .is_some_and(|(judged, grades)| {
                    grades
                        .get(id)
                        .is_some_and(|g| judged.edition.counts(g.on_topic))
                });
            let place = self.place(id);
            Some(Candidate {
                relevance: relevance.value,
                lean,
                list: places.first().map_or("none", |line| class(line.stance)),
                is_relevant,
                title: format!(
                    "{place}: {id}, relevance {}, P(pro) − P(con) {}",
                    three(relevance.value),
                    difference(lean)
                ),
                href: shown.contains(id).then(|| format!("#{}", self.anchor(id))),
            })
        });
        Scatter::of(candidates.collect())
    }
}

/// "PRO 3, CON 7".
fn named(places: impl Iterator<Item = (Stance, u32)>) -> String {
    let places: Vec<String> = places
        .map(|(stance, rank)| format!("{stance} {rank}"))
        .collect();
    places.join(", ")
}

/// The part of a worth that is the probability of a side.
fn probability(worth: &Explanation) -> Option<&Explanation> {
    worth.parts.iter().find(|part| part.name.starts_with("P("))
}
