//! The args.me corpus (Touché Task 1): `{"arguments":[{"id", "conclusion", "premises", "context"}, …]}`, as one file or as one file
//! per debate portal.
//!
//! The files are read one argument at a time, so no file is in memory as a whole. Arguments are separated by counting braces and then parsed one by
//! one, so a broken argument does not affect the others. The time is linear in the size of a file, whatever is broken in it.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use memchr::memchr2;
use riposte_eval::{DocId, LineError};
use serde::Deserialize;
use strum::VariantNames;

use super::braces::ObjectEnds;
use super::entries::StoredText;
use super::portal::Portal;
use super::source;
use super::{Fault, FaultKind};
use crate::limits::{MAX_DOCUMENT_BYTES, MAX_SHOWN_ID_BYTES};

/// The name of the file with the whole corpus, without extension.
const WHOLE: &str = "args-me";

/// The number of bytes that are read at once.
const BLOCK: usize = 1 << 18;

/// The files of an args.me corpus, in the order in which they are read.
#[derive(Clone, Debug)]
pub struct ArgumentCollection {
    pub files: Vec<PathBuf>,
}

impl ArgumentCollection {
    /// Finds the corpus at `path`: a file, or a directory that contains `args-me.json` or files of the portals, each with or without
    /// `.gz` after its name.
    ///
    /// Errors: the directory contains none of these files.
    pub fn open(path: &Path) -> Result<Self> {
        let found =
            |name: &str| source::find(path, &[&format!("{name}.json"), &format!("{name}.json.gz")]);
        let mut portals = Portal::VARIANTS.to_vec();
        portals.sort_unstable();
        let files: Vec<PathBuf> = match found(WHOLE)? {
            Some(file) => vec![file],
            None => {
                let of_portals = portals.iter().map(|name| found(name));
                let of_portals: Vec<Option<PathBuf>> = of_portals.collect::<Result<_>>()?;
                of_portals.into_iter().flatten().collect()
            }
        };
        ensure!(
            !files.is_empty(),
            "{} holds no arguments: there is neither {WHOLE}.json nor a portal's file ({}.json), plain or .gz",
            path.display(),
            portals.join(".json, ")
        );
        Ok(ArgumentCollection { files })
    }

    /// Reads the arguments in the order of the files. Where something could not be read, the iterator returns a fault.
    pub fn arguments(&self) -> impl Iterator<Item = Result<StoredText, Fault>> + use<> {
        self.files.clone().into_iter().flat_map(ArgumentFile::open)
    }
}

/// The JSON of an argument; other keys are ignored.
#[derive(Deserialize)]
struct RawArgument {
    id: String,
    conclusion: Option<String>,
    premises: Vec<RawPremise>,
    context: Option<RawContext>,
}

#[derive(Deserialize)]
struct RawPremise {
    text: Option<String>,
    stance: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawContext {
    discussion_title: Option<String>,
    topic: Option<String>,
    source_title: Option<String>,
    source_url: Option<String>,
    source_text: Option<String>,
    source_domain: Option<String>,
}

impl RawArgument {
    /// The texts are the premises, one per line, the conclusion, the title of the debate and the text of the page from which the argument was taken. Its
    /// stance is that of the first premise that has one. `file` is the file that contains the argument.
    fn argument(self, file: &Path) -> Result<StoredText, String> {
        source::check_id(&self.id)?;
        let filled = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let context = self.context.unwrap_or_default();
        let url = filled(context.source_url);
        let title = filled(context.discussion_title)
            .or_else(|| filled(context.topic))
            .or_else(|| filled(context.source_title));
        let mut stances = self.premises.iter().filter_map(|of| of.stance.as_ref());
        let stance = stances.find_map(|word| word.trim().to_ascii_uppercase().parse().ok());
        let premises = self.premises.into_iter();
        let premises: Vec<String> = premises.map(|of| of.text.unwrap_or_default()).collect();
        let others = [self.conclusion, title, filled(context.source_text)];
        let mut texts = vec![premises.join("\n")];
        texts.extend(others.map(Option::unwrap_or_default));
        Ok(StoredText {
            portal: Portal::of(context.source_domain.as_deref(), url.as_deref(), file),
            stance,
            url,
            ..StoredText::new(DocId(self.id), texts)
        })
    }
}

/// Where in the file the reader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// Before or after the array of arguments.
    Outside,
    /// In the array, between two arguments.
    Between,
    /// After an argument whose end was not found. Reading continues at what looks like the next argument.
    Lost,
    End,
}

/// The ends of objects in a part of the file.
struct KnownEnds {
    /// The position of the part in the file.
    from: u64,
    /// The ends of objects that begin before this position are known. A later object can end after the part.
    to: u64,
    ends: ObjectEnds,
}

/// A reader of one file.
struct ArgumentFile {
    path: PathBuf,
    reader: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// The position in the file, after decompression, of the first byte of the buffer.
    offset: u64,
    /// The position in the buffer of the first byte that has not been read.
    start: usize,
    /// The position in the file up to which braces have been counted.
    counted: u64,
    /// The ends of objects among the bytes that have been counted.
    known_ends: Option<KnownEnds>,
    /// The line of the file at `start`, from 1.
    line: u64,
    position: Position,
    /// Whether the file has an array of arguments.
    has_array: bool,
    /// The error that ended reading early, until it is reported.
    read_error: Option<std::io::Error>,
    exhausted: bool,
}

impl ArgumentFile {
    fn open(path: PathBuf) -> Box<dyn Iterator<Item = Result<StoredText, Fault>>> {
        match source::open(&path) {
            Ok(reader) => Box::new(ArgumentFile {
                path,
                reader,
                buffer: Vec::new(),
                offset: 0,
                start: 0,
                counted: 0,
                known_ends: None,
                line: 1,
                position: Position::Outside,
                has_array: false,
                read_error: None,
                exhausted: false,
            }),
            Err(error) => {
                let what = format!("cannot be read: {error}");
                let fault = Fault::in_file(FaultKind::Argument, &path, what).caused_by(&error);
                Box::new(std::iter::once(Err(fault)))
            }
        }
    }

    /// A fault of the argument that begins here: what is wrong, the position in the file, and the argument's id if it can be seen. A file with all
    /// arguments on one line cannot be mended with the line number only.
    fn fault(&self, what: &str) -> Fault {
        let mut what = format!("{what} (byte {}", self.offset + self.start as u64);
        if let Some(id) = self.visible_id() {
            what.push_str(&format!(", id {id:?}"));
        }
        what.push(')');
        Fault::new(FaultKind::Argument, &self.path, Some(self.line), what)
    }

    /// The id of the argument that begins here, if the id comes first. The rest of the argument may be broken.
    fn visible_id(&self) -> Option<&str> {
        let rest = self.buffer.get(self.start..)?.strip_prefix(b"{")?;
        let rest = rest.trim_ascii_start().strip_prefix(b"\"id\"")?;
        let rest = rest.trim_ascii_start().strip_prefix(b":")?;
        let rest = rest.trim_ascii_start().strip_prefix(b"\"")?;
        let end = rest
            .iter()
            .take(MAX_SHOWN_ID_BYTES)
            .position(|byte| matches!(byte, b'"' | b'\\' | b',' | b'}'))?;
        let id = std::str::from_utf8(rest.get(..end)?).ok()?;
        (!id.is_empty()).then_some(id)
    }

    /// Appends a block to the buffer. Returns false at the end of the file.
    fn fill(&mut self) -> bool {
        if self.exhausted {
            return false;
        }
        let mut block = self.reader.by_ref().take(BLOCK as u64);
        match block.read_to_end(&mut self.buffer) {
            Ok(read) => self.exhausted = read == 0,
            Err(error) => {
                // bytes read before the error are in the buffer
                self.exhausted = true;
                self.read_error = Some(error);
                return true;
            }
        }
        !self.exhausted
    }

    /// Moves to a position in the buffer and counts the lines on the way. Drops old bytes if there are many.
    fn go_to(&mut self, at: usize) {
        let at = at.min(self.buffer.len());
        let passed = self.buffer.get(self.start..at).unwrap_or_default();
        self.line += passed.iter().filter(|&&b| b == b'\n').count() as u64;
        self.start = at;
        // moving a longer rest again and again would take too long
        if self.start > 4 * BLOCK && self.start >= self.buffer.len() / 2 {
            self.buffer.drain(..self.start);
            self.offset += self.start as u64;
            self.start = 0;
        }
    }

    /// Moves to the first byte that is `wanted` and returns it; `None` at the end of the file.
    fn skip_to(&mut self, wanted: impl Fn(u8) -> bool) -> Option<u8> {
        loop {
            let rest = self.buffer.get(self.start..).unwrap_or_default();
            if let Some((at, &byte)) = rest.iter().enumerate().find(|(_, b)| wanted(**b)) {
                self.go_to(self.start + at);
                return Some(byte);
            }
            self.go_to(self.buffer.len());
            if !self.fill() {
                return None;
            }
        }
    }

    /// The end of the object that begins here; `None` if it has no end or is longer than [`MAX_DOCUMENT_BYTES`]. Braces are counted only once: if
    /// they have been counted for an earlier object, the end is looked up.
    fn object_end(&mut self) -> Option<usize> {
        let here = self.offset + self.start as u64;
        let end = if here < self.counted {
            self.known_end(here)
        } else {
            self.count_braces()
        };
        end.filter(|end| end - self.start <= MAX_DOCUMENT_BYTES)
    }

    /// The end of the object that begins here, found by counting braces.
    fn count_braces(&mut self) -> Option<usize> {
        let (mut at, mut depth, mut string) = (self.start, 0usize, false);
        let end = 'counting: loop {
            loop {
                if string {
                    // in most files, nearly all bytes are in strings
                    let rest = self.buffer.get(at..).unwrap_or_default();
                    at += memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                }
                let Some(&byte) = self.buffer.get(at) else {
                    break;
                };
                at += 1;
                match (string, byte) {
                    (true, b'\\') => at += 1,
                    (_, b'"') => string = !string,
                    (false, b'{') => depth += 1,
                    (false, b'}') => {
                        depth -= 1;
                        if depth == 0 {
                            break 'counting Some(at);
                        }
                    }
                    _ => {}
                }
            }
            if at - self.start > MAX_DOCUMENT_BYTES || !self.fill() {
                break None;
            }
        };
        self.counted = self.offset + at.min(self.buffer.len()) as u64;
        end
    }

    /// The end of the object that begins here, at the position `here` of the file.
    fn known_end(&mut self, here: u64) -> Option<usize> {
        let known = self.known_ends.take();
        let known = match known.filter(|known| (known.from..known.to).contains(&here)) {
            Some(known) => known,
            // an object has at most MAX_DOCUMENT_BYTES: if it begins within that many bytes, it ends within twice that many
            None => {
                while self.buffer.len() - self.start < 2 * MAX_DOCUMENT_BYTES && self.fill() {}
                let window = self.buffer.get(self.start..).unwrap_or_default();
                let window = window.get(..2 * MAX_DOCUMENT_BYTES).unwrap_or(window);
                let is_rest = self.exhausted && self.start + window.len() == self.buffer.len();
                KnownEnds {
                    from: here,
                    to: if is_rest {
                        u64::MAX
                    } else {
                        here + MAX_DOCUMENT_BYTES as u64
                    },
                    ends: ObjectEnds::of(window),
                }
            }
        };
        let end = known.ends.of_object((here - known.from) as usize);
        let end = end.map(|end| (known.from + end as u64 - self.offset) as usize);
        self.known_ends = Some(known);
        end
    }

    /// Moves to the next `{"id"` in the buffer before `end`, or to `end` if there is none. Returns whether there is one. It is used after a broken
    /// argument, whose braces cannot be relied on.
    fn resume(&mut self, end: usize) -> bool {
        let from = self.start + 1;
        let bytes = self.buffer.get(from..end).unwrap_or_default();
        let next = bytes.iter().enumerate().find_map(|(at, &byte)| {
            if byte != b'{' {
                return None;
            }
            let rest = bytes.get(at + 1..)?.trim_ascii_start();
            rest.starts_with(b"\"id\"").then_some(at)
        });
        self.go_to(next.map_or(end, |at| from + at));
        next.is_some()
    }

    /// Reads the argument that begins here, and moves to the position after it.
    fn read_object(&mut self) -> Result<StoredText, Fault> {
        let Some(end) = self.object_end() else {
            let fault = self.fault(if self.exhausted {
                "the file ends inside an argument"
            } else {
                "an argument without an end"
            });
            if !self.resume(self.buffer.len()) {
                self.position = Position::Lost;
            }
            return Err(fault);
        };
        let bytes = self.buffer.get(self.start..end).unwrap_or_default();
        let read = serde_json::from_slice::<RawArgument>(bytes)
            .map_err(|error| {
                let error = LineError::of_json(self.line, &error);
                Fault {
                    line: Some(error.line),
                    ..self.fault(&error.what)
                }
            })
            .and_then(|raw| raw.argument(&self.path).map_err(|what| self.fault(&what)));
        match read {
            Ok(_) => self.go_to(end),
            Err(_) => drop(self.resume(end)),
        }
        read
    }
}

impl Iterator for ArgumentFile {
    type Item = Result<StoredText, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.position {
                Position::Outside => match self.skip_to(|b| b == b'[') {
                    Some(_) => {
                        self.go_to(self.start + 1);
                        self.has_array = true;
                        self.position = Position::Between;
                    }
                    None => {
                        self.position = Position::End;
                        if !self.has_array && self.read_error.is_none() {
                            return Some(Err(self.fault("it has no array of arguments")));
                        }
                    }
                },
                Position::Between => {
                    match self.skip_to(|b| b != b',' && !b.is_ascii_whitespace()) {
                        Some(b'{') => return Some(self.read_object()),
                        Some(b']') => self.position = Position::Outside,
                        Some(_) => {
                            let fault = self.fault("something that is not an argument");
                            self.skip_to(|b| b == b'{' || b == b']');
                            return Some(Err(fault));
                        }
                        None => {
                            self.position = Position::End;
                            if self.read_error.is_none() {
                                return Some(Err(self.fault("the file ends inside the array")));
                            }
                        }
                    }
                }
                Position::Lost => {
                    if self.skip_to(|b| b == b'{').is_none() {
                        self.position = Position::End;
                        continue;
                    }
                    while self.buffer.len() < self.start + 64 && self.fill() {}
                    let rest = self.buffer.get(self.start + 1..).unwrap_or_default();
                    if rest.trim_ascii_start().starts_with(b"\"id\"") {
                        self.position = Position::Between;
                    } else {
                        self.go_to(self.start + 1);
                    }
                }
                Position::End => {
                    let error = self.read_error.take()?;
                    let what = format!("cannot be read further: {error}");
                    return Some(Err(self.fault(&what).caused_by(&error)));
                }
            }
        }
    }
}
