//! The debate sheet of a topic: the strongest arguments for and against its claim, and the images that illustrate them. `--debate` writes the sheets
//! as JSON lines, and the report reads them.

use riposte_eval::lines::{read_json, write_json};
use riposte_eval::{DocId, Error, LineError, Stance, TopicId};
use serde::{Deserialize, Serialize};

/// The minimum similarity of an image and an argument that it illustrates. Sentences of the sample that are less similar share a town or a job, but
/// no thought.
pub const ILLUSTRATES: f64 = 0.5;

/// What people say for and against the claim of a topic, and the images of its two lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DebateSheet {
    pub topic: TopicId,
    /// The claim that the arguments are for or against: "zoos should be closed".
    pub claim: String,
    /// The arguments for the claim, then the arguments against it; on each side, in the order of the ranking.
    pub arguments: Vec<DebateArgument>,
    /// The number of arguments, from the top of the topic's ranking, from which these were chosen.
    pub considered: usize,
    /// The number of those arguments whose side is uncertain. They are left out.
    pub undecided: usize,
    /// The images of the topic's lists, in the order of the run.
    pub images: Vec<DebateImage>,
}

/// An argument for or against the claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DebateArgument {
    pub argument: DocId,
    pub side: Stance,
    /// The argument's rank among all arguments about the topic, from 1.
    pub rank: usize,
    /// The argument's score in that ranking.
    pub score: f64,
    /// P(pro) - P(con) towards the claim, in [-1, 1].
    pub stance: f64,
    /// The conclusion that the argument argues for, in its own words; empty if it gives none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub conclusion: String,
    /// The sentences of the argument that take its side most clearly.
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
    /// The list that the image is in.
    pub side: Stance,
    /// The rank in that list, from 1.
    pub rank: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The argument of the same side that is most similar to the image. `None` if the image has no words to compare, or the side has no argument.
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

impl DebateSheet {
    /// The arguments of a side, the best first.
    pub fn arguments_of(&self, side: Stance) -> impl Iterator<Item = &DebateArgument> {
        self.arguments.iter().filter(move |a| a.side == side)
    }

    /// The images that illustrate an argument, the most similar first: images of the same side that are most similar to this argument, with a
    /// similarity of at least [`ILLUSTRATES`].
    pub fn illustrations<'a>(
        &'a self,
        argument: &DocId,
    ) -> Vec<(&'a DebateImage, &'a Illustration)> {
        let images = self.images.iter();
        let mut found: Vec<_> = images
            .filter_map(|image| Some((image, image.like.as_ref()?)))
            .filter(|(_, like)| like.argument == *argument && like.likeness >= ILLUSTRATES)
            .collect();
        found.sort_by(|(a, like), (b, other)| {
            let by_likeness = other.likeness.total_cmp(&like.likeness);
            by_likeness.then(a.rank.cmp(&b.rank))
        });
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
            side: Stance::Pro,
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
                image("I1", 1, "a", 0.6),
                image("I2", 2, "b", 0.9),
                image("I3", 3, "a", 0.7),
                image("I4", 4, "a", 0.6),
                image("I5", 5, "a", 0.4),
            ],
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
    fn what_is_written_is_read_and_another_line_is_named() {
        let written = String::from_utf8(write(&[sheet()]).unwrap()).unwrap();
        assert_eq!(read(&written).unwrap(), [sheet()]);
        let error = read(&format!("{written}{{\"topic\":\"3\"}}\n")).unwrap_err();
        assert_eq!(error.line, 2);
        assert!(error.what.contains("missing field"), "{}", error.what);
    }
}
