//! CLIP in the layout of OpenCLIP (<https://github.com/mlfoundations/open_clip>): the same towers, whose settings and tensors have other names.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    AFTER_NORM, BEFORE_NORM, CHANNELS, CLASS, ClipConfig, ClipTextConfig, ClipVisionConfig,
    PATCHES, TEXT_NORM, TEXT_POSITIONS, TEXT_PROJECTION, TOKENS, VISION_POSITIONS,
    VISION_PROJECTION,
};
use crate::checkpoint::{EmbeddingTable, ExpectedTensor, FileNames, read_json};
use crate::error::{Error, Result, While, bail, ensure};
use crate::transformer::{Activation, TensorSource};

/// The names of the files.
pub const FILES: FileNames = FileNames {
    config: "open_clip_config.json",
    weights: "open_clip_model.safetensors",
};

/// The epsilon of PyTorch's layer norms.
const EPSILON: f64 = 1e-5;

/// A text ends with the token of the largest id. This id in a configuration of Hugging Face says so.
const HIGHEST_ID_ENDS: u32 = 2;

/// `model_cfg` of `open_clip_config.json`.
#[derive(Clone, Debug)]
pub struct OpenClip {
    /// The towers.
    pub clip: ClipConfig,
    /// Whether the model was trained with the sigmoid of each pair, which has a bias.
    pub has_bias: bool,
}

#[derive(Deserialize)]
struct OpenClipConfigFile {
    model_cfg: OpenClipModelFile,
}

/// The settings that are followed. `rest` has the others.
#[derive(Deserialize)]
struct OpenClipModelFile {
    embed_dim: usize,
    vision_cfg: VisionFile,
    text_cfg: TextFile,
    #[serde(default)]
    quick_gelu: bool,
    init_logit_bias: Option<f64>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(default)]
struct VisionFile {
    layers: Value,
    width: usize,
    head_width: usize,
    mlp_ratio: f64,
    patch_size: usize,
    image_size: Value,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(default)]
struct TextFile {
    context_length: usize,
    vocab_size: usize,
    width: usize,
    heads: usize,
    layers: usize,
    mlp_ratio: f64,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl Default for VisionFile {
    fn default() -> Self {
        VisionFile {
            layers: 12.into(),
            width: 768,
            head_width: 64,
            mlp_ratio: 4.0,
            patch_size: 16,
            image_size: 224.into(),
            rest: Map::new(),
        }
    }
}

impl Default for TextFile {
    fn default() -> Self {
        TextFile {
            context_length: 77,
            vocab_size: 49408,
            width: 512,
            heads: 8,
            layers: 12,
            mlp_ratio: 4.0,
            rest: Map::new(),
        }
    }
}

/// Settings under which a tower is not OpenCLIP's own transformer, with what it is instead.
const OTHER_TOWERS: [(&str, &str); 3] = [
    ("timm_model_name", "a picture tower of timm"),
    ("hf_model_name", "a text tower of transformers"),
    ("multimodal_cfg", "a decoder of texts"),
];

/// Settings that change no vector: they are for training, for towers that are refused, or say where a tokenizer comes from.
const HARMLESS: [&str; 18] = [
    "attn_pooler_heads",
    "attn_pooler_queries",
    "eos_id",
    "hf_model_pretrained",
    "hf_pooler_type",
    "hf_proj_type",
    "hf_tokenizer_name",
    "init_logit_scale",
    "nonscalar_logit_scale",
    "output_tokens",
    "pad_id",
    "patch_dropout",
    "timm_drop",
    "timm_drop_path",
    "timm_model_pretrained",
    "timm_pool",
    "timm_proj",
    "timm_proj_bias",
];

/// Settings that are followed only if they have the value that OpenCLIP gives them. All others must be null, false or empty.
const USUAL: [(&str, &str); 5] = [
    ("block_type", "default"),
    ("pool_type", "argmax"),
    ("pool_type", "tok"),
    ("pos_embed_type", "learnable"),
    ("proj_type", "linear"),
];

/// Refuses settings that would change the vectors.
fn refuse(settings: &Map<String, Value>) -> Result<()> {
    for (name, what) in OTHER_TOWERS {
        if let Some(value) = settings.get(name).filter(|value| !value.is_null()) {
            bail!(
                Model,
                "{name} is {value}: {what} is not computed here, only the transformers of OpenCLIP"
            );
        }
    }
    for (name, value) in settings {
        let is_off = match value {
            Value::Null | Value::Bool(false) => true,
            Value::Object(object) => object.is_empty(),
            Value::String(text) => USUAL.contains(&(name, text)),
            _ => false,
        };
        ensure!(
            is_off || HARMLESS.contains(&name.as_str()),
            Model,
            "{name} is {value}, which is not computed here"
        );
    }
    Ok(())
}

impl OpenClip {
    /// Reads and checks `open_clip_config.json` in `dir`.
    ///
    /// # Errors
    /// The file is missing or damaged, a size is out of range, or a setting asks for something that is not computed here; the message names it.
    pub fn read(dir: &Path) -> Result<Self> {
        let path = dir.join(FILES.config);
        let file: OpenClipConfigFile = read_json(&path)?;
        Self::of(&file.model_cfg).during(|| format!("reading {}", path.display()))
    }

    fn of(file: &OpenClipModelFile) -> Result<Self> {
        let (vision, text) = (&file.vision_cfg, &file.text_cfg);
        refuse(&file.rest).during(|| "model_cfg")?;
        refuse(&vision.rest).during(|| "vision_cfg")?;
        refuse(&text.rest).during(|| "text_cfg")?;
        let activation = if file.quick_gelu {
            Activation::QuickGelu
        } else {
            Activation::Gelu
        };
        let clip = ClipConfig {
            projection_dim: file.embed_dim,
            text: ClipTextConfig {
                vocab_size: text.vocab_size,
                hidden_size: text.width,
                intermediate_size: intermediate(text.width, text.mlp_ratio)
                    .during(|| "text_cfg")?,
                num_hidden_layers: text.layers,
                num_attention_heads: text.heads,
                max_position_embeddings: text.context_length,
                hidden_act: activation,
                layer_norm_eps: EPSILON,
                eos_token_id: HIGHEST_ID_ENDS,
            },
            vision: vision.tower(activation).during(|| "vision_cfg")?,
        };
        clip.check()?;
        Ok(OpenClip {
            clip,
            has_bias: file.init_logit_bias.is_some(),
        })
    }

    /// The tensors that the model needs, with their shapes.
    pub fn expected_tensors(&self) -> Vec<ExpectedTensor> {
        let mut all = Vec::new();
        for (name, mut shape) in self.clip.expected_tensors() {
            let (name, part) = place(&name);
            match part {
                TensorPart::Whole => {}
                TensorPart::Transposed => shape.reverse(),
                TensorPart::Third(0) => shape.iter_mut().take(1).for_each(|rows| *rows *= 3),
                // the three parts of a tensor are one
                TensorPart::Third(_) => continue,
            }
            all.push((name, shape));
        }
        all
    }
}

/// The width between the two linear layers of an MLP, which is rounded down.
fn intermediate(width: usize, ratio: f64) -> Result<usize> {
    ensure!(
        ratio.is_finite() && ratio > 0.0,
        Model,
        "mlp_ratio is {ratio}: expected a positive number"
    );
    Ok((width as f64 * ratio) as usize)
}

impl VisionFile {
    fn tower(&self, hidden_act: Activation) -> Result<ClipVisionConfig> {
        let Some(layers) = size(&self.layers) else {
            bail!(
                Model,
                "layers is {}: a ResNet is not computed here",
                self.layers
            );
        };
        let side = match &self.image_size {
            Value::Array(sides) if sides.len() == 2 && sides[0] == sides[1] => size(&sides[0]),
            side => size(side),
        };
        let Some(image_size) = side else {
            bail!(
                Model,
                "image_size is {}: expected one side, because only squares are computed",
                self.image_size
            );
        };
        ensure!(
            self.head_width > 0 && self.width.is_multiple_of(self.head_width),
            Model,
            "width {} is not a multiple of head_width {}",
            self.width,
            self.head_width
        );
        Ok(ClipVisionConfig {
            hidden_size: self.width,
            intermediate_size: intermediate(self.width, self.mlp_ratio)?,
            num_hidden_layers: layers,
            num_attention_heads: self.width / self.head_width,
            num_channels: CHANNELS,
            image_size,
            patch_size: self.patch_size,
            hidden_act,
            layer_norm_eps: EPSILON,
        })
    }
}

fn size(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}

/// How a tensor of Hugging Face's layout is kept in OpenCLIP's.
#[derive(Clone, Copy)]
enum TensorPart {
    Whole,
    /// Rows and columns are exchanged.
    Transposed,
    /// A third of the rows: queries, keys and values are in one tensor, in this order.
    Third(usize),
}

/// The name of OpenCLIP's tensor that has the numbers of a tensor of Hugging Face's layout.
fn place(name: &str) -> (String, TensorPart) {
    let whole = |name: &str| (name.to_owned(), TensorPart::Whole);
    match name {
        TOKENS => return whole("token_embedding.weight"),
        TEXT_POSITIONS => return whole("positional_embedding"),
        TEXT_PROJECTION => return ("text_projection".to_owned(), TensorPart::Transposed),
        CLASS => return whole("visual.class_embedding"),
        PATCHES => return whole("visual.conv1.weight"),
        VISION_POSITIONS => return whole("visual.positional_embedding"),
        VISION_PROJECTION => return ("visual.proj".to_owned(), TensorPart::Transposed),
        _ => {}
    }
    for (from, to) in [
        (TEXT_NORM, "ln_final"),
        (BEFORE_NORM, "visual.ln_pre"),
        (AFTER_NORM, "visual.ln_post"),
    ] {
        if let Some(of_norm) = name.strip_prefix(from) {
            return whole(&format!("{to}{of_norm}"));
        }
    }
    let name = name
        .replace("text_model.encoder.layers.", "transformer.resblocks.")
        .replace(
            "vision_model.encoder.layers.",
            "visual.transformer.resblocks.",
        )
        .replace(".layer_norm", ".ln_")
        .replace(".mlp.fc1.", ".mlp.c_fc.")
        .replace(".mlp.fc2.", ".mlp.c_proj.")
        .replace(".self_attn.", ".attn.");
    for (third, of) in ["q_proj.", "k_proj.", "v_proj."].into_iter().enumerate() {
        if name.contains(of) {
            return (name.replace(of, "in_proj_"), TensorPart::Third(third));
        }
    }
    (name, TensorPart::Whole)
}

/// A checkpoint of OpenCLIP, read by the names of Hugging Face's layout.
pub struct OpenClipTensors<'s, S> {
    source: &'s S,
    config: &'s ClipConfig,
}

impl<'s, S: TensorSource> OpenClipTensors<'s, S> {
    /// `source` has the tensors of a model with this configuration.
    pub fn new(source: &'s S, config: &'s ClipConfig) -> Self {
        OpenClipTensors { source, config }
    }

    /// The number of columns of a projection in Hugging Face's layout.
    fn width(&self, name: &str) -> usize {
        match name {
            TEXT_PROJECTION => self.config.text.hidden_size,
            _ => self.config.vision.hidden_size,
        }
    }
}

impl<S: TensorSource> TensorSource for OpenClipTensors<'_, S> {
    fn tensor(&self, name: &str) -> Result<Vec<f32>> {
        let (place, part) = place(name);
        let numbers = self.source.tensor(&place)?;
        Ok(match part {
            TensorPart::Whole => numbers,
            TensorPart::Transposed => transposed(&numbers, self.width(name)),
            TensorPart::Third(third) => {
                let length = numbers.len() / 3;
                let rows = numbers.chunks_exact(length.max(1)).nth(third);
                let rows = rows.ok_or_else(|| Error::Model(format!("tensor {place} is empty")));
                rows?.to_vec()
            }
        })
    }

    fn table(&self, name: &str) -> Result<EmbeddingTable> {
        self.source.table(&place(name).0)
    }
}

/// Exchanges the rows and columns of a matrix with `rows` rows.
fn transposed(numbers: &[f32], rows: usize) -> Vec<f32> {
    let columns = numbers.len() / rows.max(1);
    let column = |column| numbers.iter().skip(column).step_by(columns.max(1));
    (0..columns).flat_map(column).copied().collect()
}
