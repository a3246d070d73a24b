//! The index of a collection of images.

use std::path::PathBuf;

use anyhow::{Result, ensure};

use super::super::extraction::open_store;
use super::super::image_index;
use super::{IndexSettings, Indexed};
pub use crate::disk::TemporaryDir;
use crate::disk::regular;
use crate::events::OnEvent;
use crate::evidence::store::Store;
pub use crate::index::images::IndexChanges;
use crate::index::{images, inverted};

impl IndexSettings {
    /// The evidence of images.
    fn open_images(&self, on_event: &mut OnEvent) -> Result<PathBuf> {
        ensure!(
            self.source.session.places.index.is_none(),
            "--index is for texts: the index of images is stored beside the file that --evidence names"
        );
        let evidence = self
            .source
            .session
            .places
            .evidence(&self.source.input, on_event)?;
        ensure!(
            regular::is_file(&evidence)?,
            "there is no evidence store {}: run `riposte extract` to compute the evidence",
            evidence.display()
        );
        Ok(evidence)
    }

    /// The directory of the index.
    pub(super) fn directory_of_images(&self, on_event: &mut OnEvent) -> Result<PathBuf> {
        let evidence = self.open_images(on_event)?;
        Ok(image_index::directory(&evidence, &images::analyzer()))
    }

    pub(super) fn index_images(&self, on_event: &mut OnEvent) -> Result<Indexed> {
        let evidence = &self.open_images(on_event)?;
        let (analyzer, effort) = (images::analyzer(), self.source.session.indexing_budget()?);
        let mut store = open_store(evidence, Store::open, on_event)?;
        if self.rebuild {
            inverted::remove(&image_index::directory(evidence, &analyzer))?;
        }
        let (index, updated, _temporary) =
            image_index::open(&mut store, &analyzer, effort, on_event)?;
        ensure!(
            index.documents() > 0,
            "nothing to index: there is no document in {}",
            evidence.display()
        );
        Ok(Indexed::Images {
            index: Box::new(index),
            updated,
            _temporary,
        })
    }
}
