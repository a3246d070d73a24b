//! Stored answers: one file for each request, in a directory beside the indexes of the collection. A run that was killed continues after the last
//! stored answer, and a second run sends no request.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::disk;

/// Maximum size of a stored answer, in bytes. Riposte never stores a larger one.
const MAX_BYTES: u64 = 64 << 20;

/// A directory of stored answers.
pub struct StoredAnswers {
    dir: PathBuf,
}

/// What a file contains after the line with its checksum.
#[derive(Serialize, Deserialize)]
struct Record<R, A> {
    /// The address of the service.
    address: String,
    request: R,
    answer: A,
}

impl StoredAnswers {
    /// The answers in `dir`. The directory is created if it does not exist.
    ///
    /// # Errors
    /// The directory cannot be created.
    pub fn open(dir: &Path) -> Result<Self> {
        fs::create_dir_all(dir)
            .with_context(|| format!("cannot create the directory {}", dir.display()))?;
        Ok(StoredAnswers {
            dir: dir.to_owned(),
        })
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The file for the answer to a request.
    fn file<R: Serialize>(&self, address: &str, request: &R) -> Result<PathBuf> {
        let name = digest(&serde_json::to_vec(&(address, request))?);
        Ok(self.dir.join(format!("{}.json", &name[..32])))
    }

    /// The stored answer to a request. `None` if there is none.
    ///
    /// # Errors
    /// The file is damaged, or cannot be read.
    pub fn get<R, A>(&self, address: &str, request: &R) -> Result<Option<A>>
    where
        R: Serialize + DeserializeOwned + PartialEq,
        A: DeserializeOwned,
    {
        let path = self.file(address, request)?;
        let reading = || format!("the stored answer in {}", path.display());
        let file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file.with_context(reading)?,
        };
        let mut text = String::new();
        let read = file.take(MAX_BYTES).read_to_string(&mut text);
        read.with_context(reading)?;
        let record: Record<R, A> = parse(&text).with_context(reading)?;
        ensure!(
            record.address == address && record.request == *request,
            "{} belongs to another request",
            reading()
        );
        Ok(Some(record.answer))
    }

    /// Stores the answer to a request.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn put<R: Serialize, A: Serialize>(
        &self,
        address: &str,
        request: &R,
        answer: &A,
    ) -> Result<()> {
        let path = self.file(address, request)?;
        let record = Record {
            address: address.to_owned(),
            request,
            answer,
        };
        let json = serde_json::to_string(&record)?;
        let text = format!("{}\n{json}\n", digest(json.as_bytes()));
        disk::replace(&path, text.as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T> {
    let (sum, json) = text
        .trim_end()
        .split_once('\n')
        .context("it is truncated")?;
    ensure!(
        sum == digest(json.as_bytes()),
        "its checksum is wrong: it is damaged"
    );
    Ok(serde_json::from_str(json)?)
}

/// The SHA-256 of some bytes.
fn digest(bytes: &[u8]) -> String {
    disk::hex(&Sha256::digest(bytes))
}
