//! The args.me corpus (Touché Task 1): `{"arguments":[{"id", "conclusion", "premises", "context"}, …]}`,
//! in one file or one a debate portal, read one argument at a time.
//!
//! The arguments are cut out of the array by their braces and parsed one by one: a broken argument
//! costs itself, and the file never is one value in memory.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde::Deserialize;

use super::source::{self, MAX_DOCUMENT_BYTES};
use crate::trec::{DocId, Fault, FaultKind, Stance};

/// The corpus as one file.
const WHOLE: &str = "args-me";

/// The corpus as its portals' files.
const PORTALS: [&str; 5] = [
    "debateorg",
    "debatepedia",
    "debatewise",
    "idebate",
    "parliamentary",
];

/// How much is read at once.
const BLOCK: usize = 1 << 18;

/// An argument: what it claims and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// "S988d2948-Aacef8d14" (version 2020-04-01) or "10113b57-2019-04-18T17:05:08Z-00001-000".
    pub id: DocId,
    /// May be empty.
    pub conclusion: String,
    pub premises: Vec<Premise>,
    /// What the debate it is from was called; may be empty.
    pub title: String,
    /// The page it is from.
    pub url: Option<String>,
    /// The text of that page; may be empty.
    pub source: String,
}

/// A reason, and whether it speaks for or against the conclusion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Premise {
    pub text: String,
    pub stance: Option<Stance>,
}

impl Argument {
    /// The premises' texts, one a line.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.premises.iter().map(|p| p.text.as_str()).collect();
        texts.join("\n")
    }

    /// The first stance that a premise has.
    pub fn stance(&self) -> Option<Stance> {
        self.premises.iter().find_map(|p| p.stance)
    }
}

/// The files of an args.me corpus.
#[derive(Clone, Debug)]
pub struct ArgumentCollection {
    files: Vec<PathBuf>,
}

impl ArgumentCollection {
    /// Finds the corpus: a file, or a directory with `args-me.json` or else portals' files; each may
    /// have `.gz` after its name.
    ///
    /// Errors: there is none of them.
    pub fn open(path: &Path) -> Result<Self> {
        if path.is_file() {
            return Ok(ArgumentCollection {
                files: vec![path.to_owned()],
            });
        }
        let found = |name: &str| {
            [format!("{name}.json"), format!("{name}.json.gz")]
                .into_iter()
                .map(|file| path.join(file))
                .find(|file| file.is_file())
        };
        let files: Vec<PathBuf> = match found(WHOLE) {
            Some(file) => vec![file],
            None => PORTALS.iter().filter_map(|name| found(name)).collect(),
        };
        if files.is_empty() {
            bail!(
                "{} holds no arguments: there is neither {WHOLE}.json nor a portal's file ({}), plain or .gz",
                path.display(),
                PORTALS.map(|name| format!("{name}.json")).join(", ")
            );
        }
        Ok(ArgumentCollection { files })
    }

    /// The files, in the order in which they are read.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The arguments, in the order of the files, and in between the faults.
    pub fn arguments(&self) -> impl Iterator<Item = Result<Argument, Fault>> + use<> {
        self.files.clone().into_iter().flat_map(ArgumentFile::open)
    }
}

/// The JSON of an argument, as far as it is used.
#[derive(Deserialize)]
struct Raw {
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

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawContext {
    discussion_title: Option<String>,
    topic: Option<String>,
    source_title: Option<String>,
    source_url: Option<String>,
    source_text: Option<String>,
}

impl Raw {
    fn argument(self) -> Result<Argument, &'static str> {
        if let Some(what) = source::bad_id(&self.id) {
            return Err(what);
        }
        let filled = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let context = self.context.as_ref();
        Ok(Argument {
            id: DocId(self.id),
            conclusion: self.conclusion.unwrap_or_default(),
            premises: self
                .premises
                .into_iter()
                .map(|premise| Premise {
                    text: premise.text.unwrap_or_default(),
                    stance: premise.stance.and_then(|word| stance(&word)),
                })
                .collect(),
            title: context
                .and_then(|c| {
                    filled(&c.discussion_title)
                        .or_else(|| filled(&c.topic))
                        .or_else(|| filled(&c.source_title))
                })
                .unwrap_or_default(),
            url: context.and_then(|c| filled(&c.source_url)),
            source: context
                .and_then(|c| filled(&c.source_text))
                .unwrap_or_default(),
        })
    }
}

fn stance(word: &str) -> Option<Stance> {
    Stance::BOTH
        .into_iter()
        .find(|stance| stance.word().eq_ignore_ascii_case(word.trim()))
}

/// Where the reader of a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before the array of arguments, or after one.
    Outside,
    /// In the array, between arguments.
    Between,
    /// After something without an end: at the next argument it goes on.
    Lost,
    End,
}

/// One file being read.
struct ArgumentFile {
    path: PathBuf,
    reader: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// Where in the buffer the unread bytes begin, and on which line of the file.
    start: usize,
    line: u64,
    place: Place,
    /// Whether an array was there at all.
    array: bool,
    /// What ended the reading before the end, still to be told.
    broken: Option<std::io::Error>,
    exhausted: bool,
}

impl ArgumentFile {
    fn open(path: PathBuf) -> Box<dyn Iterator<Item = Result<Argument, Fault>>> {
        match source::open(&path) {
            Ok(reader) => Box::new(ArgumentFile {
                path,
                reader,
                buffer: Vec::new(),
                start: 0,
                line: 1,
                place: Place::Outside,
                array: false,
                broken: None,
                exhausted: false,
            }),
            Err(error) => {
                let fault = Fault {
                    kind: FaultKind::Argument,
                    line: None,
                    what: format!("cannot be read: {error}"),
                    path,
                };
                Box::new(std::iter::once(Err(fault)))
            }
        }
    }

    fn fault(&self, what: &str) -> Fault {
        source::fault(FaultKind::Argument, &self.path, self.line, what)
    }

    /// Adds a block to the buffer. False: there is no more.
    fn fill(&mut self) -> bool {
        if self.exhausted {
            return false;
        }
        let mut block = self.reader.by_ref().take(BLOCK as u64);
        match block.read_to_end(&mut self.buffer) {
            Ok(0) => self.exhausted = true,
            Ok(_) => return true,
            Err(error) => {
                // what came before the error is in the buffer
                self.exhausted = true;
                self.broken = Some(error);
                return true;
            }
        }
        false
    }

    /// Goes to a place of the buffer, counting lines; forgets what is far behind.
    fn go_to(&mut self, at: usize) {
        let at = at.min(self.buffer.len());
        let passed = self.buffer.get(self.start..at).unwrap_or_default();
        self.line += passed.iter().filter(|&&b| b == b'\n').count() as u64;
        self.start = at;
        if self.start > 4 * BLOCK {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
    }

    /// Passes over bytes until one is wanted, which is returned and not passed over.
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

    /// Where the object that begins here ends, by its braces; none if it has no end.
    fn object_end(&mut self) -> Option<usize> {
        let (mut at, mut depth, mut string) = (self.start, 0usize, false);
        loop {
            while let Some(&byte) = self.buffer.get(at) {
                at += 1;
                match (string, byte) {
                    (true, b'\\') => at += 1,
                    (_, b'"') => string = !string,
                    (false, b'{') => depth += 1,
                    (false, b'}') => {
                        depth -= 1;
                        if depth == 0 {
                            return Some(at);
                        }
                    }
                    _ => {}
                }
            }
            if at - self.start > MAX_DOCUMENT_BYTES || !self.fill() {
                return None;
            }
        }
    }

    /// Goes to the next `{"id"` in the buffer up to `end`: after something broken, the braces of
    /// what follows cannot be trusted.
    fn resume(&mut self, end: usize) -> bool {
        let from = self.start + 1;
        let bytes = self.buffer.get(from..end).unwrap_or_default();
        let next = bytes.iter().enumerate().find_map(|(at, &byte)| {
            let rest = bytes.get(at + 1..)?.trim_ascii_start();
            (byte == b'{' && rest.starts_with(b"\"id\"")).then_some(at)
        });
        match next {
            Some(at) => self.go_to(from + at),
            None => self.go_to(end),
        }
        next.is_some()
    }

    /// The argument that begins here, or what is wrong with it; then the place after it.
    fn read_object(&mut self) -> Result<Argument, Fault> {
        let Some(end) = self.object_end() else {
            let fault = match self.exhausted {
                true => self.fault("the file ends inside an argument"),
                false => self.fault("an argument without an end"),
            };
            let end = self.buffer.len();
            self.place = match self.resume(end) {
                true => Place::Between,
                false => Place::Lost,
            };
            return Err(fault);
        };
        let bytes = self.buffer.get(self.start..end).unwrap_or_default();
        let read = serde_json::from_slice::<Raw>(bytes)
            .map_err(|e| source::json_fault(FaultKind::Argument, &self.path, self.line, &e))
            .and_then(|raw| raw.argument().map_err(|what| self.fault(what)));
        match read {
            Ok(_) => self.go_to(end),
            Err(_) => drop(self.resume(end)),
        }
        read
    }
}

impl Iterator for ArgumentFile {
    type Item = Result<Argument, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.place {
                Place::Outside => match self.skip_to(|b| b == b'[') {
                    Some(_) => {
                        self.go_to(self.start + 1);
                        self.array = true;
                        self.place = Place::Between;
                    }
                    None => {
                        self.place = Place::End;
                        if !self.array && self.broken.is_none() {
                            return Some(Err(self.fault("there is no array of arguments in it")));
                        }
                    }
                },
                Place::Between => match self.skip_to(|b| b != b',' && !b.is_ascii_whitespace()) {
                    Some(b'{') => return Some(self.read_object()),
                    Some(b']') => self.place = Place::Outside,
                    Some(_) => {
                        let fault = self.fault("something that is no argument");
                        self.skip_to(|b| b == b'{' || b == b']');
                        return Some(Err(fault));
                    }
                    None => {
                        self.place = Place::End;
                        if self.broken.is_none() {
                            return Some(Err(self.fault("the file ends inside the array")));
                        }
                    }
                },
                Place::Lost => {
                    let found = self.skip_to(|b| b == b'{').is_some() && {
                        while self.buffer.len() < self.start + 64 && self.fill() {}
                        let rest = self.buffer.get(self.start + 1..).unwrap_or_default();
                        if rest.trim_ascii_start().starts_with(b"\"id\"") {
                            self.place = Place::Between;
                        } else {
                            self.go_to(self.start + 1);
                        }
                        true
                    };
                    if !found {
                        self.place = Place::End;
                    }
                }
                Place::End => {
                    let error = self.broken.take()?;
                    let what = format!("cannot be read further: {error}");
                    return Some(Err(self.fault(&what)));
                }
            }
        }
    }
}
