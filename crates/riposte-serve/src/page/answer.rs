//! The answer to a question: the sides of a debate, a ranking, or the first results by words.

use askama::Template;
use riposte_page::words::shortened;
use riposte_page::{CLAIM, DebateView, ResultItem, divided};

use super::frame::{PageFrame, chosen};
use super::head::{AnswerHead, ExportLink, fields, has_sides, kept, name};
use super::items;
use super::links;
use crate::answers::{CollectionInfo, SearchAnswer, Stance, WordHit};
use crate::desk::{Call, Desk};
use crate::limits::MAX_SHOWN;
use crate::questions::{
    BrowserRequest, DebateQuestion, DocumentKind, Filters, OnSide, PageStage, Search, WordSearch,
};
use crate::refusal::Refusal;
use crate::server::failed;

/// The number of documents in each list of a debate, as in `riposte ask`, and of results in a ranking.
const NUMBER: usize = 5;
const HITS: usize = 20;

/// What speaks for and against a claim, or the texts that answer a question.
#[derive(Template)]
#[template(path = "debate.html")]
struct DebatePage {
    frame: PageFrame,
    head: AnswerHead,
    sides: DebateView,
    objects: Option<[String; 2]>,
    /// `None` if the answer has sides.
    texts: Option<Vec<ResultItem>>,
    kept: Vec<ExportLink>,
}

/// The ranking of one kind of documents.
#[derive(Template)]
#[template(path = "ranking.html")]
struct RankingPage {
    frame: PageFrame,
    head: AnswerHead,
    title: &'static str,
    is_images: bool,
    items: Vec<ResultItem>,
    filters: Option<FilterForm>,
    /// The page with more results.
    more: Option<String>,
    kept: Vec<ExportLink>,
}

struct FilterForm {
    fields: Vec<(&'static str, String)>,
    side: &'static str,
    minimum: String,
    /// `None` if the results have no portals.
    portal: Option<String>,
    portals: Vec<String>,
    /// The page without filters, if there are any.
    without: Option<String>,
}

/// The first results, by words alone.
#[derive(Template)]
#[template(path = "words.html")]
struct WordsPage {
    frame: PageFrame,
    head: AnswerHead,
    read: String,
    items: Vec<ResultItem>,
}

/// The HTML of an answer. `page` has a question.
///
/// # Errors
/// Those of the desk.
pub(super) fn html(desk: &dyn Desk, page: &BrowserRequest, call: &Call) -> Result<String, Refusal> {
    let collections = desk.collections(call)?;
    let collection = chosen(page.collection.as_deref(), &collections)?;
    let page = BrowserRequest {
        collection: Some(collection.name.clone()),
        ..page.clone()
    };
    let asking = Asking {
        desk,
        call,
        collection,
        question: page.question.clone().unwrap_or_default(),
        frame: PageFrame::of(&page, &collections),
        page,
    };
    match (asking.page.stage, asking.page.tab) {
        (PageStage::Words, _) => words(asking),
        (PageStage::Read, None) => debate(asking),
        (PageStage::Read, Some(kind)) => ranking(asking, kind),
    }
}

/// What is asked, whom, and what each page begins with.
struct Asking<'a> {
    desk: &'a dyn Desk,
    call: &'a Call,
    collection: &'a CollectionInfo,
    page: BrowserRequest,
    question: String,
    frame: PageFrame,
}

fn debate(asking: Asking) -> Result<String, Refusal> {
    let (page, collection) = (asking.page, asking.collection);
    let number = page.hits.unwrap_or(NUMBER).min(crate::limits::MAX_NUMBER);
    let asked = DebateQuestion {
        question: asking.question,
        collection: page.collection.clone(),
        number,
        approach: page.approach.clone(),
        claim: page.claim.clone(),
    };
    let debated = asking.desk.debate(&asked, asking.call)?;
    let page = BrowserRequest {
        hits: Some(number),
        ..page
    };
    let head = AnswerHead::new(&page, collection)
        .with_presence(debated.nothing_about_it, debated.presence)
        .with_understood(&page, debated.understood.as_ref())
        .with_sides(&page, &debated.sides);
    let shown = DebatePage {
        frame: asking.frame,
        head,
        sides: DebateView::of(&debated, &page),
        texts: debated.texts.as_ref().map(|texts| {
            let items = texts.iter().map(|text| ResultItem::text(&page, text));
            divided(items.collect(), texts.iter().map(|text| &text.about))
        }),
        objects: debated
            .objects
            .map(|objects| objects.map(|object| shortened(&object, CLAIM))),
        kept: kept(&page, collection),
    };
    shown.render().map_err(failed)
}

fn ranking(asking: Asking, kind: DocumentKind) -> Result<String, Refusal> {
    let (page, collection) = (asking.page, asking.collection);
    let hits = page.hits.unwrap_or(HITS).min(MAX_SHOWN);
    let asked = Search {
        question: asking.question,
        collection: page.collection.clone(),
        kind: Some(kind),
        hits,
        approach: page.approach.clone(),
        claim: page.claim.clone(),
        filters: page.filters.clone(),
    };
    let found = asking.desk.search(&asked, asking.call)?;
    let page = BrowserRequest {
        hits: Some(hits),
        ..page
    };
    let head = AnswerHead::new(&page, collection)
        .with_presence(found.nothing_about_it, found.presence)
        .with_understood(&page, found.understood.as_ref());
    let results = &found.results;
    let mut items = Vec::with_capacity(results.len());
    for list in results.chunk_by(|a, b| a.list == b.list) {
        let numbered = (items.len() + 1..).zip(list);
        let of_list = numbered.map(|(number, hit)| ResultItem {
            anchor: Some(anchor(number)),
            ..items::hit(&page, kind, hit)
        });
        let mut of_list = divided(of_list.collect(), list.iter().map(|hit| &hit.about));
        if let (Some(first), Some(hit)) = (of_list.first_mut(), list.first()) {
            first.heading = hit.list.map(heading);
        }
        items.append(&mut of_list);
    }
    // filters leave out some of the results, so fewer than asked for are not all
    let is_all = results.len() < hits && page.filters == Filters::default();
    let more = (!is_all && hits < MAX_SHOWN).then(|| {
        let more = links::page(&BrowserRequest {
            hits: Some((2 * hits).min(MAX_SHOWN)),
            ..page.clone()
        });
        // images are two lists, and the first new one of the first list stands before the second
        let list = results.first().and_then(|hit| hit.list);
        let shown = results.iter().take_while(|hit| hit.list == list).count();
        format!("{more}#{}", anchor(shown + 1))
    });
    let shown = RankingPage {
        frame: asking.frame,
        head,
        title: name(kind),
        is_images: kind == DocumentKind::Images,
        items,
        filters: has_sides(kind).then(|| filter_form(&page, kind, &found)),
        more,
        kept: kept(&page, collection),
    };
    shown.render().map_err(failed)
}

/// The name of a list of a run.
fn heading(list: Stance) -> &'static str {
    match list {
        Stance::Pro => "The PRO list of the run",
        Stance::Con => "The CON list of the run",
    }
}

/// The name of a result of a ranking, for links to it. A browser that follows one goes to the result with the keyboard, too.
fn anchor(number: usize) -> String {
    format!("result-{number}")
}

fn filter_form(page: &BrowserRequest, kind: DocumentKind, found: &SearchAnswer) -> FilterForm {
    let filters = &page.filters;
    let mut portals: Vec<String> = found
        .results
        .iter()
        .flat_map(|hit| hit.portal.clone())
        .collect();
    portals.sort();
    portals.dedup();
    let claim = page.claim.clone().map(|claim| ("claim", claim));
    let is_filtered = *filters != Filters::default();
    FilterForm {
        fields: fields(page).into_iter().chain(claim).collect(),
        side: filters.side.map_or("", OnSide::word),
        minimum: filters
            .minimum
            .map_or_else(String::new, |it| it.to_string()),
        portal: (kind == DocumentKind::Arguments)
            .then(|| filters.portal.clone().unwrap_or_default()),
        portals,
        without: is_filtered.then(|| {
            links::page(&BrowserRequest {
                filters: Filters::default(),
                ..page.clone()
            })
        }),
    }
}

fn words(asking: Asking) -> Result<String, Refusal> {
    let (page, collection) = (&asking.page, asking.collection);
    let has_texts = match page.tab {
        Some(kind) => kind != DocumentKind::Images,
        None => collection
            .kinds
            .iter()
            .any(|kind| *kind != DocumentKind::Images),
    };
    let found: Vec<WordHit> = match has_texts {
        true => {
            let asked = WordSearch {
                collection: collection.name.clone(),
                query: asking.question,
                hits: page.hits.unwrap_or(HITS).min(HITS),
            };
            asking.desk.words(&asked, asking.call)?
        }
        false => Vec::new(),
    };
    let read = links::page(&BrowserRequest {
        stage: PageStage::Read,
        ..page.clone()
    });
    let items = (1..).zip(&found);
    let shown = WordsPage {
        frame: PageFrame {
            next: Some(read.clone()),
            ..asking.frame
        },
        head: AnswerHead::new(page, collection),
        read,
        items: items
            .map(|(number, hit)| items::words(page, number, hit))
            .collect(),
    };
    shown.render().map_err(failed)
}
