//! Reads WARC, the format of web archives (ISO 28500), plain or with each record packed by gzip or zstd.
//!
//! The reader is our own. The crates that read WARC hold a header or a record of any length in memory (`warc`, `rust_warc`), depend on an unmaintained
//! decoder of texts (`fastwarc`), or bring a database and ten hash functions (`warcat`). What is needed of the format are a few headers and a length.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Result, bail};
use flate2::bufread::MultiGzDecoder;

use super::headers::Headers;
use super::http::Response;
use super::{OnFound, SavedFile, SavedItem, SavedKind, kind_of, packed};
use crate::limits::{
    MAX_HEADER_BLOCK_BYTES, MAX_SAVED_FILE_BYTES, MAX_WARC_GROWTH, MAX_WARC_MORE_BYTES,
};

/// Reads the records of a file of `size` bytes.
///
/// # Errors
/// `found` fails. What is broken in the file is no error: it is passed to `found` as a fault.
pub(super) fn read(
    input: impl Read,
    size: u64,
    file: &Path,
    is_page: &dyn Fn(&str) -> bool,
    found: &mut OnFound,
) -> Result<()> {
    let most = size
        .saturating_mul(MAX_WARC_GROWTH)
        .saturating_add(MAX_WARC_MORE_BYTES);
    let input = BufReader::with_capacity(BUFFER, input);
    let mut records = match unpacked(input, most) {
        Ok(input) => Records {
            input,
            read: 0,
            most,
        },
        Err(error) => return found(SavedItem::fault(SavedKind::Page, file, error)),
    };
    loop {
        let record = match records.next() {
            Ok(Some(record)) => record,
            Ok(None) => return Ok(()),
            Err(error) => {
                let what = format!("after {} bytes: {error:#}", records.read);
                return found(SavedItem::fault(SavedKind::Page, file, what));
            }
        };
        if let Some(what) = &record.fault {
            found(SavedItem::fault(SavedKind::Page, file, what))?;
        }
        for of_record in meaning(record, file, is_page) {
            found(of_record)?;
        }
    }
}

/// Size of the buffers, in bytes.
const BUFFER: usize = 1 << 18;

/// What the records are, if each is packed by gzip or zstd: their first `most` bytes, which the first bytes of the file tell.
fn unpacked<'r>(
    mut input: BufReader<impl Read + 'r>,
    most: u64,
) -> io::Result<Box<dyn BufRead + 'r>> {
    let start = input.fill_buf()?;
    if start.starts_with(&[0x1f, 0x8b]) {
        let decoder = MultiGzDecoder::new(input).take(most);
        return Ok(Box::new(BufReader::with_capacity(BUFFER, decoder)));
    }
    if packed::is_zstd(start) {
        let decoder = packed::zstd(input)?.take(most);
        return Ok(Box::new(BufReader::with_capacity(BUFFER, decoder)));
    }
    Ok(Box::new(input.take(most)))
}

/// A record with its block.
struct WarcRecord {
    headers: Headers,
    /// `None` if the record holds no page and no picture, or is too large.
    block: Option<Vec<u8>>,
    /// What is wrong before or in the record, although it was read.
    fault: Option<String>,
}

struct Records<'r> {
    input: Box<dyn BufRead + 'r>,
    /// Number of bytes of the records so far.
    read: u64,
    most: u64,
}

impl Records<'_> {
    /// The next record; `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read further.
    fn next(&mut self) -> Result<Option<WarcRecord>> {
        let mut skipped = 0u64;
        let begin = self.read;
        // empty lines end the record before; other lines are the rest of one that is longer than it says
        loop {
            let line = self.line()?;
            if line.is_empty() {
                if skipped > 0 {
                    bail!("no record begins here; {skipped} bytes were passed over");
                }
                return Ok(None);
            }
            if line.starts_with(b"WARC/") {
                break;
            }
            skipped += line.trim_ascii().len() as u64;
        }
        let mut block = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                bail!("the file ends within the headers of a record");
            }
            if line.trim_ascii().is_empty() {
                break;
            }
            if block.len() + line.len() > MAX_HEADER_BLOCK_BYTES {
                bail!(
                    "a record has more than {} bytes of headers",
                    MAX_HEADER_BLOCK_BYTES
                );
            }
            block.extend_from_slice(&line);
        }
        let headers = Headers::parse(&block);
        let length = headers.get("content-length");
        let Ok(length) = length.parse::<u64>() else {
            bail!("the length {length:?} of a record is no number");
        };
        let mut fault = (skipped > 0).then(|| {
            format!("after {begin} bytes: {skipped} bytes belong to no record; the length of the record before is wrong")
        });
        let is_wanted = matches!(headers.get("warc-type"), "response" | "resource");
        let block = if is_wanted && length <= MAX_SAVED_FILE_BYTES {
            let mut block = Vec::new();
            self.read += (&mut self.input).take(length).read_to_end(&mut block)? as u64;
            if (block.len() as u64) < length {
                bail!("{}", self.ends_within(&headers, length));
            }
            Some(block)
        } else {
            if is_wanted {
                fault = Some(format!(
                    "{}: a record of {length} bytes: more than {MAX_SAVED_FILE_BYTES}",
                    uri(&headers)
                ));
            }
            let skipped = io::copy(&mut (&mut self.input).take(length), &mut io::sink())?;
            self.read += skipped;
            if skipped < length {
                bail!("{}", self.ends_within(&headers, length));
            }
            None
        };
        Ok(Some(WarcRecord {
            headers,
            block,
            fault,
        }))
    }

    fn ends_within(&self, headers: &Headers, length: u64) -> String {
        if self.read >= self.most {
            return format!(
                "it unpacks to more than {} bytes, {MAX_WARC_GROWTH} times its size",
                self.most
            );
        }
        format!(
            "the file ends within the record of {}, which says that it has {length} bytes",
            uri(headers)
        )
    }

    /// The next line, or the beginning of one that is longer than all headers may be. Empty at the end of the file.
    fn line(&mut self) -> Result<Vec<u8>> {
        let mut line = Vec::new();
        let most = MAX_HEADER_BLOCK_BYTES as u64;
        self.read += (&mut self.input).take(most).read_until(b'\n', &mut line)? as u64;
        if line.is_empty() && self.read >= self.most {
            bail!(
                "it unpacks to more than {} bytes, {MAX_WARC_GROWTH} times its size",
                self.most
            );
        }
        Ok(line)
    }
}

/// The location of a record. Some versions of wget write it in angle brackets.
fn uri(headers: &Headers) -> String {
    let uri = headers.get("warc-target-uri");
    uri.trim_start_matches('<').trim_end_matches('>').to_owned()
}

/// What a record holds.
fn meaning(record: WarcRecord, file: &Path, is_page: &dyn Fn(&str) -> bool) -> Vec<SavedItem> {
    let location = uri(&record.headers);
    match record.headers.get("warc-type") {
        "revisit" => {
            // the same bytes as those at another location, which are stored once
            let to = record.headers.get("warc-refers-to-target-uri");
            let to = to.trim_start_matches('<').trim_end_matches('>').to_owned();
            if to.is_empty() || to == location {
                return Vec::new();
            }
            return vec![SavedItem::Redirect { from: location, to }];
        }
        "response" | "resource" => {}
        _ => return Vec::new(),
    }
    let Some(block) = record.block else {
        return Vec::new();
    };
    let is_http = record
        .headers
        .get("content-type")
        .starts_with("application/http");
    let (media_type, charset, bytes) = if is_http {
        match Response::read(&block) {
            Ok(response) if (300..400).contains(&response.status) => {
                let to = super::location::resolve(&location, response.headers.get("location"));
                let redirect = to.map(|to| SavedItem::Redirect { from: location, to });
                return redirect.into_iter().collect();
            }
            Ok(response) if !(200..300).contains(&response.status) => {
                return vec![SavedItem::NoAnswer];
            }
            Ok(response) => {
                let media_type = response.headers.media_type();
                let charset = response.headers.parameter("charset");
                match response.into_body() {
                    Ok(body) => (media_type, charset, body),
                    Err(what) => {
                        // scripts and the like are not needed
                        let kind = kind_of(&media_type, &[]);
                        let what = format!("{location}: {what}");
                        let fault = kind.map(|kind| SavedItem::fault(kind, file, what));
                        return fault.into_iter().collect();
                    }
                }
            }
            Err(what) => {
                let what = format!("{location}: {what}");
                return vec![SavedItem::fault(SavedKind::Page, file, what)];
            }
        }
    } else {
        let media_type = record.headers.media_type();
        (media_type, record.headers.parameter("charset"), block)
    };
    let kind = match kind_of(&media_type, &bytes) {
        Some(SavedKind::Page) if !is_page(&location) => {
            return vec![SavedItem::Unlisted];
        }
        Some(kind) => kind,
        None => return Vec::new(),
    };
    let bytes = match charset {
        Some(charset) if kind == SavedKind::Page => super::in_utf8(bytes, &charset),
        _ => bytes,
    };
    vec![SavedItem::Saved(
        kind,
        SavedFile::new(location, bytes, file),
    )]
}
