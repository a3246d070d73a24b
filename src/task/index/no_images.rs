//! What a build without images says of a collection of images.

use std::path::PathBuf;

use anyhow::{Result, bail};

use super::super::OnEvent;
use super::{IndexSettings, Indexed};

impl IndexSettings {
    pub(super) fn directory_of_images(&self, _: &mut OnEvent) -> Result<PathBuf> {
        bail!(
            "this build of riposte has no images, and {} is a collection of images: install it with the feature full",
            self.input.display()
        )
    }

    pub(super) fn index_images(&self, on_event: &mut OnEvent) -> Result<Indexed> {
        let error = self.directory_of_images(on_event).err();
        Err(error.unwrap_or_else(|| anyhow::anyhow!("there are no images")))
    }
}
