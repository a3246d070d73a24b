//! What a [`Desk`](crate::Desk) is asked: requests that are read and checked.
//!
//! Each is serialised as the key under which its answer is kept, so two requests that mean the same are equal here.

mod asked;
mod check;
mod fields;
mod page;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub(crate) use asked::CachedRequest;
pub(crate) use check::{approach, name, question, sentence};
pub(crate) use fields::QueryFields;
pub(crate) use page::{BrowserRequest, PageStage};

use crate::limits::{MAX_HITS, MAX_MESSAGE, MAX_MESSAGES, MAX_NUMBER, MAX_TEXTS};
use crate::refusal::Refusal;

/// What a collection has, and what a search finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Kind)]
#[serde(rename_all = "lowercase")]
pub enum DocumentKind {
    /// Arguments of debate portals.
    Arguments,
    /// Images of web pages.
    Images,
    /// Passages, for comparative questions.
    Passages,
    /// Other documents.
    Documents,
}

/// Results on one side only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OnSide {
    /// For the claim.
    Pro,
    /// Against it.
    Con,
    /// Those that take no clear side.
    Undecided,
}

/// Which results are listed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Filters {
    /// Only this side.
    pub side: Option<OnSide>,
    /// Only arguments of this portal.
    pub portal: Option<String>,
    /// Only results that take a side with at least this |P(pro) - P(con)|, from 0 to 1.
    pub minimum: Option<f64>,
}

/// A question to rank for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Search {
    /// At most 1,000 characters with single spaces, and at least a letter or digit. This holds for all questions.
    pub question: String,
    /// The collection; `None` for the only one, or the first.
    pub collection: Option<String>,
    /// What to find; `None` for what the collection has.
    pub kind: Option<DocumentKind>,
    /// The number of results at most, from 1 to 10,000.
    pub hits: usize,
    /// The name of an approach: letters, digits and hyphens, so never a path. `None` for the default one.
    pub approach: Option<String>,
    /// What the question shall be understood as, instead of the claim that it seems to ask for.
    pub claim: Option<String>,
    /// Which results are listed.
    pub filters: Filters,
}

/// A query to rank for by its words alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WordSearch {
    /// The collection.
    pub collection: String,
    /// The query as it was sent.
    pub query: String,
    /// The number of results at most, from 1 to 10,000.
    pub hits: usize,
}

/// A document of a collection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Address {
    /// The collection.
    pub collection: String,
    /// The id of the document.
    pub id: String,
}

/// A score to explain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explain {
    /// The question.
    pub question: String,
    /// The collection; `None` for the only one, or the first.
    pub collection: Option<String>,
    /// The id of the document.
    pub id: String,
    /// The name of an approach, as for a [`Search`].
    pub approach: Option<String>,
    /// What the question shall be understood as, as for a [`Search`].
    pub claim: Option<String>,
}

/// Texts whose stances are asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StanceQuestion {
    /// Towards what.
    pub target: StanceTarget,
    /// From 1 to 1,000 texts. A text can be empty: it takes no side.
    pub texts: Vec<String>,
    /// Whether each answer has its tree of numbers.
    pub explain: bool,
}

/// What a stance is towards.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StanceTarget {
    /// The claim of a topic: a question, a motion, a claim or a subject.
    Topic(String),
    /// Two objects.
    Objects([String; 2]),
}

/// Texts whose qualities are asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QualityQuestion {
    /// What the texts argue about.
    pub topic: String,
    /// From 1 to 1,000 texts.
    pub texts: Vec<String>,
    /// Whether each answer has its tree of numbers.
    pub explain: bool,
}

/// A question to answer with what speaks for and against its claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DebateQuestion {
    /// The question.
    pub question: String,
    /// The collection; `None` for the only one, or the first.
    pub collection: Option<String>,
    /// The number of arguments on each side, of images of each list, or of texts; from 1 to 100.
    pub number: usize,
    /// The name of an approach, as for a [`Search`].
    pub approach: Option<String>,
    /// What the question shall be understood as, as for a [`Search`].
    pub claim: Option<String>,
}

/// A debate so far. The last message is the one to answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Conversation {
    /// From 1 to 100 messages.
    pub messages: Vec<ChatMessage>,
}

/// An utterance of a debate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Message)]
pub struct ChatMessage {
    /// Who says it.
    pub role: MessageRole,
    /// At most 10,000 characters. The last message has at least a letter or digit.
    pub content: String,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Role)]
#[serde(rename_all = "lowercase")]
pub enum MessageRole {
    /// The one who is answered.
    User,
    /// The one who answers.
    Assistant,
}

const KINDS: &[(&str, DocumentKind)] = &[
    ("arguments", DocumentKind::Arguments),
    ("images", DocumentKind::Images),
    ("passages", DocumentKind::Passages),
    ("documents", DocumentKind::Documents),
];

const SIDES: &[(&str, OnSide)] = &[
    ("pro", OnSide::Pro),
    ("con", OnSide::Con),
    ("undecided", OnSide::Undecided),
];

/// The number of results if a request names none.
const HITS: usize = 10;

/// The number of documents of a debate if a request names none, as in `riposte ask`.
const NUMBER: usize = 5;

impl DocumentKind {
    /// The name that requests have.
    pub(crate) fn word(self) -> &'static str {
        word(KINDS, self)
    }
}

impl OnSide {
    /// The name that requests have.
    pub(crate) fn word(self) -> &'static str {
        word(SIDES, self)
    }
}

fn word<T: PartialEq>(names: &[(&'static str, T)], of: T) -> &'static str {
    let mut names = names.iter();
    let found = names.find(|(_, value)| *value == of);
    found.map_or("", |(name, _)| name)
}

impl Filters {
    fn read(fields: &mut QueryFields) -> Result<Filters, Refusal> {
        Ok(Filters {
            side: fields.choice("side", SIDES)?,
            portal: fields.name("portal")?,
            minimum: fields.share("minimum")?,
        })
    }
}

impl Search {
    /// `question` is the name of the field with the question.
    pub(crate) fn read(mut fields: QueryFields, question: &str) -> Result<Search, Refusal> {
        let search = Search {
            question: fields.question(question)?,
            collection: fields.name("collection")?,
            kind: fields.choice("kind", KINDS)?,
            hits: fields.number("hits", MAX_HITS)?.unwrap_or(HITS),
            approach: fields.approach()?,
            claim: fields.claim()?,
            filters: Filters::read(&mut fields)?,
        };
        fields.finish()?;
        Ok(search)
    }
}

impl Explain {
    pub(crate) fn read(mut fields: QueryFields) -> Result<Explain, Refusal> {
        let explain = Explain {
            question: fields.question("q")?,
            collection: fields.name("collection")?,
            id: fields.name("id")?.ok_or_else(|| fields.missing("id"))?,
            approach: fields.approach()?,
            claim: fields.claim()?,
        };
        fields.finish()?;
        Ok(explain)
    }
}

impl DebateQuestion {
    pub(crate) fn read(mut fields: QueryFields) -> Result<DebateQuestion, Refusal> {
        let debate = DebateQuestion {
            question: fields.question("q")?,
            collection: fields.name("collection")?,
            number: fields.number("number", MAX_NUMBER)?.unwrap_or(NUMBER),
            approach: fields.approach()?,
            claim: fields.claim()?,
        };
        fields.finish()?;
        Ok(debate)
    }
}

/// The body of `POST /api/debate`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DebateBody {
    /// At most 1,000 characters.
    question: String,
    /// By default the only collection, or the first.
    collection: Option<String>,
    /// From 1 to 100, by default 5.
    #[schema(minimum = 1, maximum = 100)]
    number: Option<usize>,
    /// By default that of the collection.
    approach: Option<String>,
    /// What the question shall be understood as.
    claim: Option<String>,
}

impl TryFrom<DebateBody> for DebateQuestion {
    type Error = Refusal;

    fn try_from(body: DebateBody) -> Result<DebateQuestion, Refusal> {
        let number = body.number.unwrap_or(NUMBER);
        if !(1..=MAX_NUMBER).contains(&number) {
            return Err(check::outside("`number`", MAX_NUMBER));
        }
        Ok(DebateQuestion {
            question: question("question", &body.question)?,
            collection: body
                .collection
                .map(|it| name("collection", it))
                .transpose()?,
            number,
            approach: body.approach.map(approach).transpose()?,
            claim: body.claim.map(|it| question("claim", &it)).transpose()?,
        })
    }
}

/// The body of `POST /api/stance`: `topic`, or `objects`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StanceBody {
    /// At most 1,000 characters.
    topic: Option<String>,
    /// Two objects, instead of a topic.
    objects: Option<[String; 2]>,
    /// From 1 to 1,000 texts.
    texts: Vec<String>,
    /// Whether each answer has its tree of numbers.
    #[serde(default)]
    explain: bool,
}

impl TryFrom<StanceBody> for StanceQuestion {
    type Error = Refusal;

    fn try_from(body: StanceBody) -> Result<StanceQuestion, Refusal> {
        let target = match (body.topic, body.objects) {
            (Some(topic), None) => StanceTarget::Topic(question("topic", &topic)?),
            (None, Some([first, second])) => {
                StanceTarget::Objects([question("objects", &first)?, question("objects", &second)?])
            }
            _ => return Err(Refusal::bad("give either `topic` or `objects`")),
        };
        Ok(StanceQuestion {
            target,
            texts: texts(body.texts)?,
            explain: body.explain,
        })
    }
}

/// The body of `POST /api/quality`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QualityBody {
    /// At most 1,000 characters.
    topic: String,
    /// From 1 to 1,000 texts.
    texts: Vec<String>,
    /// Whether each answer has its tree of numbers.
    #[serde(default)]
    explain: bool,
}

impl TryFrom<QualityBody> for QualityQuestion {
    type Error = Refusal;

    fn try_from(body: QualityBody) -> Result<QualityQuestion, Refusal> {
        Ok(QualityQuestion {
            topic: question("topic", &body.topic)?,
            texts: texts(body.texts)?,
            explain: body.explain,
        })
    }
}

fn texts(texts: Vec<String>) -> Result<Vec<String>, Refusal> {
    match texts.len() {
        1..=MAX_TEXTS => Ok(texts),
        _ => Err(check::outside("the number of `texts`", MAX_TEXTS)),
    }
}

/// The body of `POST /`. The organisers' simulation can add other keys, which mean nothing here.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ConversationBody {
    /// From 1 to 100 messages, the last of which is answered.
    messages: Vec<ChatMessage>,
}

impl TryFrom<ConversationBody> for Conversation {
    type Error = Refusal;

    fn try_from(body: ConversationBody) -> Result<Conversation, Refusal> {
        let messages = body.messages;
        if !(1..=MAX_MESSAGES).contains(&messages.len()) {
            return Err(check::outside("the number of `messages`", MAX_MESSAGES));
        }
        let mut contents = messages.iter().map(|message| message.content.as_str());
        if contents.any(|content| content.chars().nth(MAX_MESSAGE).is_some()) {
            let sentence = format!("a message has more than {MAX_MESSAGE} characters");
            return Err(Refusal::bad(sentence));
        }
        let last = messages.last().map_or("", |message| &message.content);
        if !last.chars().any(char::is_alphanumeric) {
            return Err(Refusal::bad("the last message has no word"));
        }
        Ok(Conversation { messages })
    }
}
