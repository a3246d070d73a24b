//! Reads documents of an image collection from a stream of frames. The program that writes the stream has the files elsewhere.
//!
//! A frame is the length of its header (8 bytes, little-endian), the header, and the bytes of the files in the order in which the header lists
//! them. The header is JSON:
//!
//! ```json
//! {"document": "I0a1b…", "dir": "/data/images/I0a/I0a1b…", "files": [{"path": "image.png", "size": 812}, …]}
//! ```
//!
//! `dir` is the directory that the files come from; faults name it. If a file has `"omitted": true`, the frame gives its size but not its bytes. That
//! is for files that are too large to be read, and for files from which nothing is computed.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use riposte_eval::DocId;
use riposte_eval::lines::JsonObject;
use serde::Deserialize;

use super::images::{ImageFolder, is_document_id};
use crate::disk::parent;
use crate::limits::{
    MAX_DOCUMENT_FILE_BYTES, MAX_FRAME_BYTES, MAX_FRAME_DEPTH, MAX_FRAME_FILES,
    MAX_FRAME_HEADER_BYTES, MAX_FRAME_ID_BYTES, MAX_FRAME_PATH_BYTES,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    document: String,
    dir: Option<PathBuf>,
    files: Vec<FileHeader>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileHeader {
    path: String,
    size: u64,
    #[serde(default)]
    omitted: bool,
}

/// A document whose files have been written to a directory. They are removed when this is dropped.
#[derive(Debug)]
pub struct FramedDocument {
    /// The document. Its directory is the one that its files were written to.
    pub entry: ImageFolder,
    /// The directory that faults name instead.
    pub shown: PathBuf,
}

impl Drop for FramedDocument {
    fn drop(&mut self) {
        // a file that cannot be removed only takes space until the directory of all frames is removed
        let _ = fs::remove_dir_all(&self.entry.dir);
    }
}

/// Reads the next frame, and writes its files into a new directory within `into`. Returns `None` at the end of the stream.
///
/// # Errors
/// The stream is truncated, is not a stream of frames, or exceeds a limit; or the files cannot be written.
pub fn read_frame(input: &mut dyn Read, into: &Path) -> Result<Option<FramedDocument>> {
    let Some(length) = read_length(input)? else {
        return Ok(None);
    };
    ensure!(
        length <= MAX_FRAME_HEADER_BYTES,
        "the header has {length} bytes, but {MAX_FRAME_HEADER_BYTES} is the limit: this is not a stream of frames"
    );
    let mut bytes = Vec::new();
    (&mut *input)
        .take(length)
        .read_to_end(&mut bytes)
        .context("cannot read the header")?;
    ensure!(
        bytes.len() as u64 == length,
        "the stream ends within a header"
    );
    let JsonObject(header): JsonObject<Header> =
        serde_json::from_slice(&bytes).context("the header cannot be parsed")?;
    check(&header)?;
    let id = header.document;
    let dir = into.join(&id);
    fs::create_dir(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
    let document = FramedDocument {
        shown: header
            .dir
            .unwrap_or_else(|| ["images", &id[..3], &id].iter().collect()),
        entry: ImageFolder { id: DocId(id), dir },
    };
    for file in &header.files {
        copy(file, input, &document.entry.dir)
            .with_context(|| format!("{}: {:?}", document.entry.id, file.path))?;
    }
    Ok(Some(document))
}

/// The length of the next header; `None` if the stream ends before it.
fn read_length(input: &mut dyn Read) -> Result<Option<u64>> {
    let mut bytes = Vec::new();
    let read = (&mut *input).take(8).read_to_end(&mut bytes);
    read.context("cannot read the stream")?;
    match <[u8; 8]>::try_from(bytes) {
        Ok(length) => Ok(Some(u64::from_le_bytes(length))),
        Err(bytes) if bytes.is_empty() => Ok(None),
        Err(_) => bail!("the stream ends within the length of a header"),
    }
}

fn check(header: &Header) -> Result<()> {
    let id = &header.document;
    ensure!(
        is_document_id(id) && id.len() <= MAX_FRAME_ID_BYTES,
        "{id:?} is not the id of an image: I and at least 16 hex digits"
    );
    let files = header.files.len();
    ensure!(
        files <= MAX_FRAME_FILES,
        "{id}: {files} files, but {MAX_FRAME_FILES} is the limit"
    );
    let mut total = 0u64;
    for file in &header.files {
        let FileHeader { path, size, .. } = file;
        ensure!(
            is_inside(path) && path.len() <= MAX_FRAME_PATH_BYTES,
            "{id}: {path:?} is not a path within the document's directory"
        );
        let depth = Path::new(path).components().count();
        ensure!(
            depth <= MAX_FRAME_DEPTH,
            "{id}: {path:?} has {depth} names, but {MAX_FRAME_DEPTH} is the limit"
        );
        if !file.omitted {
            ensure!(
                *size <= MAX_DOCUMENT_FILE_BYTES,
                "{id}: {path:?} has {size} bytes; {MAX_DOCUMENT_FILE_BYTES} is the limit, and larger files must be omitted"
            );
            total = total.saturating_add(*size);
        }
    }
    ensure!(
        total <= MAX_FRAME_BYTES,
        "{id}: its files have {total} bytes, but {MAX_FRAME_BYTES} is the limit"
    );
    Ok(())
}

/// Whether a path from a stranger stays within the directory that it is joined to.
pub(crate) fn is_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    parts.all(|part| matches!(part, Component::Normal(_)))
        && !path.is_empty()
        && !path.contains('\0')
}

/// Writes a file of a frame.
fn copy(header: &FileHeader, input: &mut dyn Read, dir: &Path) -> Result<()> {
    let path = dir.join(&header.path);
    fs::create_dir_all(parent(&path)).context("cannot create its directory")?;
    // this is an error if the header lists a path twice
    let mut file = File::create_new(&path).context("cannot create it")?;
    if header.omitted {
        return file
            .set_len(header.size)
            .context("cannot give it its length");
    }
    let copied = io::copy(&mut (&mut *input).take(header.size), &mut file);
    let copied = copied.context("cannot write it")?;
    ensure!(copied == header.size, "the stream ends within it");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "I0123456789abcdef";

    fn frame(header: &str, bytes: &[u8]) -> Vec<u8> {
        let mut frame = (header.len() as u64).to_le_bytes().to_vec();
        frame.extend(header.as_bytes());
        frame.extend(bytes);
        frame
    }

    fn files(files: &str) -> String {
        format!(r#"{{"document": "{ID}", "files": [{files}]}}"#)
    }

    /// The error of the first frame.
    fn refusal(stream: &[u8]) -> String {
        let home = tempfile::tempdir().unwrap();
        let error = read_frame(&mut &*stream, home.path()).unwrap_err();
        // nothing is left, neither in the directory nor outside it
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
        format!("{error:#}")
    }

    #[test]
    fn the_files_of_a_frame_are_written_and_removed_with_it() {
        let home = tempfile::tempdir().unwrap();
        let header = files(
            r#"{"path": "image.png", "size": 3}, {"path": "pages/P1/page-url.txt", "size": 2}, {"path": "big", "size": 9, "omitted": true}"#,
        );
        let other = r#"{"document": "I0123456789abcdee", "dir": "/far/away", "files": []}"#;
        let stream = [frame(&header, b"abcde"), frame(other, b"")].concat();
        let mut stream = &stream[..];
        let document = read_frame(&mut stream, home.path()).unwrap().unwrap();
        let dir = document.entry.dir.clone();
        assert_eq!(document.entry.id.0, ID);
        assert_eq!(document.shown, Path::new("images/I01/I0123456789abcdef"));
        assert_eq!(fs::read(dir.join("image.png")).unwrap(), b"abc");
        assert_eq!(fs::read(dir.join("pages/P1/page-url.txt")).unwrap(), b"de");
        assert_eq!(fs::metadata(dir.join("big")).unwrap().len(), 9);
        drop(document);
        assert!(!dir.exists());
        let document = read_frame(&mut stream, home.path()).unwrap().unwrap();
        assert_eq!(document.shown, Path::new("/far/away"));
        assert!(read_frame(&mut stream, home.path()).unwrap().is_none());
    }

    #[test]
    fn a_stream_that_is_cut_is_an_error_wherever_it_is_cut() {
        let whole = frame(&files(r#"{"path": "image.png", "size": 3}"#), b"abc");
        for end in 1..whole.len() {
            let said = refusal(&whole[..end]);
            assert!(said.contains("the stream ends within"), "{end}: {said}");
        }
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        for (stream, what) in [
            (vec![0xff; 40], "this is not a stream of frames"),
            (frame("{", b""), "the header cannot be parsed"),
            (
                frame(r#"{"document": "I0/../..", "files": []}"#, b""),
                "not the id of an image",
            ),
            (
                frame(r#"{"document": "Ié23456789abcdef0", "files": []}"#, b""),
                "not the id of an image",
            ),
        ] {
            let said = refusal(&stream);
            assert!(said.contains(what), "{said}");
        }
        for path in ["../x", "/tmp/x", "", "a/../../b", "a\\u0000b"] {
            let said = refusal(&frame(
                &files(&format!(r#"{{"path": "{path}", "size": 0}}"#)),
                b"",
            ));
            assert!(said.contains("not a path within"), "{said}");
        }
        let deep = format!(r#"{{"path": "{}x", "size": 0}}"#, "a/".repeat(500));
        assert!(refusal(&frame(&files(&deep), b"")).contains("has 501 names"));
        let large = format!(
            r#"{{"path": "image.png", "size": {}}}"#,
            MAX_DOCUMENT_FILE_BYTES + 1
        );
        assert!(refusal(&frame(&files(&large), b"")).contains("larger files must be omitted"));
        let many =
            vec![format!(r#"{{"path": "x", "size": {MAX_DOCUMENT_FILE_BYTES}}}"#); 5].join(",");
        assert!(refusal(&frame(&files(&many), b"")).contains("its files have"));
        let twice = files(r#"{"path": "x", "size": 1}, {"path": "x", "size": 1}"#);
        assert!(refusal(&frame(&twice, b"ab")).contains("cannot create it"));
        let within = files(r#"{"path": "x", "size": 1}, {"path": "x/y", "size": 1}"#);
        assert!(refusal(&frame(&within, b"ab")).contains("cannot create"));
    }
}
