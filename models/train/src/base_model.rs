//! The published encoder that the pair encoder is trained from.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use riposte::weights::{ModelStatus, Models};

const NAME: &str = "all-minilm-l6-v2";

pub struct BaseModel {
    pub dir: PathBuf,
    pub sha256: String,
}

impl BaseModel {
    /// The checked model in the directory of the models.
    ///
    /// # Errors
    /// The model is missing or damaged.
    pub fn find(models: Option<&Path>) -> Result<BaseModel> {
        match Models::at(models)?.find(NAME)? {
            ModelStatus::Ready(model) => Ok(BaseModel {
                dir: model.dir.clone(),
                sha256: model.sha256.clone(),
            }),
            _ => bail!("{NAME} is missing or incomplete: `riposte models fetch {NAME}` gets it"),
        }
    }
}
