//! The desk of the tests, and a server in front of it.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use riposte_serve::answers::*;
use riposte_serve::questions::*;
use riposte_serve::{Call, Desk, Refusal, ServerSettings, ShutdownReport, Switch, run};
use serde_json::json;

use crate::attack;

/// The longest that anything here is waited for. Nothing takes this long unless a test fails.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The times that a test does not shorten: on a busy machine, a thread can stand still for seconds.
const LONG: Duration = Duration::from_secs(600);

/// Every second float has digits that only a careful writer keeps.
pub const SCORE: f64 = 0.1 + 0.2;

/// Answers what a test can check. Some questions make it do something else:
///
/// | question | |
/// |---|---|
/// | panic | panics |
/// | fail | fails, with a reason for the log |
/// | german | cannot be answered |
/// | damaged | its collection is damaged |
/// | wait | waits until it is stopped or the test lets it go, and then does what the next word says |
/// | stubborn | waits until the test lets it go |
/// | large | answers with 100,000 bytes, or [`Stub::size`], for each hit |
/// | attack | answers with texts that attack the page; so is the document "attack", and the collections of version 66 |
/// | nothing | finds nothing that is about it |
pub struct Stub {
    pub size: AtomicUsize,
    pub version: AtomicU64,
    /// How many calls have begun, and how many of them have seen that they are stopped.
    pub begun: AtomicUsize,
    pub stopped: AtomicUsize,
    released: Mutex<bool>,
    release: Condvar,
    pub seen: Mutex<Vec<String>>,
}

impl Default for Stub {
    fn default() -> Stub {
        Stub {
            size: AtomicUsize::new(100_000),
            version: AtomicU64::default(),
            begun: AtomicUsize::default(),
            stopped: AtomicUsize::default(),
            released: Mutex::default(),
            release: Condvar::default(),
            seen: Mutex::default(),
        }
    }
}

impl Stub {
    /// Lets all calls go that wait.
    pub fn release(&self) {
        *self.released.lock().unwrap() = true;
        self.release.notify_all();
    }

    fn act(&self, question: &str, call: &Call) -> Result<(), Refusal> {
        self.begun.fetch_add(1, SeqCst);
        self.seen.lock().unwrap().push(question.to_owned());
        self.behave(question, call)
    }

    fn behave(&self, question: &str, call: &Call) -> Result<(), Refusal> {
        let (first, rest) = question.split_once(' ').unwrap_or((question, ""));
        match first {
            "panic" => panic!("the desk fell over"),
            "fail" => Err(Refusal::Failed("disk /secret is on fire".to_owned())),
            "german" => Err(Refusal::Unanswerable(
                "the question looks German".to_owned(),
            )),
            "damaged" => Err(Refusal::Unavailable {
                reason: "the collection is damaged".to_owned(),
                retry_after: Duration::from_millis(1500),
            }),
            "wait" => {
                self.wait(call, true)?;
                self.behave(rest, call)
            }
            "stubborn" => self.wait(call, false),
            _ => Ok(()),
        }
    }

    fn wait(&self, call: &Call, heeds: bool) -> Result<(), Refusal> {
        let begun = Instant::now();
        let mut released = self.released.lock().unwrap();
        while !*released && begun.elapsed() < PATIENCE {
            if heeds && call.is_stopped() {
                self.stopped.fetch_add(1, SeqCst);
                return Err(Refusal::Stopped);
            }
            let glance = Duration::from_millis(2);
            released = self.release.wait_timeout(released, glance).unwrap().0;
        }
        Ok(())
    }
}

fn collection_of(name: Option<&str>) -> Result<String, Refusal> {
    match name {
        None | Some("debates") => Ok("debates".to_owned()),
        Some(other) => Err(Refusal::UnknownCollection(other.to_owned())),
    }
}

fn document_of(address: &Address) -> Result<&str, Refusal> {
    collection_of(Some(&address.collection))?;
    match address.id.as_str() {
        "c67482ba-2019-04-18T13:32:05Z-00000-000" | "a/b ä" | "1" => Ok(&address.id),
        other => Err(Refusal::UnknownDocument(other.to_owned())),
    }
}

impl Desk for Stub {
    fn version(&self, collection: Option<&str>) -> Option<u64> {
        assert_ne!(collection, Some("panicking"), "there is no version of it");
        let version = self.version.load(SeqCst);
        (collection.is_none_or(|name| name == "debates")).then_some(version)
    }

    fn collections(&self, _: &Call) -> Result<Vec<CollectionInfo>, Refusal> {
        let debates = CollectionInfo {
            name: "debates".to_owned(),
            kinds: vec![DocumentKind::Arguments, DocumentKind::Images],
            documents: Some(1234),
            state: CollectionState::Ready,
            reason: None,
            approaches: vec!["riposte".to_owned()],
            examples: vec!["Should zoos be closed?".to_owned()],
        };
        Ok(match self.version.load(SeqCst) {
            66 => vec![debates, attack::collection()],
            _ => vec![debates],
        })
    }

    fn health(&self, _: &Call) -> Result<Health, Refusal> {
        let state = match self.version.load(SeqCst) {
            99 => CollectionState::Building,
            _ => CollectionState::Ready,
        };
        let name = "debates".to_owned();
        Ok(Health {
            state,
            collections: vec![CollectionHealth { name, state }],
        })
    }

    fn search(&self, search: &Search, call: &Call) -> Result<SearchAnswer, Refusal> {
        let collection = collection_of(search.collection.as_deref())?;
        self.act(&search.question, call)?;
        let text = match search.question.starts_with("large") {
            true => "x".repeat(self.size.load(SeqCst)),
            false => format!("{search:?}"),
        };
        let hit = |rank: usize| SearchHit {
            rank: u32::try_from(rank).unwrap(),
            id: format!("d{rank}"),
            score: SCORE / rank as f64,
            side: Some(Stance::Con),
            list: (search.kind == Some(DocumentKind::Images)).then_some(Stance::Con),
            stance: Some(StanceProbabilities {
                pro: 0.1,
                con: 0.7,
                neither: 0.2,
            }),
            title: Some("Zoos should be closed".to_owned()),
            text: text.clone(),
            portal: Some("debate.org".to_owned()),
            url: Some("https://example.org/<script>".to_owned()),
            repeats: vec!["d9".to_owned()],
            about: About {
                probability: Some(0.9),
                is_padding: rank == 3,
            },
            ..SearchHit::default()
        };
        let count = match search.question.as_str() {
            "large" => search.hits,
            _ => search.hits.min(3),
        };
        let found = SearchAnswer {
            question: search.question.clone(),
            collection,
            kind: search.kind.unwrap_or(DocumentKind::Arguments),
            approach: search.approach.clone().unwrap_or("riposte".to_owned()),
            understood: Some(Understood {
                claim: "zoos should be closed".to_owned(),
                counter_claim: "zoos should not be closed".to_owned(),
                polarity: QuestionPolarity::Negative,
            }),
            results: (1..=count).map(hit).collect(),
            presence: Some(Presence {
                about: 0.99,
                least: 0.94,
                by: Basis::Sentences,
            }),
            nothing_about_it: search.question.starts_with("nothing"),
        };
        Ok(match search.question.starts_with("attack") {
            true => attack::found(search, found),
            false => found,
        })
    }

    fn words(&self, search: &WordSearch, call: &Call) -> Result<Vec<WordHit>, Refusal> {
        collection_of(Some(&search.collection))?;
        self.act(&search.query, call)?;
        if search.query.starts_with("attack") {
            return Ok(vec![attack::word_hit()]);
        }
        let hit = |rank: usize| WordHit {
            id: format!("d{rank}"),
            score: SCORE / rank as f64,
            stored: format!(r#"{{"id":"d{rank}","contents":"Zoos {rank}."}}"#),
        };
        Ok((1..=search.hits.min(3)).map(hit).collect())
    }

    fn document(&self, address: &Address, _: &Call) -> Result<DocumentAnswer, Refusal> {
        if address.id == "attack" {
            return Ok(attack::document(address));
        }
        Ok(DocumentAnswer {
            collection: address.collection.clone(),
            id: document_of(address)?.to_owned(),
            title: Some("A title".to_owned()),
            text: "A text.".to_owned(),
            ..DocumentAnswer::default()
        })
    }

    fn stored(&self, address: &Address, _: &Call) -> Result<String, Refusal> {
        let id = document_of(address)?;
        Ok(json!({"id": id, "title": "A title", "contents": "A text."}).to_string())
    }

    fn explain(&self, explain: &Explain, call: &Call) -> Result<Explained, Refusal> {
        let collection = collection_of(explain.collection.as_deref())?;
        self.act(&explain.question, call)?;
        let explained = Explained {
            question: explain.question.clone(),
            collection,
            id: explain.id.clone(),
            score: SCORE,
            reason: Some("It has the words.".to_owned()),
            explanation: json!({"id": "score", "value": SCORE, "parts": [{"name": "bm25", "value": 0.2}]}),
        };
        Ok(match explain.question.starts_with("attack") {
            true => attack::explained(explained),
            false => explained,
        })
    }

    fn stance(&self, question: &StanceQuestion, call: &Call) -> Result<Vec<StanceAnswer>, Refusal> {
        let explanation = question.explain.then(|| json!({"id": "balance"}));
        let answer = match &question.target {
            StanceTarget::Topic(topic) => {
                self.act(topic, call)?;
                StanceAnswer::Claim {
                    stance: ClaimStance::Con,
                    probabilities: StanceProbabilities {
                        pro: 0.04,
                        con: 0.94,
                        neither: 0.02,
                    },
                    undecided: false,
                    unlike: None,
                    explanation,
                }
            }
            StanceTarget::Objects(_) => StanceAnswer::Objects {
                stance: ObjectStance::First,
                first: 0.97,
                second: 0.01,
                neutral: 0.01,
                no: 0.01,
                explanation,
            },
        };
        Ok(vec![answer; question.texts.len()])
    }

    fn quality(&self, question: &QualityQuestion, call: &Call) -> Result<Vec<Quality>, Refusal> {
        self.act(&question.topic, call)?;
        let quality = Quality {
            quality: 0.7,
            explanation: question.explain.then(|| json!({"id": "quality"})),
        };
        Ok(vec![quality; question.texts.len()])
    }

    fn debate(&self, debate: &DebateQuestion, call: &Call) -> Result<Answer, Refusal> {
        collection_of(debate.collection.as_deref())?;
        self.act(&debate.question, call)?;
        let argument = |side, number: usize| Argument {
            id: format!("d{number}"),
            rank: number,
            score: SCORE,
            stance: if side == Stance::Pro { 0.8 } else { -0.8 },
            conclusion: "Zoos".to_owned(),
            text: format!("{side:?} argument {number}"),
            repeats: vec!["d8".to_owned(), "d9".to_owned()],
            about: About {
                probability: Some(0.5),
                is_padding: number == 2,
            },
            ..Argument::default()
        };
        let image = Image {
            list: Stance::Pro,
            rank: 1,
            id: "I1".to_owned(),
            score: 1.4,
            pro: Some(0.6),
            con: None,
            words: "Born to be wild".to_owned(),
            place: Some("text in the image".to_owned()),
            file: None,
            picture: Some("/picture/debates/I1".to_owned()),
            page: None,
            argument: None,
            likeness: None,
            about: About::default(),
        };
        let numbers = 1..=debate.number;
        let side = |side| Side {
            side,
            claim: format!("the claim of {side:?}"),
            arguments: Some(
                numbers
                    .clone()
                    .map(|number| argument(side, number))
                    .collect(),
            ),
            images: Some(vec![image.clone()]),
        };
        let debated = Answer {
            question: debate.question.clone(),
            sides: vec![side(Stance::Pro), side(Stance::Con)],
            undecided: Some(Undecided {
                more_arguments: Some(2),
                ..Undecided::default()
            }),
            presence: Some(Presence {
                about: 0.31,
                least: 0.51,
                by: Basis::Words,
            }),
            nothing_about_it: debate.question.starts_with("nothing"),
            ..Answer::default()
        };
        Ok(match debate.question.starts_with("attack") {
            true => attack::debated(debated),
            false => debated,
        })
    }

    fn report(&self, debate: &DebateQuestion, call: &Call) -> Result<String, Refusal> {
        collection_of(debate.collection.as_deref())?;
        self.act(&debate.question, call)?;
        Ok(format!("<!doctype html><script>1</script>{debate:?} ä"))
    }

    fn reply(&self, conversation: &Conversation, call: &Call) -> Result<Reply, Refusal> {
        let last = conversation.messages.last().unwrap();
        self.act(&last.content, call)?;
        Ok(Reply {
            content: format!("But is it true that {}", last.content),
            arguments: vec![UsedArgument {
                id: "15978.994".to_owned(),
                text: "It is not.".to_owned(),
                score: None,
            }],
        })
    }

    fn picture(&self, address: &Address, _: &Call) -> Result<EncodedPicture, Refusal> {
        document_of(address)?;
        Ok(EncodedPicture {
            format: PictureFormat::WebP,
            bytes: b"RIFF....WEBP".to_vec(),
        })
    }
}

/// A server that runs until it is dropped.
pub struct Running {
    pub address: SocketAddr,
    pub stub: Arc<Stub>,
    pub switch: Switch,
    /// The lines of the log.
    pub log: Arc<Mutex<Vec<String>>>,
    pub thread: Option<JoinHandle<ShutdownReport>>,
}

impl Running {
    /// With the settings that `change` makes of those by default. Only the end does not wait long.
    pub fn start(change: impl FnOnce(&mut ServerSettings)) -> Running {
        let log: Arc<Mutex<Vec<String>>> = Arc::default();
        let lines = Arc::clone(&log);
        let mut settings = ServerSettings {
            deadline: LONG,
            quick_deadline: LONG,
            head_time: LONG,
            body_time: LONG,
            write_time: LONG,
            grace: Duration::from_millis(500),
            log: Arc::new(move |record| lines.lock().unwrap().push(record.to_string())),
            ..ServerSettings::default()
        };
        change(&mut settings);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stub: Arc<Stub> = Arc::default();
        let (desk, switch) = (Arc::clone(&stub), Switch::default());
        let turned = switch.clone();
        let serves = move || run(listener, desk, settings, &turned).unwrap();
        Running {
            address,
            stub,
            switch,
            log,
            thread: Some(std::thread::spawn(serves)),
        }
    }

    pub fn end(&mut self) -> ShutdownReport {
        self.switch.end();
        self.thread.take().unwrap().join().unwrap()
    }

    /// The lines of the log that have all of these texts.
    pub fn lines(&self, texts: &[&str]) -> usize {
        let log = self.log.lock().unwrap();
        let lines = log.iter();
        lines
            .filter(|line| texts.iter().all(|text| line.contains(text)))
            .count()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stub.release();
        if self.thread.is_some() {
            self.end();
        }
    }
}

/// Waits until something is so.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
