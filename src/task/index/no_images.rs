//! What a build without images says of a collection of images.

use std::path::PathBuf;

use anyhow::{Error, Result, anyhow};

use super::super::OnEvent;
use super::{IndexSettings, Indexed};

impl IndexSettings {
    fn no_images(&self) -> Error {
        anyhow!(
            "this build of riposte has no images, and {} is a collection of images: install it with the feature full",
            self.input.display()
        )
    }

    pub(super) fn directory_of_images(&self, _: &mut OnEvent) -> Result<PathBuf> {
        Err(self.no_images())
    }

    pub(super) fn index_images(&self, _: &mut OnEvent) -> Result<Indexed> {
        Err(self.no_images())
    }
}
