//! The documents in which riposte died.

use std::path::PathBuf;

use anyhow::Result;
use riposte_eval::DocId;
use rusqlite::{Connection, params};

use super::checksum::{ALL, readable};
use super::tables::PASSED_OVER;
use super::{Store, rows};
use crate::collection::{Fault, FaultKind};

/// A document in which riposte died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedOver {
    pub document: DocId,
    /// The fingerprint of the document's files when riposte died in it.
    pub fingerprint: String,
    /// A hash over the names and contents of these files.
    pub content: String,
    /// The version of riposte that died in it, and the producers of all channels.
    pub producers: String,
    /// The directory of the document.
    pub path: PathBuf,
    /// The message to the user: how riposte died, and how to try the document again.
    pub what: String,
}

impl PassedOver {
    /// The fault that a user sees.
    pub(crate) fn fault(&self) -> Fault {
        Fault::in_file(FaultKind::Died, &self.path, &*self.what).of(&self.document)
    }
}

impl Store {
    /// The documents in which riposte died, ordered by document.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(crate) fn passed_over(&self) -> Result<Vec<PassedOver>> {
        self.reading(|c| {
            let mut statement = c.prepare(&PASSED_OVER.select())?;
            let rows = statement.query_map(ALL, |row| {
                Ok(PassedOver {
                    document: DocId(row.get(0)?),
                    fingerprint: row.get(1)?,
                    content: row.get(2)?,
                    producers: row.get(3)?,
                    path: row.get::<_, String>(4)?.into(),
                    what: row.get(5)?,
                })
            })?;
            // if its row is damaged, a document is tried again
            let rows = rows.filter_map(|row| readable(row).transpose());
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Records that riposte died in a document. Its evidence is removed if it was computed from other files.
    ///
    /// # Errors
    /// The store cannot be written.
    pub(crate) fn pass_over(&mut self, document: &PassedOver) -> Result<()> {
        let channels = self.place.channels;
        self.writing(|c| {
            let id = document.document.0.as_str();
            if rows::is_stale(c, id, &document.fingerprint, Some(&document.content))? {
                for channel in channels {
                    rows::clear(c, id, *channel)?;
                }
                rows::delete(c, "document", id)?;
            }
            insert(c, document)
        })
    }

    /// Forgets that riposte died in a document.
    ///
    /// # Errors
    /// The store cannot be written.
    pub(crate) fn forget_passed_over(&mut self, document: &DocId) -> Result<()> {
        self.writing(|c| Ok(rows::delete(c, PASSED_OVER.name, &document.0)?))
    }
}

pub(super) fn insert(c: &Connection, document: &PassedOver) -> Result<()> {
    c.prepare_cached(&PASSED_OVER.insert())?.execute(params![
        document.document.0,
        document.fingerprint,
        document.content,
        document.producers,
        document.path.to_string_lossy(),
        document.what
    ])?;
    Ok(())
}
