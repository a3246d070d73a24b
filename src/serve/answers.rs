//! What the server adds to an answer of `riposte ask`. A client gets the addresses of pictures on the server, and not their files.

use anyhow::Result;
use riposte_claims::{Polarity, claims, polarity};
use riposte_eval::DocId;
use riposte_page::answer::{Answer, QuestionPolarity, Understood};

use super::opened::OpenedPart;
use crate::html::percent_encoded;

/// The address of a picture on the server. Ids of images are letters and digits; what else there is gets escaped.
pub(super) fn picture_address(collection: &str, id: &str) -> String {
    let (collection, id) = (percent_encoded(collection), percent_encoded(id));
    format!("/picture/{collection}/{id}")
}

/// What a question is understood as.
pub(super) fn understood(question: &str) -> Understood {
    let (claim, counter_claim) = claims(question);
    let polarity = match polarity(question) {
        _ if counter_claim.is_empty() => QuestionPolarity::Open,
        Polarity::For => QuestionPolarity::Positive,
        Polarity::Against => QuestionPolarity::Negative,
    };
    Understood {
        claim,
        counter_claim,
        polarity,
    }
}

/// Completes an answer: what its question was understood as, the addresses of pictures instead of their files, and where arguments come from. `arguments` is
/// the part that has its arguments, if there is one.
///
/// # Errors
/// The index of the arguments is damaged.
pub(super) fn completed(
    mut answer: Answer,
    collection: &str,
    arguments: Option<&OpenedPart>,
) -> Result<Answer> {
    answer.understood = (!answer.sides.is_empty()).then(|| understood(&answer.question));
    for image in answer.images_mut() {
        image.file = None;
        image.picture = Some(picture_address(collection, &image.id));
    }
    // the arguments of an answer by images are those of the collection, too
    let Some(part) = arguments else {
        return Ok(answer);
    };
    for argument in answer.arguments_mut() {
        let document = part.document(&DocId(argument.id.clone()))?;
        let source = document.as_ref().and_then(|document| document.texts.get(2));
        argument.source = source.filter(|title| !title.is_empty()).cloned();
        argument.url = document.and_then(|document| document.url);
    }
    Ok(answer)
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
        assert_eq!(polarity("Should zoos be kept?"), QuestionPolarity::Positive);
        assert_eq!(
            polarity("Should zoos be banned?"),
            QuestionPolarity::Negative
        );
        assert_eq!(polarity("Which is the best pet?"), QuestionPolarity::Open);
    }
}
