//! The next utterance of a debate with a user: arguments about what the user has said last, as the baseline of the debating task answers.

use anyhow::Result;
use riposte_claims::words::sentences;
use riposte_serve::answers::{Reply, UsedArgument};

use super::opened::OpenedPart;

/// The number of arguments that a reply is made of.
const ARGUMENTS: usize = 3;

/// The maximum number of sentences of each that are said.
const SENTENCES: usize = 2;

/// The reply if no argument is found.
const NOTHING: &str = "I know no argument about this.";

/// The reply to what was said last: the first sentences of the arguments that have most of its words, best first.
///
/// # Errors
/// The index is damaged.
pub(super) fn to(said: &str, part: &OpenedPart) -> Result<Reply> {
    let mut arguments = Vec::new();
    for (id, score) in part.by_words(said, ARGUMENTS)? {
        let Some(document) = part.document(&id)? else {
            continue;
        };
        let text = document.texts.into_iter().next().unwrap_or_default();
        arguments.push(UsedArgument {
            id: id.0,
            text,
            score: Some(score),
        });
    }
    let said = arguments.iter().map(|argument| beginning(&argument.text));
    let content = said.collect::<Vec<_>>().join(" ");
    Ok(Reply {
        content: if content.is_empty() {
            NOTHING.to_owned()
        } else {
            content
        },
        arguments,
    })
}

/// The first sentences of a text, on one line.
fn beginning(text: &str) -> String {
    let sentences = sentences(text).into_iter().take(SENTENCES);
    let sentences = sentences.map(|sentence| {
        let words: Vec<&str> = sentence.text.split_whitespace().collect();
        words.join(" ")
    });
    sentences.collect::<Vec<_>>().join(" ")
}
