//! The answer to a question: the best arguments and images for and against its claim, or the best texts.
//!
//! Its JSON is what `riposte ask --json` prints and what a server answers. `{answer}` is the text for a terminal; `{answer:#100}` has styles and 100 columns.

mod terminal;

use riposte_eval::Stance;
use serde::Serialize;
use utoipa::ToSchema;

use crate::presence::Presence;

/// The answer to a question: two sides, or a list of texts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[schema(as = Debated)]
pub struct Answer {
    /// The question as it was answered, with single spaces.
    pub question: String,
    /// What the question was understood as; `None` for texts, which have no sides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub understood: Option<Understood>,
    /// For the claim, then against it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sides: Vec<Side>,
    /// What takes no clear side; `None` for texts, which have no sides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Undecided>,
    /// The objects that a question compares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objects: Option<[String; 2]>,
    /// Passages or other documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub texts: Option<Vec<Text>>,
    /// Whether anything in the collection is about the question; `None` if that was not judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence: Option<Presence>,
    /// True if no document is about the question; the closest ones are listed anyway.
    pub nothing_about_it: bool,
}

/// What a question was understood as.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Understood {
    /// What "yes" says; empty for an open question.
    pub claim: String,
    /// What "no" says; empty for an open question.
    pub counter_claim: String,
    /// Whether the question is for the claim's subject or against it: "Should zoos be banned?" is against zoos.
    pub polarity: QuestionPolarity,
}

/// Whether a question is for its subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Polarity)]
pub enum QuestionPolarity {
    /// "Should zoos be kept?"
    Positive,
    /// "Should zoos be banned?"
    Negative,
    /// An open question, or one without a side.
    Open,
}

/// What speaks for or against the claim.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = SideOfDebate)]
pub struct Side {
    /// The side.
    #[schema(value_type = SideSchema)]
    pub side: Stance,
    /// The claim of this side; empty for an open question.
    pub claim: String,
    /// Strongest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<Argument>>,
    /// Best first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<Vec<Image>>,
}

/// What is about the question but takes no clear side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct Undecided {
    /// Strongest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<Argument>>,
    /// Best first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<Vec<Image>>,
    /// The number of undecided arguments that are not among these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_arguments: Option<usize>,
}

/// An argument, quoted by the words that take its side most clearly.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct Argument {
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
pub struct Image {
    /// The list of the run that it is in.
    #[schema(value_type = SideSchema)]
    pub list: Stance,
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
    /// Its file. A server tells the address of the picture instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(ignore)]
    pub file: Option<String>,
    /// The address of the picture on this server.
    #[serde(skip_serializing_if = "Option::is_none")]
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
pub struct Text {
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

/// How likely it is that a document is about the question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct About {
    /// The probability; `None` if it was not judged.
    #[serde(rename = "about")]
    pub probability: Option<f64>,
    /// Whether the document is padding: one at the end of its list that is less likely to be about the question.
    #[serde(rename = "padding")]
    pub is_padding: bool,
}

// the description of a `Stance` in OpenAPI
/// A side towards the claim of a question.
#[derive(ToSchema)]
#[schema(as = Side, rename_all = "UPPERCASE")]
pub enum SideSchema {
    /// For the claim.
    Pro,
    /// Against it.
    Con,
}

impl Answer {
    /// The images of both sides and the undecided ones, to complete them.
    pub fn images_mut(&mut self) -> impl Iterator<Item = &mut Image> {
        let sides = self.sides.iter_mut().map(|of| &mut of.images);
        let undecided = self.undecided.iter_mut().map(|of| &mut of.images);
        sides.chain(undecided).flatten().flatten()
    }

    /// The arguments of both sides and the undecided ones, to complete them.
    pub fn arguments_mut(&mut self) -> impl Iterator<Item = &mut Argument> {
        let sides = self.sides.iter_mut().map(|of| &mut of.arguments);
        let undecided = self.undecided.iter_mut().map(|of| &mut of.arguments);
        sides.chain(undecided).flatten().flatten()
    }
}

/// The place in a list, from 0, at which its padding begins; `None` if it has none. Only the end of a list is padding.
pub fn padding_begins<'a>(
    list: impl ExactSizeIterator<Item = &'a About> + DoubleEndedIterator,
) -> Option<usize> {
    let length = list.len();
    let padding = list.rev().take_while(|about| about.is_padding).count();
    (padding > 0).then(|| length - padding)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_list_is_padding() {
        let about = [false, true, false, true, true].map(|is_padding| About {
            probability: None,
            is_padding,
        });
        assert_eq!(padding_begins(about.iter()), Some(3));
        assert_eq!(padding_begins(about[..3].iter()), None);
    }
}
