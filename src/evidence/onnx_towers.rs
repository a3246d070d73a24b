//! Image-text models as two ONNX files, a tower of pictures and a tower of texts, as optimum and transformers.js write them. rten computes them.
//!
//! | tower | file, also in `onnx/` | inputs | output |
//! |---|---|---|---|
//! | pictures | `vision_model.onnx` | `pixel_values` (batch, colour, row, column) | `image_embeds` (batch, dimension) |
//! | texts | `text_model.onnx` | `input_ids`, and perhaps `attention_mask` (batch, token) | `text_embeds` (batch, dimension) |

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow, bail, ensure};
use riposte_nn::checkpoint::read_json;
use riposte_nn::tokens::Encoding;
use riposte_nn::towers::{ImageTower, TextTower};
use riposte_nn::transformer::clip::ClipConfig;
use riposte_nn::{normalise, onnx};
use rten::{Dimension, Model, NodeId, RunOptions, ThreadPool, ValueOrView};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, Tensor};
use serde_json::{Map, Value};

use crate::disk::regular;
use crate::evidence::guarded::{load_model, message_of};
use crate::limits::MAX_TOWER_BYTES;
use crate::threads;

/// The weights of a checkpoint, which precede ONNX files.
const SAFETENSORS: [&str; 2] = ["model.safetensors", "open_clip_model.safetensors"];

const PIXELS: &str = "pixel_values";
const IDS: &str = "input_ids";
const MASK: &str = "attention_mask";

/// The files of the two towers.
pub(super) struct Files {
    vision: PathBuf,
    text: PathBuf,
}

impl Files {
    /// The towers in the directory of a checkpoint, if it has no weights as safetensors.
    ///
    /// # Errors
    /// There is only one of the towers, or the disk fails.
    pub fn find(dir: &Path) -> Result<Option<Files>> {
        if regular::first_of(SAFETENSORS.map(|name| dir.join(name)))?.is_some() {
            return Ok(None);
        }
        for dir in [dir.to_owned(), dir.join("onnx")] {
            let (vision, text) = (dir.join("vision_model.onnx"), dir.join("text_model.onnx"));
            match (regular::is_file(&vision)?, regular::is_file(&text)?) {
                (true, true) => return Ok(Some(Files { vision, text })),
                (false, false) => {}
                (true, false) => bail!("{} is missing, the tower of texts", text.display()),
                (false, true) => bail!("{} is missing, the tower of pictures", vision.display()),
            }
        }
        Ok(None)
    }

    /// Checks what can be known before the towers are read.
    ///
    /// # Errors
    /// A file is too large, or the model is one whose texts are not read as CLIP reads them.
    pub fn check(&self, dir: &Path) -> Result<()> {
        for path in [&self.vision, &self.text] {
            let file = regular::open(path).with_context(|| reading(path))?;
            let bytes = file.metadata().with_context(|| reading(path))?.len();
            ensure!(
                bytes <= MAX_TOWER_BYTES,
                "{} has more than {MAX_TOWER_BYTES} bytes",
                path.display()
            );
        }
        let path = dir.join("config.json");
        let config: Map<String, Value> = read_json(&path)?;
        let kind = config.get("model_type").and_then(Value::as_str);
        ensure!(
            kind.is_none_or(|kind| kind == "clip"),
            "{}: model_type is {}: as ONNX files, riposte computes only the towers of clip",
            path.display(),
            kind.unwrap_or_default()
        );
        Ok(())
    }

    /// Reads the tower of pictures.
    ///
    /// # Errors
    /// The file is damaged, or it has other inputs or outputs than such a tower.
    pub fn vision(&self, config: &ClipConfig) -> Result<Vision> {
        let network = TowerNetwork::read(
            &self.vision,
            &[PIXELS],
            "image_embeds",
            config.projection_dim,
        )?;
        let side = config.vision.image_size;
        let shape = network.shape(PIXELS)?;
        let fits = |have: Option<usize>, must: usize| have.is_none_or(|have| have == must);
        ensure!(
            matches!(shape[..], [_, colours, height, width]
                if fits(colours, 3) && fits(height, side) && fits(width, side)),
            "{}: {PIXELS} has the shape {}, but pictures have 3 × {side} × {side} numbers",
            self.vision.display(),
            shown(&shape)
        );
        Ok(Vision { network, side })
    }

    /// Reads the tower of texts.
    ///
    /// # Errors
    /// The file is damaged, or it has other inputs or outputs than such a tower.
    pub fn text(&self, config: &ClipConfig) -> Result<TextTowerNetwork> {
        let network = TowerNetwork::read(
            &self.text,
            &[IDS, MASK],
            "text_embeds",
            config.projection_dim,
        )?;
        let shape = network.shape(IDS)?;
        let most = config.text.max_position_embeddings;
        let &[_, length] = &shape[..] else {
            bail!(
                "{}: {IDS} has the shape {}",
                self.text.display(),
                shown(&shape)
            );
        };
        ensure!(
            length.is_none_or(|length| length == most),
            "{}: {IDS} has the shape {}, but a text has {most} tokens (max_position_embeddings in config.json)",
            self.text.display(),
            shown(&shape)
        );
        Ok(TextTowerNetwork { network, length })
    }
}

fn reading(path: &Path) -> String {
    format!("reading {}", path.display())
}

/// A shape whose numbers can be missing, as a message shows it.
fn shown(shape: &[Option<usize>]) -> String {
    let numbers: Vec<String> = shape
        .iter()
        .map(|size| size.map_or("?".to_owned(), |size| size.to_string()))
        .collect();
    format!("[{}]", numbers.join(", "))
}

/// A network that gives a vector for an input. Inputs are computed one by one: rten's sums depend on the size of a batch, and a vector must not depend on
/// what else is computed.
struct TowerNetwork {
    path: PathBuf,
    model: Model,
    /// The inputs by name.
    inputs: Vec<(&'static str, NodeId)>,
    output: NodeId,
    dimension: usize,
    /// Idle pools of one thread. Several threads compute vectors at the same time, each with a pool of its own.
    pools: Mutex<Vec<Arc<ThreadPool>>>,
}

impl TowerNetwork {
    /// Reads a file. The first of `inputs` must be there, and no others than these.
    fn read(
        path: &Path,
        inputs: &[&'static str],
        output: &str,
        dimension: usize,
    ) -> Result<TowerNetwork> {
        let bytes = regular::read(path, MAX_TOWER_BYTES).with_context(|| reading(path))?;
        onnx::check(&bytes).with_context(|| reading(path))?;
        let model = load_model(bytes).with_context(|| reading(path))?;
        let mut found = Vec::new();
        for &id in model.input_ids() {
            let name = name_of(&model, id);
            let known = inputs.iter().find(|known| **known == name);
            let known = known.with_context(|| {
                format!(
                    "{}: the input {name} is unknown: expected {}",
                    path.display(),
                    inputs.join(" and ")
                )
            })?;
            found.push((*known, id));
        }
        let first = inputs.first().copied().unwrap_or_default();
        ensure!(
            found.iter().any(|(name, _)| *name == first),
            "{}: there is no input {first}",
            path.display()
        );
        let outputs = model.output_ids();
        let Some(&output) = outputs.iter().find(|&&id| name_of(&model, id) == output) else {
            let names: Vec<String> = outputs.iter().map(|&id| name_of(&model, id)).collect();
            bail!(
                "{}: there is no output {output}, only {}: export the tower with its projection",
                path.display(),
                names.join(", ")
            );
        };
        let network = TowerNetwork {
            path: path.to_owned(),
            model,
            inputs: found,
            output,
            dimension,
            pools: Mutex::default(),
        };
        ensure!(
            matches!(network.shape(first)?.first(), Some(None | Some(1))),
            "{}: {first} has a fixed batch: export it with a dynamic one",
            path.display()
        );
        Ok(network)
    }

    /// The shape of an input, as far as it is fixed.
    fn shape(&self, input: &str) -> Result<Vec<Option<usize>>> {
        let found = self.inputs.iter().find(|(name, _)| *name == input);
        let info = found.and_then(|(_, id)| self.model.node_info(*id));
        let shape = info.and_then(|info| info.shape());
        let shape =
            shape.with_context(|| format!("{}: {input} has no shape", self.path.display()))?;
        Ok(shape
            .into_iter()
            .map(|size| match size {
                Dimension::Fixed(size) => Some(size),
                Dimension::Symbolic(_) => None,
            })
            .collect())
    }

    /// Computes a vector of unit length. `value` gives an input by its name, as a batch of one.
    fn run(&self, value: impl Fn(&str) -> ValueOrView<'static>) -> Result<Vec<f32>> {
        let inputs = self.inputs.iter().map(|(name, id)| (*id, value(name)));
        let output = self.on_a_pool(inputs.collect());
        let output = output.with_context(|| format!("computing {}", self.path.display()))?;
        ensure!(
            output.shape() == [1, self.dimension],
            "{} gives numbers of the shape {:?}, but a vector has {} numbers (projection_dim in config.json)",
            self.path.display(),
            output.shape(),
            self.dimension
        );
        let mut vector = output.to_vec();
        ensure!(
            vector.iter().all(|number| number.is_finite()),
            "{} gives numbers that are not finite",
            self.path.display()
        );
        normalise(&mut vector);
        Ok(vector)
    }

    fn on_a_pool(&self, inputs: Vec<(NodeId, ValueOrView)>) -> Result<Tensor<f32>> {
        let idle = || self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        let pool = match idle().pop() {
            Some(pool) => pool,
            None => {
                // rten panics if it cannot start one
                threads::spawn_detached(|| ())?;
                Arc::new(ThreadPool::with_num_threads(1))
            }
        };
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(&pool)));
        // the caller may be a worker of rayon's pool, which would begin other jobs if it waited for rten's pool itself
        let work = || self.model.run(inputs, &[self.output], Some(options));
        let done: Result<_> = std::thread::scope(|scope| Ok(threads::spawn(scope, work)?.join()));
        idle().push(pool);
        let outputs =
            done?.map_err(|panic| anyhow!("rten panicked: {}", message_of(&*panic)))??;
        let output = outputs.into_iter().next().context("there is no output")?;
        Ok(output.try_into()?)
    }
}

fn name_of(model: &Model, id: NodeId) -> String {
    let info = model.node_info(id);
    info.and_then(|info| info.name())
        .unwrap_or_default()
        .to_owned()
}

/// The tower of pictures.
pub(super) struct Vision {
    network: TowerNetwork,
    /// The height and the width of a picture.
    side: usize,
}

impl Vision {
    fn vector(&self, image: &[f32]) -> Result<Vec<f32>> {
        let size = [1, 3, self.side, self.side];
        ensure!(
            image.len() == size.iter().product::<usize>(),
            "a picture has another size than {0} × {0}",
            self.side
        );
        self.network
            .run(|_| NdTensor::from_data(size, image.to_vec()).into())
    }
}

impl ImageTower for Vision {
    fn embed(&self, images: &[&[f32]]) -> riposte_nn::Result<Vec<Vec<f32>>> {
        let vectors: Result<_> = images.iter().map(|image| self.vector(image)).collect();
        vectors.map_err(riposte_nn::Error::other)
    }
}

/// The tower of texts.
pub(super) struct TextTowerNetwork {
    network: TowerNetwork,
    /// The number of tokens, if the network takes no other.
    length: Option<usize>,
}

impl TextTowerNetwork {
    /// A text ends at its first end. What follows has no influence in CLIP, and the networks look for the end by ArgMax, of which rten gives the last of
    /// several equal numbers, although ONNX says the first. For the same reason, a text is padded with token 0, as OpenAI's code does.
    fn vector(&self, text: &Encoding) -> Result<Vec<f32>> {
        let tokens = text.get_ids();
        let end = tokens.iter().position(|token| Some(token) == tokens.last());
        let tokens = tokens.get(..=end.unwrap_or(0)).unwrap_or_default();
        let length = self.length.unwrap_or(tokens.len());
        ensure!(
            (1..=length).contains(&tokens.len()),
            "a text has {} tokens, but the model takes 1 to {length}",
            tokens.len()
        );
        let (mut ids, mut mask) = (vec![0; length], vec![0; length]);
        for ((id, is_token), &token) in ids.iter_mut().zip(&mut mask).zip(tokens) {
            (*id, *is_token) = (i32::try_from(token)?, 1);
        }
        self.network.run(|name| {
            let numbers = if name == IDS { &ids } else { &mask };
            NdTensor::from_data([1, length], numbers.clone()).into()
        })
    }
}

impl TextTower for TextTowerNetwork {
    fn embed(&self, texts: &[Encoding]) -> riposte_nn::Result<Vec<Vec<f32>>> {
        let vectors: Result<_> = texts.iter().map(|text| self.vector(text)).collect();
        vectors.map_err(riposte_nn::Error::other)
    }
}
