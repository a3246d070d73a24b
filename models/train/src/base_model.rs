//! The published encoder that the stance encoder is trained from.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use riposte::reading::stance_encoder::StanceEncoder;
use riposte::weights::{ModelStatus, Models};
use riposte_nn::transformer::EncoderBackend;

const NAME: &str = "all-minilm-l6-v2";

pub struct BaseModel {
    pub dir: PathBuf,
    pub sha256: String,
    /// The backend of the stance encoder: floats for training, so that machines with and without int8 write the same files.
    pub backend: EncoderBackend,
}

impl BaseModel {
    /// The verified model in the directory of the models.
    ///
    /// # Errors
    /// The model is missing or damaged.
    pub fn find(models: Option<&Path>) -> Result<BaseModel> {
        match Models::at(models)?.find(NAME)? {
            ModelStatus::Ready(model) => Ok(BaseModel {
                dir: model.dir.clone(),
                sha256: model.sha256.clone(),
                backend: EncoderBackend::Float,
            }),
            _ => bail!("{NAME} is missing or incomplete: `riposte models fetch {NAME}` gets it"),
        }
    }

    /// The stance encoder with the current weights in `models/own`. The weights in the program can be older.
    ///
    /// # Errors
    /// The weights cannot be read, or belong to another checkpoint.
    pub fn stance_encoder(&self) -> Result<StanceEncoder> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../own/stance.safetensors");
        let weights = fs::read(&path)
            .with_context(|| format!("cannot read the weights {}", path.display()))?;
        StanceEncoder::load_trained(&self.dir, &self.sha256, &weights, self.backend)
    }
}
