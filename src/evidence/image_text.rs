//! Image-text models of any family: CLIP in two layouts, SigLIP and Chinese CLIP. The files of a model say to which it belongs.
//!
//! | family | known by | computed by |
//! |---|---|---|
//! | CLIP | `config.json` with the model_type `clip` or without one | `nn/transformer/clip.rs` |
//! | CLIP of OpenCLIP | `open_clip_config.json`, if there is no `config.json` | the same |
//! | SigLIP, SigLIP 2 of one resolution | model_type `siglip` | candle-transformers |
//! | Chinese CLIP | model_type `chinese_clip` | candle-transformers |
//! | CLIP as two ONNX files | no safetensors, but `vision_model.onnx` and `text_model.onnx` | rten ([`super::onnx_towers`]) |

mod likeness;
mod texts;

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use riposte_candle::image_text::{chinese_clip, siglip};
use riposte_nn::checkpoint::{Checkpoint, ExpectedTensor, FileNames};
use riposte_nn::conv::Numeric;
use riposte_nn::towers::{ImageTower, TextTower};
use riposte_nn::transformer::clip::open_clip::{self, OpenClip, Renamed};
use riposte_nn::transformer::text::ConfigFile;
use riposte_nn::transformer::{Backend, clip, examples};

pub use likeness::ImageTextLikeness;
pub(super) use texts::Texts;

use super::onnx_towers::Files;
use super::pixels::{Preprocessing, Processor};
use crate::device::Runtime;
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

/// Where the weights of a model are.
enum WeightFiles {
    Safetensors(Family, Arc<Checkpoint>),
    Onnx(clip::ClipConfig, Arc<Files>),
}

/// A model whose files have been checked, and whose weights have not been read.
pub(super) struct UnloadedModel {
    weights: WeightFiles,
    pub preprocessing: Preprocessing,
    pub texts: Texts,
    pub likeness: ImageTextLikeness,
}

/// Reads and checks everything but the weights.
///
/// # Errors
/// A file is missing or damaged, the model is of a family or a kind that is not computed here, or a tensor is missing or has another shape or number
/// type than the configuration says. The message names it.
pub(super) fn open(dir: &Path) -> Result<UnloadedModel> {
    let file = dir.join(FileNames::HUGGING_FACE.config);
    let of_open_clip = dir.join(open_clip::FILES.config);
    let exists = |path: &Path| {
        let found = regular::exists(path);
        found.with_context(|| format!("reading {}", path.display()))
    };
    if let Some(files) = Files::find(dir)? {
        return UnloadedModel::of_onnx(dir, files);
    }
    if !exists(&file)? && exists(&of_open_clip)? {
        let config = OpenClip::read(dir)?;
        let preprocessing = Preprocessing::read_open_clip(dir, config.clip.vision.image_size)?;
        let texts = Texts::of_clip(dir, &config.clip)?;
        return UnloadedModel::new(dir, Family::OpenClip(config), preprocessing, texts);
    }
    let file = ConfigFile::read(dir)?;
    match file.kind() {
        None | Some("clip") => {
            let config = clip::ClipConfig::read(dir)?;
            let preprocessing = Preprocessing::read(dir, Processor::Clip)?;
            let texts = Texts::of_clip(dir, &config)?;
            UnloadedModel::new(dir, Family::Clip(config), preprocessing, texts)
        }
        Some("siglip") => {
            let config = siglip::Config::read(&file)?;
            let preprocessing = Preprocessing::read(dir, Processor::Siglip)?;
            let (texts, padding) = Texts::of_siglip(dir, config.tokens(), config.vocabulary())?;
            UnloadedModel::new(dir, Family::Siglip(config, padding), preprocessing, texts)
        }
        Some("chinese_clip") => {
            let config = chinese_clip::Config::read(&file)?;
            let preprocessing = Preprocessing::read(dir, Processor::ChineseClip)?;
            let texts = Texts::of_bert(dir, config.tokens(), config.vocabulary())?;
            UnloadedModel::new(dir, Family::ChineseClip(config), preprocessing, texts)
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

impl UnloadedModel {
    fn new(
        dir: &Path,
        family: Family,
        preprocessing: Preprocessing,
        texts: Texts,
    ) -> Result<UnloadedModel> {
        let files = family.files();
        let by = match family {
            Family::OpenClip(_) => "preprocess_cfg",
            _ => "preprocessor_config.json",
        };
        check_side(&preprocessing, by, family.side(), files.config)?;
        let checkpoint = Checkpoint::open_named(dir, files, &family.expected_tensors())?;
        let likeness = ImageTextLikeness::read(&checkpoint, family.has_bias())?;
        Ok(UnloadedModel {
            weights: WeightFiles::Safetensors(family, Arc::new(checkpoint)),
            preprocessing,
            texts,
            likeness,
        })
    }

    /// A CLIP whose towers are ONNX files.
    fn of_onnx(dir: &Path, files: Files) -> Result<UnloadedModel> {
        files.check(dir)?;
        let mut config = clip::ClipConfig::read(dir)?;
        let preprocessing = Preprocessing::read(dir, Processor::Clip)?;
        // settings of ONNX models often leave out the size of pictures, which their networks have
        if let Some((height, width)) = preprocessing.output()
            && height == width
        {
            config.vision.image_size = height;
        }
        let side = config.vision.image_size;
        check_side(
            &preprocessing,
            "preprocessor_config.json",
            side,
            FileNames::HUGGING_FACE.config,
        )?;
        Ok(UnloadedModel {
            texts: Texts::of_clip(dir, &config)?,
            weights: WeightFiles::Onnx(config, Arc::new(files)),
            preprocessing,
            // an exported tower does not have it
            likeness: ImageTextLikeness::default(),
        })
    }

    /// The number of rows and of columns of a picture.
    pub fn side(&self) -> usize {
        match &self.weights {
            WeightFiles::Safetensors(family, _) => family.side(),
            WeightFiles::Onnx(config, _) => config.vision.image_size,
        }
    }

    /// The length of every vector.
    pub fn dimension(&self) -> usize {
        match &self.weights {
            WeightFiles::Safetensors(family, _) => family.dimension(),
            WeightFiles::Onnx(config, _) => config.projection_dim,
        }
    }

    /// What computes the towers if the user chooses this backend.
    pub fn runtime(&self, backend: Backend) -> Runtime {
        match &self.weights {
            WeightFiles::Safetensors(Family::Clip(_) | Family::OpenClip(_), _) => backend.into(),
            WeightFiles::Safetensors(Family::Siglip(..) | Family::ChineseClip(_), _) => {
                Runtime::Candle
            }
            WeightFiles::Onnx(..) => Runtime::Rten,
        }
    }

    /// The two towers, whose weights are read when they are first used. [`Numeric::Int8`] concerns only CLIP.
    pub fn towers(&self, backend: Backend, numeric: Numeric) -> Result<Towers> {
        let (family, source) = match &self.weights {
            WeightFiles::Safetensors(family, source) => (family, source),
            WeightFiles::Onnx(config, files) => return Ok(Towers::of_onnx(config, files)),
        };
        let examples = match numeric {
            Numeric::Float => "".lines(),
            Numeric::Int8 => examples::texts(),
        };
        let examples = self.texts.encode(examples)?;
        let int8 = !examples.is_empty();
        let (of_text, source_of_text) = (family.clone(), source.clone());
        let text = move || -> Result<Box<dyn TextTower>> {
            let (family, source) = (&of_text, &source_of_text);
            Ok(match family {
                Family::Clip(config) => Box::new(clip::TextTower::read(
                    config, &**source, backend, &examples,
                )?),
                Family::OpenClip(OpenClip { clip: config, .. }) => {
                    let source = Renamed::new(&**source, config);
                    Box::new(clip::TextTower::read(config, &source, backend, &examples)?)
                }
                Family::Siglip(config, padding) => config.text_tower(source.clone(), *padding)?,
                Family::ChineseClip(config) => config.text_tower(source.clone())?,
            })
        };
        let (family, source) = (family.clone(), source.clone());
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

impl Towers {
    fn of_onnx(config: &clip::ClipConfig, files: &Arc<Files>) -> Towers {
        let (of_text, files_of_text) = (config.clone(), files.clone());
        let text =
            move || -> Result<Box<dyn TextTower>> { Ok(Box::new(files_of_text.text(&of_text)?)) };
        let (config, files) = (config.clone(), files.clone());
        let image = move || -> Result<Box<dyn ImageTower>> { Ok(Box::new(files.vision(&config)?)) };
        Towers {
            text: Lazy::new("text tower".to_owned(), text),
            image: Lazy::new("image tower".to_owned(), image),
        }
    }
}

/// Checks that pictures get the size that the model takes. `by` and `file` say where both sizes are set.
fn check_side(preprocessing: &Preprocessing, by: &str, side: usize, file: &str) -> Result<()> {
    let size = match preprocessing.output() {
        Some((height, width)) if (height, width) == (side, side) => return Ok(()),
        Some((height, width)) => format!("{height} × {width} (height × width)"),
        None => "any size".to_owned(),
    };
    bail!("{by} makes images of {size}, {file} requires {side} × {side}")
}
