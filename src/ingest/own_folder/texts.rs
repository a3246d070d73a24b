//! The texts of a folder, as arguments, passages and documents: the question decides which of the three is read.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use encoding_rs::{Encoding, WINDOWS_1252};
use riposte_claims::words::sentences;
use serde_json::json;

use crate::collection::FaultKind;
use crate::disk::{self, regular};
use crate::events::{Event, OnEvent};
use crate::files::RUN_FILE;
use crate::index::inverted::SHORT_WORDS;

/// File name extensions of texts.
const EXTENSIONS: [&str; 3] = ["txt", "md", "markdown"];

/// The number of words that a text has at most, unless a single sentence is longer. A sentence encoder reads about as many.
const WORDS: usize = 200;

/// Whether a file is a text, by its name.
pub(super) fn is_text(file: &Path) -> bool {
    let extension = file.extension().unwrap_or_default().to_string_lossy();
    EXTENSIONS.contains(&&*extension.to_lowercase())
}

/// What has been written.
#[derive(Default)]
pub(super) struct Counts {
    pub texts: usize,
    pub files: usize,
    /// Texts that are too short for an argument or a passage.
    pub short: usize,
}

/// Writes the texts of these files.
///
/// # Errors
/// A file in `out` cannot be written. A text that cannot be read is a fault.
pub(super) fn write(
    folder: &Path,
    files: &[PathBuf],
    out: &Path,
    on_event: &mut OnEvent,
) -> Result<Counts> {
    let mut written = None;
    let mut counts = Counts::default();
    for file in files.iter().filter(|file| is_text(file)) {
        let inside = file.strip_prefix(folder).ok();
        let inside = inside.filter(|path| !path.as_os_str().is_empty());
        let name = file.file_name().map(Path::new);
        let inside = inside.or(name).unwrap_or(file);
        if is_passed_over(inside) {
            continue;
        }
        let text = match regular::read(file, crate::limits::MAX_FOLDER_TEXT_BYTES) {
            Ok(bytes) => decoded(&bytes),
            Err(error) => {
                let what = error.to_string();
                on_event(Event::fault(FaultKind::Document, file, what));
                continue;
            }
        };
        let parts = parts(&text);
        counts.files += usize::from(!parts.is_empty());
        let id = id_of(inside);
        let is_one = parts.len() == 1;
        for (number, part) in (1..).zip(parts) {
            let written = match &mut written {
                Some(written) => written,
                none => none.insert(Written::create(out)?),
            };
            let id = if is_one {
                id.clone()
            } else {
                format!("{id}#{number}")
            };
            written.add(&id, &part, counts.texts == 0)?;
            counts.texts += 1;
            let is_short = part.split_whitespace().count() < SHORT_WORDS;
            counts.short += usize::from(is_short);
        }
    }
    if let Some(written) = written {
        written.finish()?;
    }
    Ok(counts)
}

/// Whether a file is hidden, belongs to a page that a browser has saved, or is a run.
fn is_passed_over(inside: &Path) -> bool {
    let is_left_out = inside.components().any(|component| match component {
        Component::Normal(name) => {
            let name = name.to_string_lossy();
            name.starts_with('.') || name.ends_with("_files")
        }
        _ => false,
    });
    is_left_out || inside.ends_with(RUN_FILE)
}

fn decoded(bytes: &[u8]) -> String {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return encoding.decode(bytes).0.into_owned();
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => WINDOWS_1252.decode(bytes).0.into_owned(),
    }
}

/// The id of a text: the path of its file in the folder. A run has blanks between its columns, so blanks are written as in addresses.
fn id_of(inside: &Path) -> String {
    let mut id = String::new();
    for c in inside.to_string_lossy().replace('\\', "/").chars() {
        if c.is_whitespace() || c.is_control() {
            // a String takes everything
            let mut utf8 = [0; 4];
            for byte in c.encode_utf8(&mut utf8).bytes() {
                let _ = write!(id, "%{byte:02X}");
            }
        } else {
            id.push(c);
        }
    }
    id
}

/// The texts of a file: as many whole paragraphs as have no more than [`WORDS`] words together. A longer paragraph is divided between sentences.
fn parts(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut length = WORDS;
    let mut add = |piece: &str, between: &str| {
        let words = piece.split_whitespace().count();
        match parts.last_mut() {
            Some(part) if length + words <= WORDS => {
                part.push_str(between);
                part.push_str(piece);
                length += words;
            }
            _ => {
                parts.push(piece.to_owned());
                length = words;
            }
        }
    };
    for paragraph in paragraphs(text) {
        if paragraph.split_whitespace().count() <= WORDS {
            add(&paragraph, "\n\n");
        } else {
            let sentences = sentences(&paragraph);
            sentences
                .iter()
                .for_each(|sentence| add(sentence.text, " "));
        }
    }
    parts
}

/// The paragraphs of a text, which blank lines divide.
fn paragraphs(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let paragraphs = lines.split(|line| line.is_empty());
    let joined = paragraphs.map(|lines| lines.join("\n"));
    let has_word = |text: &String| text.contains(char::is_alphanumeric);
    joined.filter(has_word).collect()
}

/// The files of the three collections of texts.
struct Written {
    arguments: BufWriter<File>,
    passages: BufWriter<File>,
    documents: BufWriter<File>,
}

impl Written {
    fn create(out: &Path) -> Result<Written> {
        let create = |name| {
            let path = out.join(name);
            let file = disk::create_draft(&path);
            let file = file.with_context(|| format!("cannot write {}", path.display()))?;
            anyhow::Ok(BufWriter::new(file))
        };
        let mut written = Written {
            arguments: create("args-me.json")?,
            passages: create("passages.jsonl")?,
            documents: create("documents.jsonl")?,
        };
        written.arguments.write_all(b"{\"arguments\": [")?;
        Ok(written)
    }

    fn add(&mut self, id: &str, text: &str, is_first: bool) -> Result<()> {
        let premises = json!([{ "text": text }]);
        let argument = json!({ "id": id, "conclusion": "", "premises": premises });
        let between = if is_first { "\n" } else { ",\n" };
        write!(self.arguments, "{between}{argument}")?;
        writeln!(self.passages, "{}", json!({ "id": id, "contents": text }))?;
        writeln!(self.documents, "{}", json!({ "docno": id, "text": text }))?;
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        self.arguments.write_all(b"\n]}\n")?;
        for file in [&mut self.arguments, &mut self.passages, &mut self.documents] {
            file.flush().context("cannot write the texts of a folder")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_paragraphs_are_one_text_and_a_long_one_is_divided_between_sentences() {
        let sentence = "The zoo has a small pond with ducks. ";
        let long = sentence.repeat(40);
        let text = format!("# Zoos\r\n\r\nThey are\nold.\n \n\n{long}\n\nThe end");
        let parts = parts(&text);
        assert_eq!(parts.len(), 2, "{parts:?}");
        assert!(
            parts[0].starts_with("# Zoos\n\nThey are\nold. The zoo has"),
            "{parts:?}"
        );
        assert!(parts[0].ends_with("with ducks."), "{parts:?}");
        assert!(parts[1].ends_with("with ducks.\n\nThe end"), "{parts:?}");
        assert_eq!(
            id_of(Path::new("my notes/zoo 1.md")),
            "my%20notes/zoo%201.md"
        );
        assert!(is_passed_over(Path::new("week_files/licence.txt")));
        assert!(is_passed_over(Path::new(".trash/old.md")));
        assert_eq!(decoded(b"caf\xe9"), "café");
    }
}
