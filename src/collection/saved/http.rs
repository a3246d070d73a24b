//! Reads the HTTP response in a WARC record: its status, and its body without chunks and packing.

use std::io::Read;

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use super::headers::{Headers, split};
use crate::limits::{MAX_HTTP_WINDOW_BYTES, MAX_SAVED_FILE_BYTES};

/// A response.
pub(super) struct Response {
    pub status: u16,
    pub headers: Headers,
    /// Without chunks, but still packed.
    body: Vec<u8>,
}

impl Response {
    /// # Errors
    /// The bytes are no response.
    pub(super) fn read(bytes: &[u8]) -> Result<Response, String> {
        let (head, body) = split(bytes);
        let line = head.split(|byte| *byte == b'\n').next();
        let line = String::from_utf8_lossy(line.unwrap_or_default());
        let mut words = line.split_whitespace();
        let is_http = words.next().is_some_and(|word| word.starts_with("HTTP/"));
        let status = words.next().and_then(|word| word.parse().ok());
        let Some(status) = status.filter(|_| is_http) else {
            return Err("no HTTP response".to_owned());
        };
        let headers = Headers::parse(head);
        let is_chunked = headers
            .get("transfer-encoding")
            .to_ascii_lowercase()
            .contains("chunked");
        // some crawlers store the body without chunks, but keep the header
        let body = match is_chunked.then(|| without_chunks(body)).flatten() {
            Some(joined) => joined,
            None => body.to_vec(),
        };
        Ok(Response {
            status,
            headers,
            body,
        })
    }

    /// The unpacked body.
    ///
    /// # Errors
    /// It cannot be unpacked.
    pub(super) fn into_body(self) -> Result<Vec<u8>, String> {
        unpacked(self.body, self.headers.get("content-encoding"))
    }
}

/// Joins the chunks of a body. `None` if it does not consist of chunks. Of a body that was cut, it joins what is there.
fn without_chunks(body: &[u8]) -> Option<Vec<u8>> {
    let mut joined = Vec::new();
    let mut rest = body;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let size = std::str::from_utf8(&rest[..end]).ok()?;
        let size = size.split(';').next()?.trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        if size == 0 {
            break;
        }
        let after = &rest[end + 1..];
        joined.extend_from_slice(after.get(..size).unwrap_or(after));
        let next = after.get(size..).unwrap_or_default();
        let next = next.strip_prefix(b"\r").unwrap_or(next);
        rest = next.strip_prefix(b"\n").unwrap_or(next);
    }
    Some(joined)
}

/// Unpacks a body. Bytes that are not packed, although the header says so, stay as they are: crawlers unpack bodies and keep the header.
fn unpacked(body: Vec<u8>, encoding: &str) -> Result<Vec<u8>, String> {
    let is_gzip = body.starts_with(&[0x1f, 0x8b]);
    match &*encoding.trim().to_ascii_lowercase() {
        "gzip" | "x-gzip" if is_gzip => read_all(MultiGzDecoder::new(&*body)),
        // the standard says zlib, and some servers send it bare
        "deflate" => read_all(ZlibDecoder::new(&*body))
            .or_else(|_| read_all(DeflateDecoder::new(&*body)))
            .or(Ok(body)),
        "zstd" if body.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) => {
            let decoder = zstd::Decoder::with_buffer(&*body);
            let mut decoder = decoder.map_err(|error| error.to_string())?;
            let bounded = decoder.window_log_max(MAX_HTTP_WINDOW_BYTES.ilog2());
            bounded.map_err(|error| error.to_string())?;
            read_all(decoder)
        }
        "" | "identity" | "gzip" | "x-gzip" | "zstd" => Ok(body),
        _ if is_text_or_picture(&body) => Ok(body),
        "br" => Err("packed with Brotli, which riposte does not unpack: crawl without `br` in the header Accept-Encoding".to_owned()),
        other => Err(format!("packed with {other:?}, which riposte does not unpack")),
    }
}

/// Whether bytes look like a page or a picture, and not like something packed.
fn is_text_or_picture(bytes: &[u8]) -> bool {
    let start = bytes.get(..64).unwrap_or(bytes);
    start.trim_ascii_start().starts_with(b"<") || image::guess_format(bytes).is_ok()
}

fn read_all(from: impl Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = from.take(MAX_SAVED_FILE_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("it cannot be unpacked: {error}"))?;
    if bytes.len() as u64 > MAX_SAVED_FILE_BYTES {
        return Err(format!(
            "it unpacks to more than {MAX_SAVED_FILE_BYTES} bytes"
        ));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn body(head: &str, body: &[u8]) -> Result<Vec<u8>, String> {
        let bytes = [head.as_bytes(), b"\r\n\r\n", body].concat();
        Response::read(&bytes)?.into_body()
    }

    #[test]
    fn bodies_are_joined_and_unpacked() {
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked";
        let text = b"5;x=1\r\nwords\r\n1\r\n!\r\n0\r\n\r\n";
        assert_eq!(body(chunked, text).unwrap(), b"words!");
        // cut, not chunked at all, and a size that lies
        assert_eq!(body(chunked, b"5\r\nwo").unwrap(), b"wo");
        assert_eq!(body(chunked, b"<html>").unwrap(), b"<html>");
        assert_eq!(body(chunked, b"ffffffffffffffff\r\nw").unwrap(), b"w");
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(b"words").unwrap();
        let packed = packed.finish().unwrap();
        let gzip = "HTTP/1.1 200 OK\nContent-Encoding: gzip";
        assert_eq!(body(gzip, &packed).unwrap(), b"words");
        assert_eq!(body(gzip, b"words").unwrap(), b"words");
        for (encoding, named) in [("br", "Brotli"), ("gzip, br", "\"gzip, br\"")] {
            let head = format!("HTTP/1.1 200\r\ncontent-encoding: {encoding}");
            let error = body(&head, b"\x0b\x02").unwrap_err();
            assert!(error.contains(named), "{error}");
            assert_eq!(body(&head, b"<html>").unwrap(), b"<html>");
        }
        assert!(Response::read(b"GET / HTTP/1.1\r\n\r\n").is_err());
    }

    #[test]
    fn a_body_that_unpacks_to_gigabytes_is_refused() {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&vec![0; 1 << 20]).unwrap();
        // members of gzip one after the other are one file
        let packed = packed.finish().unwrap();
        let packed = packed.repeat((MAX_SAVED_FILE_BYTES >> 20) as usize + 1);
        let error = body("HTTP/1.1 200 OK\r\nContent-Encoding: gzip", &packed).unwrap_err();
        assert!(error.contains("unpacks to more than"), "{error}");
    }
}
