//! The answer to a question with its sides, in the shape of `riposte ask --json`.

use serde::Serialize;
use utoipa::ToSchema;

use super::{About, ClaimSide, Presence, Understood};

/// The answer to a question: two sides, or a list of texts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct Debated {
    /// The question as it was answered, with single spaces.
    pub question: String,
    /// What the question was understood as; `None` for texts, which have no sides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub understood: Option<Understood>,
    /// For the claim, then against it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sides: Vec<SideOfDebate>,
    /// What takes no clear side; `None` for texts, which have no sides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Undecided>,
    /// The objects that a question compares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objects: Option<[String; 2]>,
    /// Passages or other documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub texts: Option<Vec<ListedText>>,
    /// Whether anything in the collection is about the question; `None` if that was not judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence: Option<Presence>,
    /// True if no document is about the question; the closest ones are listed anyway.
    pub nothing_about_it: bool,
}

/// What speaks for or against the claim.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct SideOfDebate {
    /// The side.
    pub side: ClaimSide,
    /// The claim of this side; empty for an open question.
    pub claim: String,
    /// Strongest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<QuotedArgument>>,
    /// Best first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<Vec<ListedImage>>,
}

/// What is about the question but takes no clear side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct Undecided {
    /// Strongest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<QuotedArgument>>,
    /// Best first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<Vec<ListedImage>>,
    /// The number of undecided arguments that are not among these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_arguments: Option<usize>,
}

/// An argument, quoted by the words that take its side most clearly.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[schema(as = Argument)]
pub struct QuotedArgument {
    /// Its id.
    pub id: String,
    /// Rank among all arguments, from 1.
    pub rank: usize,
    /// Its score in that ranking.
    pub score: f64,
    /// P(pro) - P(con).
    pub stance: f64,
    /// What it argues for, in its own words.
    pub conclusion: String,
    /// The quotation.
    pub text: String,
    /// The ids of near-duplicates.
    pub repeats: Vec<String>,
    /// Where it comes from, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// How likely it is that it is about the question.
    #[serde(flatten)]
    pub about: About,
}

/// An image, and the words that connect it with the question.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Image)]
pub struct ListedImage {
    /// The list of the run that it is in.
    pub list: ClaimSide,
    /// Its rank there, from 1.
    pub rank: u32,
    /// Its id.
    pub id: String,
    /// Its score.
    pub score: f64,
    /// P(pro), if the approach estimates it.
    pub pro: Option<f64>,
    /// P(con), if the approach estimates it.
    pub con: Option<f64>,
    /// The words in it or around it that fit the question best.
    pub words: String,
    /// Where the words are.
    pub place: Option<String>,
    /// The address of the picture on this server.
    pub picture: Option<String>,
    /// The address of the first page that shows it.
    pub page: Option<String>,
    /// The argument that it illustrates.
    pub argument: Option<String>,
    /// The likeness of the two.
    pub likeness: Option<f64>,
    /// How likely it is that it is about the question.
    #[serde(flatten)]
    pub about: About,
}

/// A passage, or a document of another text collection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[schema(as = Text)]
pub struct ListedText {
    /// From 1.
    pub rank: u32,
    /// Its id.
    pub id: String,
    /// Its score.
    pub score: f64,
    /// The stance towards the two objects of a comparison.
    pub stance: Option<String>,
    /// The words that fit the question best.
    pub text: String,
    /// Its address.
    pub url: Option<String>,
    /// How likely it is that it is about the question.
    #[serde(flatten)]
    pub about: About,
}
