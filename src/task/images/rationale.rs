//! Why an image conveys a claim, in a sentence for human readers.

use crate::evidence::Part;
use crate::index::images::Image;
use crate::task::approach::RelevanceChannel;
use crate::trec::{Explanation, NumberId};

/// Maximum number of characters of a quotation.
const QUOTED: usize = 200;

/// Names the channel with the largest value in the relevance of an image, and quotes the text that it compared. For a text of a page, it quotes
/// the titles and the words around the image instead, because an image does not have the main text of its pages.
pub(super) fn of(image: &Image, relevance: &Explanation) -> String {
    let parts = relevance.parts().iter().filter(|part| part.value() > 0.0);
    let most = parts.max_by(|a, b| a.value().total_cmp(&b.value()));
    let channel = most.and_then(|part| {
        let mut all = RelevanceChannel::ALL.into_iter();
        all.find(|channel| part.is(&NumberId::channel(channel.name())))
    });
    let Some(channel) = channel else {
        return "no evidence about the image is close to the argument".to_owned();
    };
    let (what, text) = match channel {
        RelevanceChannel::ClipTopic | RelevanceChannel::ClipTitle => {
            return format!(
                "by its pixels, the picture is close to the argument ({})",
                relevance_of(most)
            );
        }
        RelevanceChannel::Bm25GivenCaption => ("its caption", &image.given.caption),
        RelevanceChannel::Bm25GivenText => ("the text in it", &image.given.text),
        RelevanceChannel::Bm25Ocr => ("the text in it", &image.ocr_text),
        _ => match channel.sentence_part() {
            Some(Part::GivenCaption) => ("its caption", &image.given.caption),
            Some(Part::GivenText) => ("the text in it", &image.given.text),
            Some(Part::Ocr) => ("the text in it", &image.ocr_text),
            _ => return said("its page", ", and says beside it", &image.near_text),
        },
    };
    said(what, "", text)
}

/// "`what` is close to the argument", and the text, if there is one.
fn said(what: &str, before: &str, text: &str) -> String {
    if text.trim().is_empty() {
        format!("{what} is close to the argument")
    } else {
        format!("{what} is close to the argument{before}: {}", quoted(text))
    }
}

fn relevance_of(part: Option<&Explanation>) -> String {
    part.map_or_else(String::new, |part| part.how().to_owned())
}

/// The beginning of a text between quotes.
fn quoted(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let beginning: String = words.chars().take(QUOTED).collect();
    let rest = if beginning.len() < words.len() {
        "…"
    } else {
        ""
    };
    format!("“{beginning}{rest}”")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_empty_is_quoted() {
        let page = |words| said("its page", ", and says beside it", words);
        assert_eq!(
            page(" Zoos  educate. "),
            "its page is close to the argument, and says beside it: “Zoos educate.”"
        );
        assert_eq!(page(" "), "its page is close to the argument");
        let long = said("the text in it", "", &"é".repeat(QUOTED + 1));
        assert!(long.ends_with("é…”") && long.matches('é').count() == QUOTED);
    }
}
