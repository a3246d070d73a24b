//! What a build without images says of approaches to the image task.

use anyhow::{Result, bail};

use super::Approach;
use crate::task::recipe::settings::Setting;

impl Approach {
    pub(super) fn find_for_images(name: &str, _: &[Setting]) -> Result<Approach> {
        bail!(
            "this build of riposte has no approaches for images, such as {name}: install it with the feature full"
        )
    }
}
