//! The desk of the server: which collection answers a request, and with what.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Error, Result};
use riposte_eval::DocId;
use riposte_serve::answers::{
    Answer, CollectionHealth, CollectionInfo, CollectionState, DocumentAnswer, EncodedPicture,
    Explained, Health, Quality, Reply, SearchAnswer, StanceAnswer, WordHit,
};
use riposte_serve::questions::{
    Address, Conversation, DebateQuestion, DocumentKind, Explain, QualityQuestion, Search,
    StanceQuestion, WordSearch,
};
use riposte_serve::{Call, Desk, Refusal};

use super::answers::completed;
use super::opened::{OpenedCollection, OpenedPart, QuestionAsked};
use super::served::{Served, distinct};
use super::{document, explain, read, reply, report, search, served};
use crate::api::Approach;
use crate::events::OnEvent;
use crate::language::refusal;
use crate::lazy::Lazy;
use crate::models;
use crate::reading::stance_encoder::StanceEncoder;
use crate::recipes::approaches;
use crate::recipes::settings::Setting;
use crate::session::CollectionSource;

/// How often the files of collections are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Collections that are served, and the models that read the texts of requests.
pub struct ServedCollections {
    collections: Vec<Served>,
    encoder: Option<Arc<Lazy<StanceEncoder>>>,
}

impl ServedCollections {
    /// The collections in these directories, which are not open yet. Each is named after its directory.
    ///
    /// # Errors
    /// An installed model is damaged.
    pub fn new(sources: Vec<CollectionSource>, on_event: &mut OnEvent) -> Result<Self> {
        let dirs: Vec<_> = sources.iter().map(|of| of.input.clone()).collect();
        let first = sources.first().context("there is no collection to serve")?;
        let session = &first.session;
        let otherwise = "stance and quality are estimated from words only";
        let compute = session.compute();
        let encoder =
            models::installed_stance_encoder(&session.models, compute, otherwise, on_event)?;
        let named = distinct(&dirs).into_iter().zip(sources);
        let served = named.map(|(name, source)| Served::new(name, source));
        Ok(ServedCollections {
            collections: served.collect(),
            encoder,
        })
    }

    /// Opens all collections, one after the other: computes missing evidence, builds missing indexes, and loads the models.
    ///
    /// # Errors
    /// None of them can be opened; then this is the last error. `on_failed` receives the other errors.
    pub fn open(
        &self,
        stop: &AtomicBool,
        on_event: &mut OnEvent,
        on_failed: &mut dyn FnMut(&str, &Error),
    ) -> Result<()> {
        let mut last: Option<(&str, Error)> = None;
        for served in &self.collections {
            if let Err(error) = served.open(stop, on_event)
                && let Some((name, before)) = last.replace((&served.name, error))
            {
                on_failed(name, &before);
            }
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
        let is_ready =
            |served: &Served| matches!(served.state(), served::CollectionState::Ready(_));
        match last {
            Some((_, error)) if !self.collections.iter().any(is_ready) => return Err(error),
            Some((name, error)) => on_failed(name, &error),
            None => {}
        }
        Ok(())
    }

    /// The name of each collection, with the number of its documents by kind; none for a collection that is not open.
    pub fn contents(&self) -> Vec<(String, Vec<(&'static str, u64)>)> {
        let contents = self.collections.iter().map(|served| {
            let parts = match served.state() {
                served::CollectionState::Ready(opened) => opened
                    .parts
                    .iter()
                    .map(|part| (part.task().word(), part.documents))
                    .collect(),
                _ => Vec::new(),
            };
            (served.name.clone(), parts)
        });
        contents.collect()
    }

    /// Looks at the files of the collections until `stop` is set, and opens again what has changed. It blocks the thread.
    pub fn watch(&self, stop: &AtomicBool, on_event: &mut OnEvent, on_reopened: &mut OnReopened) {
        let stamps = self.collections.iter().map(|served| Some(served.stamp()));
        let mut stamps: Vec<_> = stamps.collect();
        // a change that is seen twice in a row is complete
        let mut changed = vec![None; stamps.len()];
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK_EVERY);
            let known = stamps.iter_mut().zip(&mut changed);
            for (served, (known, changed)) in self.collections.iter().zip(known) {
                let stamp = Some(served.stamp());
                if stamp == *known {
                    *changed = None;
                } else if stamp == *changed {
                    let opened = served.open(stop, on_event);
                    on_reopened(&served.name, opened.err().as_ref());
                    *known = stamp;
                } else {
                    *changed = stamp;
                }
            }
        }
    }

    /// The collection of this name; the first for `None`.
    fn find(&self, name: Option<&str>) -> Result<&Served, Refusal> {
        let mut collections = self.collections.iter();
        let found = collections.find(|served| name.is_none_or(|name| name == served.name));
        found.ok_or_else(|| Refusal::UnknownCollection(name.unwrap_or_default().to_owned()))
    }

    /// The part of a collection with documents of this kind, or with those that answer the question, and the name of the collection.
    fn part<T>(
        &self,
        name: Option<&str>,
        kind: Option<DocumentKind>,
        question: &str,
        answer: impl FnOnce(&str, &OpenedCollection, &OpenedPart) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let served = self.find(name)?;
        let opened: Arc<OpenedCollection> = served.ready()?;
        match opened.part(kind.or_else(|| opened.kind_for(question))) {
            Some(part) => answer(&served.name, &opened, part),
            None => Err(Refusal::BadRequest(format!(
                "the collection {:?} has no documents of this kind",
                served.name
            ))),
        }
    }

    /// Answers the question of a debate with the first part of a collection, after it has been checked.
    fn debated<T>(
        &self,
        asked: &DebateQuestion,
        answer: impl FnOnce(&str, &OpenedCollection, &OpenedPart, &QuestionAsked) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let (name, question) = (asked.collection.as_deref(), asked.question.as_str());
        self.part(name, None, question, |name, opened, part| {
            let question = answerable(question, asked.claim.as_deref(), part)?;
            check_approach(asked.approach.as_deref(), part)?;
            let with = QuestionAsked {
                approach: asked.approach.as_deref(),
                number: asked.number,
                ..QuestionAsked::first(question)
            };
            answer(name, opened, part, &with)
        })
    }
}

/// Receives the name of a collection that was opened again, and the error if it could not be.
pub type OnReopened<'a> = dyn FnMut(&str, Option<&Error>) + 'a;

/// The refusal for an error, after the client has perhaps left.
fn refused(call: &Call) -> impl Fn(Error) -> Refusal + '_ {
    |error| match call.is_stopped() {
        true => Refusal::Stopped,
        false => Refusal::Failed(format!("{error:#}")),
    }
}

/// The question that is answered: the claim that the user has corrected it to, or what was asked.
///
/// # Errors
/// It is in another language.
fn answerable<'a>(
    asked: &'a str,
    claim: Option<&'a str>,
    part: &OpenedPart,
) -> Result<&'a str, Refusal> {
    let question = claim.unwrap_or(asked);
    match refusal(question).filter(|_| part.task().has_sides()) {
        Some(why) => Err(Refusal::Unanswerable(why)),
        None => Ok(question),
    }
}

/// # Errors
/// The part has no approach of this name, or it asks a search engine on the web.
fn check_approach(name: Option<&str>, part: &OpenedPart) -> Result<(), Refusal> {
    let Some(name) = name else {
        return Ok(());
    };
    let refused = |why: String| Refusal::BadRequest(why);
    let found = Approach::find(part.task(), name).map_err(|why| refused(format!("{why:#}")))?;
    match found.asks_a_service() {
        true => Err(refused(format!(
            "the approach {name} asks a search engine on the web, and nothing here uses the network"
        ))),
        false => Ok(()),
    }
}

impl Desk for ServedCollections {
    fn version(&self, collection: Option<&str>) -> Option<u64> {
        self.find(collection).ok().map(Served::version)
    }

    fn collections(&self, _: &Call) -> Result<Vec<CollectionInfo>, Refusal> {
        let collections = self.collections.iter().map(|served| {
            let mut found = CollectionInfo {
                name: served.name.clone(),
                kinds: Vec::new(),
                documents: None,
                state: state_of(&served.state()),
                reason: None,
                approaches: Vec::new(),
                examples: Vec::new(),
            };
            match served.state() {
                served::CollectionState::Ready(opened) => {
                    found.kinds = opened.parts.iter().map(OpenedPart::kind).collect();
                    found.documents = opened.parts.first().map(|part| part.documents);
                    found.examples.clone_from(&opened.examples);
                    let first = opened.parts.first().map(OpenedPart::task);
                    let all = first.map(approaches::all).transpose();
                    let all = all.map_err(|why| Refusal::Failed(format!("{why:#}")))?;
                    let names = all.into_iter().flatten().map(|about| about.name);
                    found.approaches = names.collect();
                }
                served::CollectionState::Building => {}
                served::CollectionState::Damaged => {
                    found.reason = Some("it cannot be read; the server's log says why".into());
                }
            }
            Ok(found)
        });
        collections.collect()
    }

    fn health(&self, _: &Call) -> Result<Health, Refusal> {
        let collections = self.collections.iter().map(|served| CollectionHealth {
            name: served.name.clone(),
            state: state_of(&served.state()),
        });
        let collections: Vec<CollectionHealth> = collections.collect();
        let has = |state| collections.iter().any(|of| of.state == state);
        let state = match () {
            () if !has(CollectionState::Building) && !has(CollectionState::Damaged) => {
                CollectionState::Ready
            }
            () if !has(CollectionState::Ready) && has(CollectionState::Damaged) => {
                CollectionState::Damaged
            }
            () => CollectionState::Building,
        };
        Ok(Health { state, collections })
    }

    fn search(&self, asked: &Search, call: &Call) -> Result<SearchAnswer, Refusal> {
        let name = asked.collection.as_deref();
        self.part(name, asked.kind, &asked.question, |name, _, part| {
            let question = answerable(&asked.question, asked.claim.as_deref(), part)?;
            check_approach(asked.approach.as_deref(), part)?;
            let set = settings_of(asked, part)?;
            let with = QuestionAsked {
                approach: asked.approach.as_deref(),
                set: &set,
                number: asked.hits,
                ..QuestionAsked::first(question)
            };
            let answered = part.answer(&with, call.stop(), &mut |_| ());
            answered
                .and_then(|answered| search::found(asked, question, name, part, answered))
                .map_err(refused(call))
        })
    }

    fn words(&self, asked: &WordSearch, call: &Call) -> Result<Vec<WordHit>, Refusal> {
        let opened = self.find(Some(&asked.collection))?.ready()?;
        let Some(part) = opened.texts() else {
            return Err(Refusal::Unanswerable(format!(
                "the collection {:?} has images and no texts",
                asked.collection
            )));
        };
        let hits = || -> Result<Vec<WordHit>> {
            let found = part.by_words(&asked.query, asked.hits)?;
            let hits = found.into_iter().map(|(id, score)| {
                let document = part.document(&id)?;
                let document = document.context("a document that was found is not there")?;
                Ok(WordHit {
                    stored: document::stored(&document, part.kind()),
                    id: id.0,
                    score,
                })
            });
            hits.collect()
        };
        hits().map_err(refused(call))
    }

    fn document(&self, address: &Address, call: &Call) -> Result<DocumentAnswer, Refusal> {
        let served = self.find(Some(&address.collection))?;
        let opened = served.ready()?;
        let found = document::find(&served.name, &opened, &DocId(address.id.clone()));
        let unknown = || Refusal::UnknownDocument(address.id.clone());
        found.map_err(refused(call))?.ok_or_else(unknown)
    }

    fn stored(&self, address: &Address, call: &Call) -> Result<String, Refusal> {
        let opened = self.find(Some(&address.collection))?.ready()?;
        let unknown = || Refusal::UnknownDocument(address.id.clone());
        let part = opened.texts().ok_or_else(unknown)?;
        let found = part.document(&DocId(address.id.clone()));
        let found = found.map_err(refused(call))?.ok_or_else(unknown)?;
        Ok(document::stored(&found, part.kind()))
    }

    fn explain(&self, asked: &Explain, call: &Call) -> Result<Explained, Refusal> {
        let served = self.find(asked.collection.as_deref())?;
        let opened = served.ready()?;
        let id = DocId(asked.id.clone());
        let unknown = || Refusal::UnknownDocument(asked.id.clone());
        let part = match opened.kind_for(&asked.question) {
            Some(kind) => opened.part(Some(kind)),
            None => document::part_with(&opened, &id).map_err(refused(call))?,
        };
        let part = part.ok_or_else(unknown)?;
        let question = answerable(&asked.question, asked.claim.as_deref(), part)?;
        check_approach(asked.approach.as_deref(), part)?;
        let explained = explain::score(asked, question, &served.name, part, call.stop());
        match explained.map_err(refused(call))? {
            Some(explained) => Ok(explained),
            None => Err(Refusal::Unanswerable(format!(
                "{:?} is not among the documents whose scores are explained: the candidates for an image list, and the first {} texts",
                asked.id,
                explain::TEXTS
            ))),
        }
    }

    fn stance(&self, asked: &StanceQuestion, call: &Call) -> Result<Vec<StanceAnswer>, Refusal> {
        read::stances(asked, self.encoder.as_deref(), call).map_err(refused(call))
    }

    fn quality(&self, asked: &QualityQuestion, call: &Call) -> Result<Vec<Quality>, Refusal> {
        read::qualities(asked, self.encoder.as_deref(), call).map_err(refused(call))
    }

    fn debate(&self, asked: &DebateQuestion, call: &Call) -> Result<Answer, Refusal> {
        self.debated(asked, |name, opened, part, with| {
            let answered = part.answer(with, call.stop(), &mut |_| ());
            let answered = answered.map_err(refused(call))?;
            let arguments = opened.part(Some(DocumentKind::Arguments));
            let debated = completed(answered.answer, name, arguments).map_err(refused(call))?;
            Ok(Answer {
                question: asked.question.clone(),
                ..debated
            })
        })
    }

    fn report(&self, asked: &DebateQuestion, call: &Call) -> Result<String, Refusal> {
        self.debated(asked, |_, _, part, with| {
            report::page(with, part, call.stop()).map_err(refused(call))
        })
    }

    fn reply(&self, conversation: &Conversation, call: &Call) -> Result<Reply, Refusal> {
        let said = conversation.messages.last();
        let said = said.map_or("", |message| message.content.as_str());
        let mut last = Refusal::Unanswerable("no collection has arguments to answer with".into());
        for served in &self.collections {
            match served.ready() {
                Ok(opened) => {
                    if let Some(part) = opened.part(Some(DocumentKind::Arguments)) {
                        return reply::to(said, part).map_err(refused(call));
                    }
                }
                Err(refusal) => last = refusal,
            }
        }
        Err(last)
    }

    fn picture(&self, address: &Address, call: &Call) -> Result<EncodedPicture, Refusal> {
        let opened = self.find(Some(&address.collection))?.ready()?;
        let found = document::picture(&opened, &DocId(address.id.clone()));
        let unknown = || Refusal::UnknownDocument(address.id.clone());
        found.map_err(refused(call))?.ok_or_else(unknown)
    }
}

fn state_of(state: &served::CollectionState) -> CollectionState {
    match state {
        served::CollectionState::Building => CollectionState::Building,
        served::CollectionState::Ready(_) => CollectionState::Ready,
        served::CollectionState::Damaged => CollectionState::Damaged,
    }
}

/// What a search changes in the approach: the portal whose arguments are ranked.
///
/// # Errors
/// There is no such portal, or the documents have none.
fn settings_of(asked: &Search, part: &OpenedPart) -> Result<Vec<Setting>, Refusal> {
    let Some(portal) = &asked.filters.portal else {
        return Ok(Vec::new());
    };
    if !search::has_portals(part.task()) {
        return Err(Refusal::BadRequest("only arguments have a portal".into()));
    }
    let settings = vec![Setting::value(&["portals"], vec![portal.as_str()].into())];
    let refused = |why: Error| Refusal::BadRequest(format!("{why:#}"));
    Approach::find_with(
        part.task(),
        asked.approach.as_deref().unwrap_or("riposte"),
        &settings,
    )
    .map_err(refused)?;
    Ok(settings)
}
