//! Approaches to the image task.

use anyhow::Result;

use super::Approach;
use crate::collection::task::Task;
use crate::recipes::image_approach::ImageApproach;
use crate::recipes::settings::Setting;

impl Approach {
    pub(super) fn find_for_images(name: &str, settings: &[Setting]) -> Result<Approach> {
        let found = ImageApproach::find_with(name, settings)?;
        Ok(Approach {
            task: Task::Images,
            name: found.name.clone(),
            source: found.source.clone(),
            text: found.text.clone(),
            texts: None,
            images: Some(Box::new(found)),
        })
    }

    pub(in crate::api) fn images(&self) -> Option<&ImageApproach> {
        self.images.as_deref()
    }
}
