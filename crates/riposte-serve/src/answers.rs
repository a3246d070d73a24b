//! What a [`Desk`](crate::Desk) answers. Names that are in the JSON of `riposte ask --json`, `stance` and `quality`, too, mean the same there.
//!
//! Scores and probabilities are written with as many digits as tell one number from the next, so a client reads exactly the number that was ranked by.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::questions::DocumentKind;
pub use riposte_eval::Stance;
pub use riposte_page::answer::{
    About, Answer, Argument, Image, QuestionPolarity, Side, SideSchema, Text, Undecided, Understood,
};
pub use riposte_page::presence::{Basis, Presence};

/// A collection that can be asked.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Collection)]
pub struct CollectionInfo {
    /// The name that requests have as `collection`.
    pub name: String,
    /// What it has.
    pub kinds: Vec<DocumentKind>,
    /// The number of its documents, if it is open.
    pub documents: Option<u64>,
    /// Whether it can answer.
    pub state: CollectionState,
    /// Why it cannot answer, in one sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The names that requests can have as `approach`.
    pub approaches: Vec<String>,
    /// Questions that it can answer.
    pub examples: Vec<String>,
}

/// Whether a collection can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = State)]
#[serde(rename_all = "lowercase")]
pub enum CollectionState {
    /// It answers.
    Ready,
    /// It will answer: its indexes or its evidence are being built.
    Building,
    /// It has to be mended first.
    Damaged,
}

/// Whether the server can answer. It answers with status 503 if no collection is ready.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Health {
    /// Ready if all collections are; damaged if none is and one is damaged.
    pub state: CollectionState,
    /// The state of each collection.
    pub collections: Vec<CollectionHealth>,
}

/// The state of a collection.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct CollectionHealth {
    /// Its name.
    pub name: String,
    /// Whether it can answer.
    pub state: CollectionState,
}

/// The ranking of a question.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Found)]
pub struct SearchAnswer {
    /// The question as it was answered, with single spaces.
    pub question: String,
    /// The collection that answered.
    pub collection: String,
    /// What the results are.
    pub kind: DocumentKind,
    /// The approach that ranked.
    pub approach: String,
    /// What the question was understood as; `None` for kinds without sides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub understood: Option<Understood>,
    /// The results, best first.
    pub results: Vec<SearchHit>,
    /// Whether anything in the collection is about the question; `None` if that was not judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence: Option<Presence>,
    /// True if no document is about the question; the closest ones are listed anyway.
    pub nothing_about_it: bool,
}

/// A result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[schema(as = Hit)]
pub struct SearchHit {
    /// From 1, as in the run: of an image, in its list.
    pub rank: u32,
    /// The id of the document.
    pub id: String,
    /// As in the run.
    pub score: f64,
    /// The side that it is listed on; `None` if it takes no clear side or there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<SideSchema>)]
    pub side: Option<Stance>,
    /// The list of the run that an image is in, with its rank there. Most images are listed on their side, but not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<SideSchema>)]
    pub list: Option<Stance>,
    /// The stance towards the claim, if it was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stance: Option<StanceProbabilities>,
    /// The conclusion of an argument, the title of a document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The words that answer: a quotation of an argument, a passage, the words in or around an image.
    pub text: String,
    /// Where the words are, for an image: in it, below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Where the document comes from, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The address of the document, or of the first page that shows the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The debate portal of an argument.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub portal: Option<String>,
    /// The address of the picture on this server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<String>,
    /// The ids of near-duplicates that are folded into this result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<String>,
    /// How likely it is that the document is about the question.
    #[serde(flatten)]
    pub about: About,
}

/// The probabilities of the three stances; they add up to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, ToSchema)]
#[schema(as = Stance)]
pub struct StanceProbabilities {
    /// For the claim.
    pub pro: f64,
    /// Against it.
    pub con: f64,
    /// It takes no side.
    pub neither: f64,
}

/// A result of a search by words alone.
#[derive(Clone, Debug, PartialEq)]
pub struct WordHit {
    /// The id of the document.
    pub id: String,
    /// The score of the words.
    pub score: f64,
    /// The document as it is stored: a JSON object or another text.
    pub stored: String,
}

/// A document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[schema(as = Document)]
pub struct DocumentAnswer {
    /// The collection that has it.
    pub collection: String,
    /// The id of the document.
    pub id: String,
    /// The conclusion of an argument, the title of a document or of the page of an image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The whole text.
    pub text: String,
    /// Where it comes from, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The debate portal of an argument.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub portal: Option<String>,
    /// The address of the picture on this server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<String>,
}

/// Why a document has its score.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Explained {
    /// The question as it was answered.
    pub question: String,
    /// The collection that answered.
    pub collection: String,
    /// The id of the document.
    pub id: String,
    /// The score that is explained.
    pub score: f64,
    /// The reason in a sentence, if there is a short one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The tree of numbers, as in `explain.jsonl`.
    pub explanation: Value,
}

/// The stance of a text.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum StanceAnswer {
    /// Towards the claim of a topic.
    Claim {
        /// PRO, CON or NEITHER.
        stance: ClaimStance,
        /// The probabilities.
        #[serde(flatten)]
        probabilities: StanceProbabilities,
        /// Whether it takes a side, but both sides are nearly as likely.
        undecided: bool,
        /// How the text differs from everything that the model has learned from.
        unlike: Option<String>,
        /// The tree of numbers, if it was asked for.
        #[serde(skip_serializing_if = "Option::is_none")]
        explanation: Option<Value>,
    },
    /// Towards two objects.
    Objects {
        /// FIRST, SECOND, NEUTRAL or NO.
        stance: ObjectStance,
        /// The probability that the text prefers the first object.
        first: f64,
        /// That it prefers the second.
        second: f64,
        /// That it compares them and prefers neither.
        neutral: f64,
        /// That it does not compare them.
        no: f64,
        /// The tree of numbers, if it was asked for.
        #[serde(skip_serializing_if = "Option::is_none")]
        explanation: Option<Value>,
    },
}

/// The likeliest stance towards a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum ClaimStance {
    /// For it.
    Pro,
    /// Against it.
    Con,
    /// Neither.
    Neither,
}

/// The likeliest stance towards two objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum ObjectStance {
    /// For the first.
    First,
    /// For the second.
    Second,
    /// It compares them and prefers neither.
    Neutral,
    /// It takes no stance.
    No,
}

/// How good a text is as an argument.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Quality {
    /// From 0 to 1.
    pub quality: f64,
    /// The tree of numbers, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Value>,
}

/// The next utterance of a debate.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Reply {
    /// What is said.
    pub content: String,
    /// The arguments that it is made of, most important first.
    pub arguments: Vec<UsedArgument>,
}

/// An argument of a reply.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct UsedArgument {
    /// Its id.
    pub id: String,
    /// What it says.
    pub text: String,
    /// Its score for the last message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

/// A picture for a browser.
#[derive(Clone, Debug, PartialEq)]
pub struct EncodedPicture {
    /// The format of the bytes.
    pub format: PictureFormat,
    /// An encoded picture.
    pub bytes: Vec<u8>,
}

/// The formats of pictures. None of them can contain a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureFormat {
    /// image/webp
    WebP,
    /// image/png
    Png,
    /// image/jpeg
    Jpeg,
}

impl PictureFormat {
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            PictureFormat::WebP => "image/webp",
            PictureFormat::Png => "image/png",
            PictureFormat::Jpeg => "image/jpeg",
        }
    }
}
