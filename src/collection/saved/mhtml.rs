//! Reads MHTML, the single file in which a browser saves a page with its pictures: a MIME message of the type `multipart/related` (RFC 2557).

use std::path::Path;

use base64::Engine;

use super::headers::{Headers, split};
use super::{BASE64, OnFound, SavedFile, SavedItem, SavedKind, kind_of, location};
use crate::limits::{MAX_MHTML_DEPTH, MAX_MHTML_PARTS};

/// A part that has no parts of its own, with its bytes as they are in the file.
struct Part<'f> {
    headers: Headers,
    body: &'f [u8],
}

/// Passes on the pages and pictures of a file.
///
/// # Errors
/// The file is no MHTML, or has too many parts. The message does not name it.
pub(super) fn read(bytes: &[u8], file: &Path, found: &mut OnFound) -> anyhow::Result<()> {
    let (head, body) = split(bytes);
    let headers = Headers::parse(head);
    let snapshot = headers.get("snapshot-content-location").to_owned();
    let mut parts = Vec::new();
    collect(headers, body, 0, &mut parts)?;
    let mut main: Option<String> = None;
    for part in parts {
        let own = part.headers.get("content-location");
        // the first page is the one that was saved; the others are its frames
        let base = main.as_ref().unwrap_or(&snapshot);
        let mut at = location::resolve(base, own).unwrap_or_else(|| own.to_owned());
        let id = part.headers.get("content-id");
        let id = id.trim_start_matches('<').trim_end_matches('>');
        let cid = (!id.is_empty()).then(|| format!("cid:{id}"));
        if own.is_empty() {
            at = cid.clone().unwrap_or_default();
        }
        let mut bytes = match decoded(&part) {
            Ok(bytes) => bytes,
            Err(what) => {
                let what = format!("{at}: {what}");
                found(SavedItem::fault(SavedKind::Picture, file, what))?;
                continue;
            }
        };
        let kind = kind_of(&part.headers.media_type(), &bytes);
        if kind == Some(SavedKind::Page) {
            if main.is_none() {
                if !snapshot.is_empty() {
                    at.clone_from(&snapshot);
                }
                main = Some(at.clone());
            }
            // the charset of a part is in its header, and not always in the page
            if let Some(charset) = part.headers.parameter("charset") {
                bytes = super::in_utf8(bytes, &charset);
            }
        }
        if let Some(cid) = cid.filter(|cid| *cid != at) {
            let to = at.clone();
            found(SavedItem::Redirect { from: cid, to })?;
        }
        if let Some(kind) = kind {
            let saved = SavedFile::new(at, bytes, file);
            found(SavedItem::Saved(kind, saved))?;
        }
    }
    anyhow::ensure!(main.is_some(), "it has no page: not MHTML, or a cut file");
    Ok(())
}

/// Collects the parts of a part.
fn collect<'f>(
    headers: Headers,
    body: &'f [u8],
    depth: usize,
    parts: &mut Vec<Part<'f>>,
) -> anyhow::Result<()> {
    let boundary = headers.parameter("boundary");
    let is_multipart = headers.media_type().starts_with("multipart/");
    let Some(boundary) = boundary.filter(|boundary| is_multipart && !boundary.is_empty()) else {
        anyhow::ensure!(
            parts.len() < MAX_MHTML_PARTS,
            "it has more than {MAX_MHTML_PARTS} parts"
        );
        parts.push(Part { headers, body });
        return Ok(());
    };
    anyhow::ensure!(
        depth < MAX_MHTML_DEPTH,
        "it has parts within parts, more than {MAX_MHTML_DEPTH} deep"
    );
    let delimiter = [b"--", boundary.as_bytes()].concat();
    let mut begin = None;
    let mut at = 0;
    for line in body.split_inclusive(|byte| *byte == b'\n') {
        let (from, next) = (at, at + line.len());
        at = next;
        let Some(rest) = line.strip_prefix(&*delimiter) else {
            continue;
        };
        let rest = rest.trim_ascii();
        if !rest.is_empty() && rest != b"--" {
            continue;
        }
        if let Some(begin) = begin {
            let part = without_break(&body[begin..from]);
            let (head, inner) = split(part);
            collect(Headers::parse(head), inner, depth + 1, parts)?;
        }
        begin = Some(next);
        if rest == b"--" {
            return Ok(());
        }
    }
    // a file that was cut: what is there of its last part is used
    if let Some(begin) = begin.filter(|begin| *begin < body.len()) {
        let (head, inner) = split(&body[begin..]);
        collect(Headers::parse(head), inner, depth + 1, parts)?;
    }
    Ok(())
}

/// The line break before a boundary belongs to the boundary.
fn without_break(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

/// The bytes of a part. They are never more than those in the file.
fn decoded(part: &Part) -> Result<Vec<u8>, String> {
    let encoding = part.headers.get("content-transfer-encoding");
    match &*encoding.to_ascii_lowercase() {
        "base64" => {
            let is_digit = |byte: &u8| !byte.is_ascii_whitespace();
            let digits: Vec<u8> = part.body.iter().copied().filter(is_digit).collect();
            let bytes = BASE64.decode(digits);
            bytes.map_err(|error| format!("its base64 is damaged: {error}"))
        }
        "quoted-printable" => Ok(quoted_printable(part.body)),
        "" | "7bit" | "8bit" | "binary" => Ok(part.body.to_vec()),
        other => Err(format!("its encoding {other:?} is unknown")),
    }
}

/// Decodes quoted-printable. Sequences that are none stay as they are, as in browsers.
fn quoted_printable(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let digit = |byte: Option<&u8>| char::from(*byte?).to_digit(16);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let content = without_break(line);
        let end = &line[content.len()..];
        // programs on the way may have added white space
        let content = content.trim_ascii_end();
        let (content, is_soft) = match content.strip_suffix(b"=") {
            Some(content) => (content, true),
            None => (content, false),
        };
        let mut rest = content;
        while let Some((first, after)) = rest.split_first() {
            match (first, digit(after.first()), digit(after.get(1))) {
                (b'=', Some(high), Some(low)) => {
                    out.push((high * 16 + low) as u8);
                    rest = &after[2..];
                }
                _ => {
                    out.push(*first);
                    rest = after;
                }
            }
        }
        if !is_soft {
            out.extend_from_slice(end);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_printable_is_decoded() {
        let text = b"caf=C3=A9 =\r\nnoir=3D  \r\n=zz=\r\n";
        assert_eq!(quoted_printable(text), "caf\u{e9} noir=\r\n=zz".as_bytes());
        assert_eq!(quoted_printable(b"a=4"), b"a=4");
    }
}
