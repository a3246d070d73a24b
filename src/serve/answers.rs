//! Answers of the library as those of the server. They have the same fields, but for pictures: a client gets their addresses on the server, and not their
//! files.

use anyhow::Result;
use riposte_claims::{Polarity, claims, polarity};
use riposte_eval::{DocId, Stance};
use riposte_serve::answers as served;

use super::opened::OpenedPart;
use crate::api::ask;
use crate::html::percent_encoded;
use crate::score::presence::{self, Basis};

/// The address of a picture on the server. Ids of images are letters and digits; what else there is gets escaped.
pub(super) fn picture_address(collection: &str, id: &str) -> String {
    let (collection, id) = (percent_encoded(collection), percent_encoded(id));
    format!("/picture/{collection}/{id}")
}

pub(super) fn side(stance: Stance) -> served::ClaimSide {
    match stance {
        Stance::Pro => served::ClaimSide::Pro,
        Stance::Con => served::ClaimSide::Con,
    }
}

/// What a question is understood as.
pub(super) fn understood(question: &str) -> served::Understood {
    let (claim, counter_claim) = claims(question);
    let polarity = match polarity(question) {
        _ if counter_claim.is_empty() => served::Polarity::Open,
        Polarity::For => served::Polarity::Positive,
        Polarity::Against => served::Polarity::Negative,
    };
    served::Understood {
        claim,
        counter_claim,
        polarity,
    }
}

pub(super) fn presence(of: presence::Presence) -> served::Presence {
    served::Presence {
        about: of.about,
        least: of.least,
        by: match of.by {
            Basis::Sentences => served::Basis::Sentences,
            Basis::Words => served::Basis::Words,
        },
    }
}

pub(super) fn about(of: ask::About) -> served::About {
    served::About {
        probability: of.probability,
        is_padding: of.is_padding,
    }
}

/// # Errors
/// The index is damaged.
fn argument(of: ask::Argument, part: &OpenedPart) -> Result<served::QuotedArgument> {
    // the arguments of an answer by images are those of the collection, too
    let document = part.document(&DocId(of.id.clone()))?;
    let source = document.as_ref().and_then(|document| document.texts.get(2));
    Ok(served::QuotedArgument {
        source: source.filter(|title| !title.is_empty()).cloned(),
        url: document.and_then(|document| document.url),
        id: of.id,
        rank: of.rank,
        score: of.score,
        stance: of.stance,
        conclusion: of.conclusion,
        text: of.text,
        repeats: of.repeats,
        about: about(of.about),
    })
}

fn text(of: ask::Text) -> served::ListedText {
    served::ListedText {
        rank: of.rank,
        id: of.id,
        score: of.score,
        stance: of.stance.map(str::to_owned),
        text: of.text,
        url: of.url,
        about: about(of.about),
    }
}

/// An answer with the addresses of pictures on the server. `arguments` is the part that has its arguments, if there is one.
///
/// # Errors
/// The index of the arguments is damaged.
pub(super) fn debated(
    answer: ask::Answer,
    collection: &str,
    arguments: Option<&OpenedPart>,
) -> Result<served::Debated> {
    let image = |of: ask::Image| served::ListedImage {
        picture: Some(picture_address(collection, &of.id)),
        list: side(of.list),
        rank: of.rank,
        id: of.id,
        score: of.score,
        pro: of.pro,
        con: of.con,
        words: of.words,
        place: of.place,
        page: of.page,
        argument: of.argument,
        likeness: of.likeness,
        about: about(of.about),
    };
    let images = |of: Vec<ask::Image>| of.into_iter().map(image).collect();
    let arguments =
        |of: Option<Vec<ask::Argument>>| -> Result<Option<Vec<served::QuotedArgument>>> {
            let Some((of, part)) = of.zip(arguments) else {
                return Ok(None);
            };
            let arguments = of.into_iter().map(|of| argument(of, part));
            arguments.collect::<Result<_>>().map(Some)
        };
    let has_sides = !answer.sides.is_empty();
    let sides = answer.sides.into_iter().map(|of| {
        Ok(served::SideOfDebate {
            side: side(of.side),
            claim: of.claim,
            arguments: arguments(of.arguments)?,
            images: of.images.map(images),
        })
    });
    let undecided = |of: ask::Undecided| -> Result<served::Undecided> {
        Ok(served::Undecided {
            arguments: arguments(of.arguments)?,
            images: of.images.map(images),
            more_arguments: of.more_arguments,
        })
    };
    Ok(served::Debated {
        sides: sides.collect::<Result<_>>()?,
        undecided: answer.undecided.map(undecided).transpose()?,
        understood: has_sides.then(|| understood(&answer.question)),
        question: answer.question,
        objects: answer.objects,
        texts: answer
            .texts
            .map(|texts| texts.into_iter().map(text).collect()),
        presence: answer.presence.map(presence),
        nothing_about_it: answer.nothing_about_it,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_cannot_leave_its_place_in_an_address() {
        assert_eq!(
            picture_address("my images", "I00/../a?b"),
            "/picture/my%20images/I00%2F..%2Fa%3Fb"
        );
    }

    #[test]
    fn an_open_question_has_no_polarity() {
        let polarity = |question| understood(question).polarity;
        assert_eq!(polarity("Should zoos be kept?"), served::Polarity::Positive);
        assert_eq!(
            polarity("Should zoos be banned?"),
            served::Polarity::Negative
        );
        assert_eq!(polarity("Which is the best pet?"), served::Polarity::Open);
    }
}
