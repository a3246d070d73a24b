//! Image-text models of any family: CLIP in two layouts, SigLIP and Chinese CLIP. The files of a model say to which it belongs.
//!
//! | family | known by | computed by |
//! |---|---|---|
//! | CLIP | `config.json` with the model_type `clip` or without one | `nn/transformer/clip.rs` |
//! | CLIP of OpenCLIP | `open_clip_config.json`, if there is no `config.json` | the same |
//! | SigLIP, SigLIP 2 of one resolution | model_type `siglip` | candle-transformers |
//! | Chinese CLIP | model_type `chinese_clip` | candle-transformers |

mod likeness;
mod texts;

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use riposte_candle::image_text::{chinese_clip, siglip};
use riposte_nn::checkpoint::{Checkpoint, ExpectedTensor, FileNames};
use riposte_nn::conv::Numeric;
use riposte_nn::towers::{ImageTower, TextTower};
use riposte_nn::transformer::clip::open_clip::{self, OpenClip, Renamed};
use riposte_nn::transformer::text::ConfigFile;
use riposte_nn::transformer::{Backend, clip, examples};

pub use likeness::Likeness;
pub(super) use texts::Texts;

use super::pixels::{Preprocessing, Processor};
use crate::device;
use crate::disk::regular;
use crate::lazy::Lazy;

/// The configuration of a model.
#[derive(Clone)]
enum Family {
    Clip(clip::ClipConfig),
    OpenClip(OpenClip),
    /// With the token that fills texts up.
    Siglip(siglip::Config, u32),
    ChineseClip(chinese_clip::Config),
}

/// A model whose files have been checked, and whose weights have not been read.
pub(super) struct Model {
    family: Family,
    checkpoint: Arc<Checkpoint>,
    pub preprocessing: Preprocessing,
    pub texts: Texts,
    pub likeness: Likeness,
}

/// Reads and checks everything but the weights.
///
/// # Errors
/// A file is missing or damaged, the model is of a family or a kind that is not computed here, or a tensor is missing or has another shape or number
/// type than the configuration says. The message names it.
pub(super) fn open(dir: &Path) -> Result<Model> {
    let file = dir.join(FileNames::HUGGING_FACE.config);
    let of_open_clip = dir.join(open_clip::FILES.config);
    let exists = |path: &Path| {
        let found = regular::exists(path);
        found.with_context(|| format!("reading {}", path.display()))
    };
    if !exists(&file)? && exists(&of_open_clip)? {
        let config = OpenClip::read(dir)?;
        let preprocessing = Preprocessing::read_open_clip(dir, config.clip.vision.image_size)?;
        let texts = Texts::of_clip(dir, &config.clip)?;
        return Model::new(dir, Family::OpenClip(config), preprocessing, texts);
    }
    let file = ConfigFile::read(dir)?;
    match file.kind() {
        None | Some("clip") => {
            let config = clip::ClipConfig::read(dir)?;
            let preprocessing = Preprocessing::read(dir, Processor::Clip)?;
            let texts = Texts::of_clip(dir, &config)?;
            Model::new(dir, Family::Clip(config), preprocessing, texts)
        }
        Some("siglip") => {
            let config = siglip::Config::read(&file)?;
            let preprocessing = Preprocessing::read(dir, Processor::Siglip)?;
            let (texts, padding) = Texts::of_siglip(dir, config.tokens(), config.vocabulary())?;
            Model::new(dir, Family::Siglip(config, padding), preprocessing, texts)
        }
        Some("chinese_clip") => {
            let config = chinese_clip::Config::read(&file)?;
            let preprocessing = Preprocessing::read(dir, Processor::ChineseClip)?;
            let texts = Texts::of_bert(dir, config.tokens(), config.vocabulary())?;
            Model::new(dir, Family::ChineseClip(config), preprocessing, texts)
        }
        Some("siglip2") => bail!(
            "{}: model_type is \"siglip2\": a SigLIP 2 for pictures of any shape (naflex) is not computed here, only those of one resolution",
            file.path().display()
        ),
        Some(kind) => bail!(
            "{}: model_type is {kind:?}: expected clip, siglip or chinese_clip",
            file.path().display()
        ),
    }
}

impl Family {
    fn files(&self) -> FileNames {
        match self {
            Family::OpenClip(_) => open_clip::FILES,
            _ => FileNames::HUGGING_FACE,
        }
    }

    fn expected_tensors(&self) -> Vec<ExpectedTensor> {
        match self {
            Family::Clip(config) => config.expected_tensors(),
            Family::OpenClip(config) => config.expected_tensors(),
            Family::Siglip(config, _) => config.expected_tensors(),
            Family::ChineseClip(config) => config.expected_tensors(),
        }
    }

    /// The number of rows and of columns of a picture.
    fn side(&self) -> usize {
        match self {
            Family::Clip(config) => config.vision.image_size,
            Family::OpenClip(config) => config.clip.vision.image_size,
            Family::Siglip(config, _) => config.side(),
            Family::ChineseClip(config) => config.side(),
        }
    }

    fn dimension(&self) -> usize {
        match self {
            Family::Clip(config) => config.projection_dim,
            Family::OpenClip(config) => config.clip.projection_dim,
            Family::Siglip(config, _) => config.dimension(),
            Family::ChineseClip(config) => config.dimension(),
        }
    }

    /// Whether the model was trained with the sigmoid of each pair, which has a bias.
    fn has_bias(&self) -> bool {
        match self {
            Family::Siglip(..) => true,
            Family::OpenClip(config) => config.has_bias,
            Family::Clip(_) | Family::ChineseClip(_) => false,
        }
    }
}

impl Model {
    fn new(
        dir: &Path,
        family: Family,
        preprocessing: Preprocessing,
        texts: Texts,
    ) -> Result<Model> {
        let (side, files) = (family.side(), family.files());
        ensure!(
            preprocessing.output() == Some((side, side)),
            "{} makes images of {}, {} requires {side} × {side}",
            match family {
                Family::OpenClip(_) => "preprocess_cfg",
                _ => "preprocessor_config.json",
            },
            match preprocessing.output() {
                Some((height, width)) => format!("{height} × {width} (height × width)"),
                None => "any size".to_owned(),
            },
            files.config
        );
        let checkpoint = Checkpoint::open_named(dir, files, &family.expected_tensors())?;
        let likeness = Likeness::read(&checkpoint, family.has_bias())?;
        Ok(Model {
            family,
            checkpoint: Arc::new(checkpoint),
            preprocessing,
            texts,
            likeness,
        })
    }

    /// The number of rows and of columns of a picture.
    pub fn side(&self) -> usize {
        self.family.side()
    }

    /// The length of every vector.
    pub fn dimension(&self) -> usize {
        self.family.dimension()
    }

    /// The two towers, whose weights are read when they are first used. [`Numeric::Int8`] concerns only CLIP.
    pub fn towers(&self, backend: Backend, numeric: Numeric) -> Result<Towers> {
        let examples = match numeric {
            Numeric::Float => "".lines(),
            Numeric::Int8 => examples::texts(),
        };
        let examples = self.texts.encode(examples)?;
        let (backend, int8) = (device::backend(backend), !examples.is_empty());
        let (family, source) = (self.family.clone(), self.checkpoint.clone());
        let text = move || -> Result<Box<dyn TextTower>> {
            Ok(match &family {
                Family::Clip(config) => {
                    Box::new(clip::TextTower::read(config, &*source, backend, &examples)?)
                }
                Family::OpenClip(OpenClip { clip: config, .. }) => {
                    let source = Renamed::new(&*source, config);
                    Box::new(clip::TextTower::read(config, &source, backend, &examples)?)
                }
                Family::Siglip(config, padding) => config.text_tower(source.clone(), *padding)?,
                Family::ChineseClip(config) => config.text_tower(source.clone())?,
            })
        };
        let (family, source) = (self.family.clone(), self.checkpoint.clone());
        let image = move || -> Result<Box<dyn ImageTower>> {
            Ok(match &family {
                Family::Clip(config) => {
                    Box::new(clip::VisionTower::read(config, &*source, backend, int8)?)
                }
                Family::OpenClip(OpenClip { clip: config, .. }) => {
                    let source = Renamed::new(&*source, config);
                    Box::new(clip::VisionTower::read(config, &source, backend, int8)?)
                }
                Family::Siglip(config, _) => config.image_tower(source.clone())?,
                Family::ChineseClip(config) => config.image_tower(source.clone())?,
            })
        };
        Ok(Towers {
            text: Lazy::new("text tower".to_owned(), text),
            image: Lazy::new("image tower".to_owned(), image),
        })
    }
}

/// The towers of a model. A ranking needs only the one of texts, an extraction only the one of pictures.
pub(super) struct Towers {
    pub text: Lazy<Box<dyn TextTower>>,
    pub image: Lazy<Box<dyn ImageTower>>,
}
