//! Blocks of headers, as MIME, HTTP and WARC have them: `Name: value` lines up to an empty line.

use crate::limits::{MAX_HEADER_BLOCK_BYTES, MAX_HEADERS};

/// The headers of a block, with names in lower case.
#[derive(Debug, Default)]
pub(super) struct Headers(Vec<(String, String)>);

impl Headers {
    /// Reads the lines of a block. A line that begins with white space continues the one before it; a line without a colon is ignored.
    pub(super) fn parse(block: &[u8]) -> Headers {
        let block = block.get(..MAX_HEADER_BLOCK_BYTES).unwrap_or(block);
        let text = String::from_utf8_lossy(block);
        let mut headers: Vec<(String, String)> = Vec::new();
        for line in text.lines() {
            if line.starts_with([' ', '\t'])
                && let Some((_, value)) = headers.last_mut()
            {
                value.push(' ');
                value.push_str(line.trim());
            } else if headers.len() == MAX_HEADERS {
                break;
            } else if let Some((name, value)) = line.split_once(':') {
                let name = name.trim().to_ascii_lowercase();
                headers.push((name, value.trim().to_owned()));
            }
        }
        Headers(headers)
    }

    /// The value of a header, by its name in lower case; "" if there is none.
    pub(super) fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value)
    }

    /// The value of `content-type` without parameters, in lower case: "text/html".
    pub(super) fn media_type(&self) -> String {
        let value = self.get("content-type").split(';').next();
        value.unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// A parameter of `content-type`: `boundary` in `multipart/related; boundary="x"`.
    pub(super) fn parameter(&self, wanted: &str) -> Option<String> {
        let mut rest = self.get("content-type").split_once(';')?.1;
        loop {
            let (name, after) = rest.split_once('=')?;
            let after = after.trim_start();
            let (value, next) = match after.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
                None => {
                    let end = after.find(';').unwrap_or(after.len());
                    after.split_at(end)
                }
            };
            if name
                .trim()
                .trim_start_matches(';')
                .trim()
                .eq_ignore_ascii_case(wanted)
            {
                return Some(value.trim_end().to_owned());
            }
            rest = next.trim_start().trim_start_matches(';');
        }
    }
}

/// Divides what begins with a block of headers at the first empty line. Without one, all of it is headers.
pub(super) fn split(bytes: &[u8]) -> (&[u8], &[u8]) {
    let mut from = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let end = from + line.len();
        if line.trim_ascii().is_empty() {
            return (&bytes[..from], &bytes[end..]);
        }
        from = end;
    }
    (bytes, &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_names_values_folded_lines_and_parameters() {
        let bytes = b"Subject: =?utf-8?Q?x?=\r\nContent-Type: multipart/related;\r\n\ttype=\"text/html\";\r\n\tboundary=\"--a; b--\"\r\nno header\r\n\r\nbody\r\n\r\nrest";
        let (block, body) = split(bytes);
        assert_eq!(body, b"body\r\n\r\nrest");
        let headers = Headers::parse(block);
        assert_eq!(headers.media_type(), "multipart/related");
        assert_eq!(headers.parameter("boundary").as_deref(), Some("--a; b--"));
        assert_eq!(headers.parameter("type").as_deref(), Some("text/html"));
        assert_eq!(headers.parameter("charset"), None);
        assert_eq!(headers.get("subject"), "=?utf-8?Q?x?=");
        let plain = Headers::parse(b"content-type: text/html; Charset=utf-8; x=1\n");
        assert_eq!(plain.parameter("charset").as_deref(), Some("utf-8"));
        assert_eq!(split(b"a: b\n"), (&b"a: b\n"[..], &b""[..]));
    }
}
