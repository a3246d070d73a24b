//! Reads files of topics, in UTF-8 or another encoding.

use std::borrow::Cow;
use std::path::Path;

use anyhow::{Context, Result, bail};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use riposte_eval::topic::{self, Topic};

use super::source::read_regular;
use super::{Fault, FaultKind};

/// Reads a topics file (XML, or `queries.jsonl` of TIREx or BEIR), plain or gzip. The encoding is that of the byte order mark or, without one, of the
/// XML declaration; otherwise UTF-8.
///
/// Errors, with the path: the file cannot be read, has more than 64 MiB, is not valid in its encoding, has a fault, or [`topic::parse`] fails.
pub fn read_topics(path: &Path) -> Result<Vec<Topic>> {
    let reading = || reading(path);
    topic::parse(&read_text(path).with_context(reading)?).with_context(reading)
}

/// Reads a topics file as [`read_topics`] does, but skips what is broken: its topics in the order of the file, at least one, and the faults in it.
///
/// Errors, with the path: the file cannot be read, has more than 64 MiB, is not valid in its encoding, or [`topic::read`] fails.
pub(crate) fn read_topics_with_faults(path: &Path) -> Result<(Vec<Topic>, Vec<Fault>)> {
    let reading = || reading(path);
    let file = topic::read(&read_text(path).with_context(reading)?).with_context(reading)?;
    let faults = file.faults.into_iter();
    let faults =
        faults.map(|fault| Fault::new(FaultKind::Topic, path, Some(fault.line), fault.what));
    Ok((file.topics, faults.collect()))
}

fn reading(path: &Path) -> String {
    format!("cannot read the topics in {}", path.display())
}

fn read_text(path: &Path) -> Result<String> {
    decode(&read_regular(path, crate::limits::MAX_TOPICS_BYTES)?).map(Cow::into_owned)
}

fn decode(bytes: &[u8]) -> Result<Cow<'_, str>> {
    let encoding = match bytes {
        _ if Encoding::for_bom(bytes).is_some() => UTF_8,
        [b'<', 0, ..] => UTF_16LE,
        [0, b'<', ..] => UTF_16BE,
        _ => declared(bytes)?,
    };
    // a byte order mark takes precedence
    let (text, encoding, has_errors) = encoding.decode(bytes);
    if has_errors {
        bail!("it is not {}", encoding.name());
    }
    Ok(text)
}

/// The encoding that the XML declaration names; UTF-8 without one.
fn declared(bytes: &[u8]) -> Result<&'static Encoding> {
    let start = bytes.get(..200).unwrap_or(bytes).trim_ascii_start();
    if !start.starts_with(b"<?xml") {
        return Ok(UTF_8);
    }
    let start = String::from_utf8_lossy(start);
    let declaration = start.split("?>").next().unwrap_or_default();
    let Some((_, value)) = declaration.split_once("encoding") else {
        return Ok(UTF_8);
    };
    let value = value.trim_start_matches(|c: char| c == '=' || c.is_whitespace());
    let label = value.trim_start_matches(['"', '\'']);
    let label = label.split(['"', '\'']).next().unwrap_or_default();
    match Encoding::for_label(label.as_bytes()) {
        // This declaration was read as ASCII, so the file is not in UTF-16, whatever the declaration says.
        Some(encoding) if encoding == UTF_16LE || encoding == UTF_16BE => Ok(UTF_8),
        Some(encoding) => Ok(encoding),
        None => bail!("its encoding {label:?} is unknown"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_decoded_as_they_say() {
        let xml = "<topics><topic><number>1</number><title>Caf\u{e9}?</title></topic></topics>";
        let utf16 = |order: fn(u16) -> [u8; 2], mark: bool| -> Vec<u8> {
            let mark = mark.then_some(0xfeff);
            mark.into_iter()
                .chain(xml.encode_utf16())
                .flat_map(order)
                .collect()
        };
        let declared = |label: &str| format!("<?xml version='1.0' encoding={label}?>{xml}");
        let latin1: Vec<u8> = declared("\"ISO-8859-1\"")
            .chars()
            .map(|c| c as u8)
            .collect();
        let texts = [
            xml.as_bytes().to_vec(),
            format!("\u{feff}{xml}").into_bytes(),
            declared("'utf-8'").into_bytes(),
            declared("\"UTF-16\"").into_bytes(),
            utf16(u16::to_le_bytes, true),
            utf16(u16::to_be_bytes, true),
            utf16(u16::to_le_bytes, false),
            utf16(u16::to_be_bytes, false),
            latin1.clone(),
        ];
        for bytes in texts {
            let text = decode(&bytes).unwrap();
            assert_eq!(topic::parse(&text).unwrap()[0].title, "Caf\u{e9}?");
        }
        let error = decode(&latin1[latin1.len() - xml.chars().count()..]).unwrap_err();
        assert_eq!(error.to_string(), "it is not UTF-8");
        let error = decode(declared("'klingon'").as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), "its encoding \"klingon\" is unknown");
    }
}
