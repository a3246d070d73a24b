//! Collects the content of a topic's page, from its plan, the evidence and the explanations.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::Result;
use riposte_eval::qrels::ImageGrades;
use riposte_eval::run::ImageRunLine;
use riposte_eval::{DocId, Explanation, Stance};
use riposte_page::presence::Presence;
use riposte_page::words::{number, shortened, three_decimals};
use riposte_page::{ExplanationRow, Picture, StanceBar, WebAddress};

use super::super::chart::{PlottedCandidate, Scatter};
use super::super::pictures::{PictureSource, ReportPictures, Size};
use super::super::words::{difference, ordinal};
use super::super::{Body, RankChange, TopicReport, reason};
use super::view::{
    Card, Gauge, ImageGradeView, ImageListView, ImageView, ImagesTopic, LINES, NOT_LISTED,
    Thumbnail, blocks_of, class, divide, facts, gauge, page_view,
};
use super::{CandidateRanks, ImageReportData, LOOK_ALIKES, LookAlike, LookAlikes, TopicPlan};
use crate::answer::marker::Marker;
use crate::evidence::ocr::OcrLine;
use crate::evidence::{Evidence, PageEvidence};
use crate::score::presence::presence_of;
use crate::score::relevance;
use crate::score::stance::probability;
use crate::topic::question::{self, TopicParts};

/// The maximum number of pages shown for an image.
const PAGES: usize = 3;

/// The maximum number of characters of an alternative text.
const ALT: usize = 160;

/// Collects the content of a topic's page.
pub(crate) struct PageBuilder<'a> {
    pub(super) sources: &'a ImageReportData<'a>,
    pub(super) plan: &'a TopicPlan<'a>,
    pub(super) look_alikes: &'a LookAlikes,
    pictures: &'a ReportPictures,
    evidence: HashMap<&'a DocId, Evidence>,
}

impl<'a> PageBuilder<'a> {
    pub(super) fn new(
        sources: &'a ImageReportData<'a>,
        plan: &'a TopicPlan<'a>,
        look_alikes: &'a LookAlikes,
        pictures: &'a ReportPictures,
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
        let views = shown.iter().map(|id| self.image(id, &mut marker));
        let mut images: Vec<ImageView> = views.collect();
        for (n, image) in images.iter_mut().enumerate() {
            image.previous = n.checked_sub(1).map(|n| anchors[n].clone());
            image.next = anchors.get(n + 1).cloned();
        }
        let thumbnails = self.plan.lists.each_ref().map(|list| {
            let list = list.iter().take(thumbnails);
            list.filter_map(|line| self.thumbnail(&line.image))
                .collect()
        });
        let missed = self.plan.missed.iter().map(|id| self.missed(id));
        let more_missed = self.plan.more_missed.iter();
        let more_missed = more_missed.map(|id| format!("{id} ({})", self.brief_position(id)));
        TopicReport {
            topic: self.plan.topic.clone(),
            thumbnails,
            first: None,
            changed: self.plan.changed,
            is_judged: self.grades().is_some(),
            nothing: self.nothing(),
            debate: self.debate(&mut marker),
            body: Body::Images(ImagesTopic {
                sides: Stance::BOTH.map(|stance| self.side(stance)).into(),
                missed: missed.collect(),
                more_missed: more_missed.collect(),
                images,
                plot: self.plot(),
                has_leans: shown.iter().any(|id| self.lean(id).is_some()),
            }),
        }
    }

    /// Whether any image is about the topic; `None` if that was not judged.
    pub(super) fn presence(&self) -> Option<Presence> {
        let explained = self.plan.explained.values();
        presence_of(explained.filter_map(|image| image.about.as_ref()))
    }

    /// Says that nothing is about the topic, if neither the images nor the arguments of a debate sheet are.
    fn nothing(&self) -> Option<String> {
        let mut sheets = self.sources.run.debate.iter();
        let sheet = sheets.find(|sheet| sheet.topic == self.plan.topic.id);
        let of_sheet = sheet.and_then(|sheet| sheet.presence);
        let presence = Presence::together(self.presence().into_iter().chain(of_sheet))?;
        presence.is_nothing().then(|| presence.nothing())
    }

    fn grades(&self) -> Option<&'a BTreeMap<DocId, ImageGrades>> {
        self.sources.judged?.0.get(&self.plan.topic.id)
    }

    pub(super) fn anchor(&self, id: &DocId) -> String {
        self.sources.place.form.anchor(&self.plan.topic.id, &id.0)
    }

    pub(super) fn picture(&self, id: &DocId, size: Size) -> Option<PictureSource> {
        self.pictures.get(id)?.sizes.get(&size).cloned()
    }

    /// The address of an image, as seen from other pages.
    pub(super) fn address(&self, id: &DocId) -> String {
        let form = self.sources.place.form;
        form.document(&self.plan.topic.id, &id.0)
    }

    fn thumbnail(&self, id: &DocId) -> Option<Thumbnail> {
        Some(Thumbnail {
            href: self.address(id),
            alt: self.alt(id),
            source: self.picture(id, Size::Mini)?,
        })
    }

    fn side(&self, stance: Stance) -> ImageListView {
        let precision = self.sources.judged.and_then(|(_, evaluation)| {
            let hits = evaluation.topics.get(&self.plan.topic.id)?;
            self.grades()?;
            Some(hits.of(Some(stance)).precision(10).map(three_decimals))
        });
        let cards = self.plan.lists[stance as usize].iter();
        let mut cards: Vec<Card> = cards.map(|line| self.listed(line)).collect();
        divide(&mut cards);
        let dropped = self.plan.dropped[stance as usize].iter();
        let (title, does) = match stance {
            Stance::Pro => ("PRO", "supports"),
            Stance::Con => ("CON", "attacks"),
        };
        ImageListView {
            title,
            does,
            class: class(stance),
            cards,
            precision,
            dropped: dropped.map(|line| self.dropped(line)).collect(),
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
            about: self
                .plan
                .explained
                .get(id)
                .and_then(|of| Some(of.about.as_ref()?.value())),
            begins_padding: false,
            change: None,
            twins: None,
        }
    }

    pub(super) fn shown_picture(&self, id: &DocId) -> Option<Picture> {
        let source = self.picture(id, Size::Card)?;
        Some(Picture {
            address: source.address,
            size: Some((source.width, source.height)),
            alt: self.alt(id),
        })
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

    fn current_position(&self, id: &DocId) -> RankChange {
        RankChange {
            class: "gone",
            text: self.brief_position(id),
            title: "its position in this run".into(),
        }
    }

    /// How the image's rank differs from that in the other run.
    fn change(&self, line: &ImageRunLine) -> Option<RankChange> {
        let name = self.sources.run.other()?;
        let positions = self.plan.other.get(&line.image);
        let positions = positions.map_or(&[][..], Vec::as_slice);
        let here = positions.iter().find(|(stance, _)| *stance == line.stance);
        Some(match (here, positions.first()) {
            (None, Some((stance, rank))) => RankChange {
                class: "crossed",
                text: format!("from {stance} {rank}"),
                title: format!("on the other side in {name}"),
            },
            _ => RankChange::between(name, here.map(|(_, rank)| *rank), line.rank),
        })
    }

    fn grade(&self, id: &DocId, stance: Option<Stance>) -> Option<ImageGradeView> {
        let grades = self.grades()?.get(id);
        let (class, text) = grades.map_or(("unjudged", "unjudged"), |grades| {
            let counts = |grade| self.sources.place.edition.counts(grade);
            let on_topic = counts(grades.on_topic);
            let sides = Stance::BOTH.map(|s| on_topic && counts(grades.stance(s)));
            match (sides, stance) {
                _ if !on_topic => ("off", "off topic"),
                ([false, false], _) => ("topic", "on topic"),
                ([true, true], None) => ("stance", "PRO and CON"),
                ([true, false], None) => ("stance", "PRO"),
                ([false, true], None) => ("stance", "CON"),
                (_, Some(stance)) if sides[stance as usize] => ("stance", "on stance"),
                (_, Some(_)) => ("argues", "other stance"),
            }
        });
        Some(ImageGradeView { class, text })
    }

    /// The bar of P(pro) and P(con), if the explanation has them.
    fn lean(&self, id: &DocId) -> Option<StanceBar> {
        let explained = self.plan.explained.get(id)?;
        let [pro, con] = Stance::BOTH.map(|stance| probability(explained, stance));
        Some(StanceBar::of(pro?, con?))
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
            return join_positions(positions);
        }
        match self.plan.candidate_ranks.get(id) {
            Some(at) => at.in_words(""),
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
            lines.push(format!("{} in the run", join_positions(positions)));
        }
        match self.plan.candidate_ranks.get(id) {
            Some(at) => lines.push(at.in_words(" candidates")),
            None if self.plan.candidate_ranks.is_empty() => {}
            None => lines.push("not among the candidates".into()),
        }
        if let Some(name) = self.sources.run.other() {
            lines.push(match self.plan.other.get(id) {
                Some(positions) => format!("{} in {name}", join_positions(positions)),
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
        let lines = self.lines(id).into_iter();
        let positions: Vec<_> = lines.map(|line| (line.stance, line.rank)).collect();
        match positions.as_slice() {
            [] => NOT_LISTED.into(),
            positions => join_positions(positions),
        }
    }

    fn first_page(&self, id: &DocId) -> Option<&PageEvidence> {
        self.evidence.get(id)?.list().first()
    }

    fn caption(&self, id: &DocId) -> String {
        let title = self.first_page(id).map(|page| page.words.title.trim());
        let title = title.filter(|title| !title.is_empty());
        shortened(title.unwrap_or(&id.0), 90)
    }

    /// The alternative text of an image: that of its page, else the text in it.
    fn alt(&self, id: &DocId) -> String {
        let alt = self.first_page(id).map(|page| page.words.alt.trim());
        if let Some(alt) = alt.filter(|alt| !alt.is_empty()) {
            return shortened(alt, ALT);
        }
        let read = self.evidence.get(id).map(Evidence::ocr_text);
        let read = read.map(|text| text.replace('\n', " "));
        match read.filter(|text| !text.trim().is_empty()) {
            Some(text) => shortened(&format!("Image with the text: {text}"), ALT),
            None => format!("Image {id}"),
        }
    }

    fn image(&self, id: &DocId, marker: &mut Marker) -> ImageView {
        let stance = self.lines(id).first().map(|line| line.stance);
        let pictures = self.pictures.get(id);
        let evidence = self.evidence.get(id);
        let line_count = evidence.map_or(0, |evidence| evidence.list::<OcrLine>().len());
        let pages = evidence.map_or(&[][..], Evidence::list::<PageEvidence>);
        let url = evidence.map_or("", |evidence| &evidence.url);
        let (gauges, formula, rows) = self.explanation(id, stance);
        let look_alikes = self.look_alikes.get(id).into_iter().flatten();
        let look_alikes = look_alikes.take(LOOK_ALIKES);
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
            fault: pictures.and_then(|p| Some(p.fault.as_ref()?.what.clone())),
            width: pictures.map_or(0, |p| p.width),
            height: pictures.map_or(0, |p| p.height),
            blocks: evidence.map_or_else(Vec::new, |evidence| blocks_of(evidence, marker)),
            line_count,
            more_lines: line_count.saturating_sub(LINES),
            positions: self.all_positions(id),
            grade: self.grade(id, stance),
            reason: self.reason(id),
            gauges,
            like: self.like(id, marker),
            formula,
            rows,
            pages: pages
                .iter()
                .take(PAGES)
                .map(|page| page_view(page, marker))
                .collect(),
            more_pages: pages.len().saturating_sub(PAGES),
            copy_of: self.listed_copy(id).map(|copy| self.twin(copy)),
            copies: views(copies),
            look_alikes: views(others),
            facts: evidence.map(facts).unwrap_or_default(),
            link: WebAddress::of(url).and_then(|of| of.link),
            url: shortened(url, 300),
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
    ) -> (Vec<Gauge>, Option<String>, Vec<ExplanationRow>) {
        let Some(explained) = self.plan.explained.get(id) else {
            return (Vec::new(), None, Vec::new());
        };
        let score = |stance| explained.score(stance);
        let best = || {
            let value = |stance| score(stance).map_or(f64::NEG_INFINITY, Explanation::value);
            match value(Stance::Con) > value(Stance::Pro) {
                true => Stance::Con,
                false => Stance::Pro,
            }
        };
        let stance = stance.unwrap_or_else(best);
        let other = stance.opposite();
        let titled =
            |score: &Explanation, stance: Stance| score.clone().named(format!("score as {stance}"));
        let (first, second) = (score(stance), score(other));
        let mut rows = Vec::new();
        let mut gauges = Vec::new();
        if let Some(score) = first {
            rows.push(ExplanationRow::new(&titled(score, stance)));
            gauges.extend(score.parts().iter().filter_map(gauge));
        }
        if let Some(score) = second {
            rows.push(match first {
                Some(first) => ExplanationRow::without_repeats(&titled(score, other), first),
                None => ExplanationRow::new(&titled(score, other)),
            });
            let is_new = |part: &&Explanation| {
                let mut above = first.into_iter().flat_map(Explanation::parts);
                part.id().is_none() || above.all(|above| above.id() != part.id())
            };
            gauges.extend(score.parts().iter().filter(is_new).filter_map(gauge));
        }
        rows.extend(explained.about.as_ref().map(ExplanationRow::new));
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
            let relevance = relevance(candidate)?;
            let [pro, con] = Stance::BOTH.map(|stance| probability(candidate, stance));
            let lean = pro? - con?;
            let id = &candidate.image;
            let lines = self.lines(id);
            let grades = grades.and_then(|grades| grades.get(id));
            let is_relevant =
                grades.is_some_and(|of| self.sources.place.edition.counts(of.on_topic));
            let position = self.position(id);
            Some(PlottedCandidate {
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
fn join_positions(positions: &[(Stance, u32)]) -> String {
    let positions = positions.iter();
    let positions = positions.map(|(stance, rank)| format!("{stance} {rank}"));
    positions.collect::<Vec<_>>().join(", ")
}

impl CandidateRanks {
    /// The ranks: "3rd of 20 candidates by relevance, 1st as PRO, 9th as CON".
    fn in_words(self, candidates: &str) -> String {
        let [relevance, pro, con] = [self.relevance, self.pro, self.con].map(ordinal);
        let of = self.of;
        format!("{relevance} of {of}{candidates} by relevance, {pro} as PRO, {con} as CON")
    }
}
