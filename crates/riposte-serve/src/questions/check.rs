//! The bounds of texts and names in requests.

use crate::limits::{MAX_NAME_BYTES, MAX_QUESTION};
use crate::refusal::Refusal;

/// A question with single spaces. `field` is what the message names.
///
/// # Errors
/// It is empty, has no word, or is longer than 1,000 characters, as for `riposte ask`.
pub(crate) fn question(field: &str, text: &str) -> Result<String, Refusal> {
    let question = sentence(field, text)?;
    if question.is_empty() {
        return Err(Refusal::bad(format!("`{field}` is empty")));
    }
    if !question.chars().any(char::is_alphanumeric) {
        return Err(Refusal::bad(format!("`{field}` has no word")));
    }
    Ok(question)
}

/// A text with single spaces, which can be empty.
///
/// # Errors
/// It is longer than 1,000 characters.
pub(crate) fn sentence(field: &str, text: &str) -> Result<String, Refusal> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let sentence = words.join(" ");
    if sentence.chars().nth(MAX_QUESTION).is_some() {
        return Err(Refusal::bad(format!(
            "`{field}` has more than {MAX_QUESTION} characters"
        )));
    }
    Ok(sentence)
}

/// The name of a collection or of a portal, or an id.
///
/// # Errors
/// It is empty, too long, or has a control character.
pub(crate) fn name(field: &str, name: String) -> Result<String, Refusal> {
    if name.trim().is_empty() {
        return Err(Refusal::bad(format!("`{field}` is empty")));
    }
    if name.len() > MAX_NAME_BYTES {
        return Err(Refusal::bad(format!(
            "`{field}` has more than {MAX_NAME_BYTES} bytes"
        )));
    }
    if name.chars().any(char::is_control) {
        return Err(Refusal::bad(format!("`{field}` has a control character")));
    }
    Ok(name)
}

/// The name of an approach. On the command line it can be a file; here it cannot.
///
/// # Errors
/// It has another character than letters, digits, hyphens and underscores.
pub(crate) fn approach(approach: String) -> Result<String, Refusal> {
    let approach = name("approach", approach)?;
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match approach.chars().all(fits) {
        true => Ok(approach),
        false => Err(Refusal::bad(
            "`approach` is a name of letters, digits and hyphens",
        )),
    }
}

/// Says that a number is not from 1 to `most`.
pub(crate) fn outside(field: &str, most: usize) -> Refusal {
    Refusal::bad(format!("{field} must be from 1 to {most}"))
}
