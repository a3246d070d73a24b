//! Notes the documents that an extraction works on in the lock file beside the store.
//!
//! A process that is killed, or that a document makes die, leaves its notes behind, so the next extraction knows which documents it may have died of.
//! The lock file holds a line of fixed length for each worker. The notes need not survive a power cut, so nothing is flushed.

use std::fs::File;
use std::io::{self, Read};

use riposte_eval::DocId;

/// Length of a line, with its newline. An id is the name of a directory, which has at most 255 bytes.
const LINE: usize = 400;

/// A document that was at work when a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentAtWork {
    pub document: DocId,
    pub fingerprint: String,
}

/// The notes of an extraction that is running.
#[derive(Debug)]
pub struct AtWork(File);

impl AtWork {
    /// `file` is the lock file of a store that is open for writing. Removes the notes of earlier extractions.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn begin(file: &File) -> io::Result<AtWork> {
        let file = file.try_clone()?;
        file.set_len(0)?;
        Ok(AtWork(file))
    }

    /// Notes the document that a worker (from 0) begins. It replaces the worker's previous note, because that document is done.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn note(
        &self,
        worker: usize,
        document: &DocId,
        fingerprint: &str,
    ) -> io::Result<()> {
        let mut line = format!("{} {fingerprint}", document.0).into_bytes();
        if line.len() >= LINE {
            return Ok(());
        }
        line.resize(LINE - 1, b' ');
        line.push(b'\n');
        self.write(&line, worker)
    }

    #[cfg(unix)]
    fn write(&self, line: &[u8], worker: usize) -> io::Result<()> {
        use std::os::unix::fs::FileExt;
        self.0.write_all_at(line, (worker * LINE) as u64)
    }

    #[cfg(not(unix))]
    fn write(&self, _: &[u8], _: usize) -> io::Result<()> {
        Ok(())
    }

    /// Removes all notes, because the extraction has ended in order.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn end(self) -> io::Result<()> {
        self.0.set_len(0)
    }
}

/// The notes in a lock file, each document once. Lines that are not notes are ignored.
pub(super) fn notes(mut file: &File) -> io::Result<Vec<DocumentAtWork>> {
    // no machine has more workers than this leaves room for
    const MOST: u64 = 1 << 24;
    let mut bytes = Vec::new();
    io::Seek::rewind(&mut file)?;
    file.take(MOST).read_to_end(&mut bytes)?;
    let mut notes: Vec<DocumentAtWork> = Vec::new();
    for line in String::from_utf8_lossy(&bytes).lines() {
        let words: Vec<&str> = line.trim_matches(['\0', ' ']).split(' ').collect();
        let [document, fingerprint] = words[..] else {
            continue;
        };
        let note = DocumentAtWork {
            document: DocId(document.to_owned()),
            fingerprint: fingerprint.to_owned(),
        };
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    Ok(notes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_stay_until_an_extraction_ends_in_order() {
        let file = tempfile::tempfile().unwrap();
        let note = |id: &str, fingerprint: &str| DocumentAtWork {
            document: DocId(id.into()),
            fingerprint: fingerprint.into(),
        };
        let at_work = AtWork::begin(&file).unwrap();
        at_work.note(2, &DocId("I02".into()), "cd").unwrap();
        at_work.note(0, &DocId("I01".into()), "ab").unwrap();
        // there is no second worker: its line is a hole
        assert_eq!(
            notes(&file).unwrap(),
            [note("I01", "ab"), note("I02", "cd")]
        );
        at_work.note(0, &DocId("I3".into()), "ef").unwrap();
        assert_eq!(notes(&file).unwrap(), [note("I3", "ef"), note("I02", "cd")]);
        // too long for a line: it is not noted
        at_work.note(1, &DocId("I".repeat(500)), "ef").unwrap();
        assert_eq!(notes(&file).unwrap().len(), 2);
        at_work.end().unwrap();
        assert_eq!(notes(&file).unwrap(), []);
    }

    #[test]
    fn a_lock_file_with_other_contents_has_no_notes() {
        use std::io::Write;
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"\xff\xfe\nsomething quite different\n\0\0\0\n\n")
            .unwrap();
        assert_eq!(notes(&file).unwrap(), []);
    }
}
