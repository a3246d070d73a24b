//! The debate sheet of a topic: the strongest arguments for and against its claim, and the images that illustrate them. `--debate` writes the sheets
//! as JSON lines, and the report reads them.

use std::collections::HashSet;

use riposte_eval::lines::{read_json, write_json};
use riposte_eval::{DocId, Error, LineError, Stance, TopicId};
use riposte_page::presence::Presence;
use serde::{Deserialize, Serialize};

/// The minimum similarity of an image and an argument that it illustrates: the limit with the fewest errors on the pairs of the sample, whose sides are
/// known. `benches/illustrations.py` chooses it and prints its error.
pub const ILLUSTRATES: f64 = 0.7;

/// What people say for and against the claim of a topic, and the images of its two lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DebateSheet {
    pub topic: TopicId,
    /// The claim that the arguments are for or against: "zoos should be closed".
    pub claim: String,
    /// The arguments for the claim, the arguments against it, then those whose side is undecided; each in the order of the ranking.
    pub arguments: Vec<DebateArgument>,
    /// The number of arguments, from the top of the topic's ranking, from which these were chosen.
    pub considered: usize,
    /// The number of those arguments whose side is undecided. Only the first of them are on the sheet.
    pub undecided: usize,
    /// The images of the topic's lists, in the order of the run.
    pub images: Vec<DebateImage>,
    /// Whether any of the arguments is about the topic; `None` if that was not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presence: Option<Presence>,
}

/// An argument for or against the claim, or one that is undecided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DebateArgument {
    pub argument: DocId,
    /// `None` if it is undecided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<Stance>,
    /// The argument's rank among all arguments about the topic, from 1.
    pub rank: usize,
    /// The argument's score in that ranking.
    pub score: f64,
    /// P(pro) - P(con) towards the claim, in [-1, 1].
    pub stance: f64,
    /// The probability that it is about the topic; `None` if that was not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<f64>,
    /// The conclusion that the argument argues for, in its own words; empty if it gives none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub conclusion: String,
    /// The sentences of the argument that take its side most clearly, or that are most about the claim if it is undecided.
    pub quote: String,
    /// Near-duplicates of the argument, which are further down in the ranking.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<DocId>,
}

/// An image of one of the topic's lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DebateImage {
    pub image: DocId,
    /// The side that the image takes; `None` if it is undecided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<Stance>,
    /// The list of the run that it is in. An image can be in the list of the other side, if that would not be full without it.
    pub list: Stance,
    /// The rank in that list, from 1.
    pub rank: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The argument of the same side that is most similar to the image. `None` if the image is undecided or has no words to compare, or the side has no
    /// argument.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub like: Option<Illustration>,
}

/// How an image illustrates an argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Illustration {
    pub argument: DocId,
    /// The cosine between a sentence of the image and one of the argument, in [-1, 1].
    pub likeness: f64,
    /// The sentence of the image.
    pub words: String,
    /// Where in the document this sentence is: "text in the image", "caption".
    pub place: String,
    /// The sentence of the argument.
    pub sentence: String,
    /// The largest such cosine with an argument of the other side; `None` if that side has no argument.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_side: Option<f64>,
}

impl Illustration {
    /// Whether the image illustrates the argument: it is similar enough, and more similar to it than to any argument of the other side.
    pub fn illustrates(&self) -> bool {
        self.likeness >= ILLUSTRATES && !self.is_torn()
    }

    /// Whether an argument of the other side is as similar.
    pub fn is_torn(&self) -> bool {
        self.other_side.is_some_and(|other| other >= self.likeness)
    }
}

impl DebateSheet {
    /// The arguments of a side, or those that are undecided; the best first.
    pub fn arguments_of(&self, side: Option<Stance>) -> impl Iterator<Item = &DebateArgument> {
        self.arguments.iter().filter(move |a| a.side == side)
    }

    /// The images that illustrate an argument ([`Illustration::illustrates`]), the most similar first.
    pub fn illustrations<'a>(
        &'a self,
        argument: &DocId,
    ) -> Vec<(&'a DebateImage, &'a Illustration)> {
        let images = self.images.iter();
        let mut found: Vec<_> = images
            .filter_map(|image| Some((image, image.like.as_ref()?)))
            .filter(|(_, like)| like.argument == *argument && like.illustrates())
            .collect();
        found.sort_by(|(a, like), (b, other)| {
            let by_likeness = other.likeness.total_cmp(&like.likeness);
            by_likeness.then(a.rank.cmp(&b.rank))
        });
        // a run with overlap has an image in both lists
        let mut seen = HashSet::new();
        found.retain(|(image, _)| seen.insert(&image.image));
        found
    }
}

/// Writes one line for each topic, a JSON object. Errors: a value is not finite, which JSON cannot express.
pub fn write(sheets: &[DebateSheet]) -> Result<Vec<u8>, Error> {
    write_json(sheets, "a debate sheet")
}

/// Reads the lines that [`write()`] writes. Errors: the first line that is not in this format.
pub fn read(text: &str) -> Result<Vec<DebateSheet>, LineError> {
    read_json(text, "a debate sheet")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(id: &str, rank: u32, argument: &str, likeness: f64) -> DebateImage {
        DebateImage {
            image: DocId(id.into()),
            side: Some(Stance::Pro),
            list: Stance::Pro,
            rank,
            score: Some(0.5),
            like: Some(Illustration {
                argument: DocId(argument.into()),
                likeness,
                words: "a cage".into(),
                place: "caption".into(),
                sentence: "Cages harm.".into(),
                other_side: None,
            }),
        }
    }

    fn sheet() -> DebateSheet {
        DebateSheet {
            topic: TopicId("2".into()),
            claim: "zoos should be closed".into(),
            arguments: Vec::new(),
            considered: 3,
            undecided: 1,
            images: vec![
                image("I1", 1, "a", 0.8),
                image("I2", 2, "b", 0.9),
                image("I3", 3, "a", 0.9),
                image("I4", 4, "a", 0.8),
                image("I5", 5, "a", 0.6),
            ],
            presence: None,
        }
    }

    #[test]
    fn the_most_similar_image_of_an_argument_is_first() {
        let sheet = sheet();
        let ids = |argument: &str| -> Vec<&str> {
            let found = sheet.illustrations(&DocId(argument.into()));
            found.iter().map(|(image, _)| &*image.image.0).collect()
        };
        assert_eq!(ids("a"), ["I3", "I1", "I4"]);
        assert_eq!(ids("b"), ["I2"]);
        assert!(ids("c").is_empty());
    }

    #[test]
    fn what_is_as_similar_to_the_other_side_illustrates_nothing() {
        for (likeness, other_side, illustrates) in [
            (0.9, None, true),
            (0.9, Some(0.8), true),
            (0.9, Some(0.9), false),
            (0.9, Some(1.0), false),
            (0.2, None, false),
        ] {
            let like = Illustration {
                other_side,
                ..image("I1", 1, "a", likeness).like.unwrap()
            };
            assert_eq!(like.illustrates(), illustrates, "{likeness} {other_side:?}");
        }
    }

    #[test]
    fn what_is_written_is_read_and_another_line_is_named() {
        let written = String::from_utf8(write(&[sheet()]).unwrap()).unwrap();
        assert_eq!(read(&written).unwrap(), [sheet()]);
        let error = read(&format!("{written}{{\"topic\":\"3\"}}\n")).unwrap_err();
        assert_eq!(error.line, 2);
        assert!(error.what.contains("missing field"), "{}", error.what);
    }
}
