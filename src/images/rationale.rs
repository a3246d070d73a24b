//! Why an image conveys a claim, in a sentence for human readers.

use riposte_eval::Explanation;

use crate::index::images::ImageEvidence;
use crate::recipes::channels::SignalKey;
use crate::score::CHANNEL;
use crate::score::signal::Quoted;

/// Maximum number of characters of a quotation.
const QUOTED: usize = 200;

/// Names the channel with the largest value in the relevance of an image, and quotes the text that it compared. For a text of a page, it quotes
/// the titles and the words around the image instead, because an image does not have the main text of its pages.
pub(super) fn of(image: &ImageEvidence, relevance: &Explanation) -> String {
    let parts = relevance.parts().iter().filter(|part| part.value() > 0.0);
    let most = parts.max_by(|a, b| a.value().total_cmp(&b.value()));
    let id = most.and_then(Explanation::id);
    let channel = id
        .filter(|id| id.kind() == CHANNEL)
        .and_then(|id| id.text());
    let Some(key) = channel.and_then(SignalKey::find) else {
        return "no evidence about the image is close to the argument".to_owned();
    };
    let (what, quoted) = key.signal().need.source();
    match quoted {
        Quoted::Pixels => format!(
            "by its pixels, the picture is close to the argument ({})",
            most.map_or("", Explanation::how)
        ),
        Quoted::GivenCaption => said(what, "", &image.evidence.given.caption),
        Quoted::GivenText => said(what, "", &image.evidence.given.text),
        Quoted::PictureText => said(what, "", &image.ocr_text),
        Quoted::Page => said("its page", ", and says beside it", &image.near_text),
    }
}

/// "`what` is close to the argument", and the text, if there is one.
fn said(what: &str, before: &str, text: &str) -> String {
    if text.trim().is_empty() {
        format!("{what} is close to the argument")
    } else {
        format!("{what} is close to the argument{before}: {}", quoted(text))
    }
}

/// The beginning of a text between quotes.
fn quoted(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let beginning: String = words.chars().take(QUOTED).collect();
    let is_cut = beginning.len() < words.len();
    let rest = if is_cut { "…" } else { "" };
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
