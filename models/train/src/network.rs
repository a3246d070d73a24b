//! The pair encoder with gradients, in candle: `riposte::evidence::pair` applies the network that this one learns.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use candle_core::{DType, Device, Tensor, Var};
use riposte::evidence::pair::{CLASSES, HEAD_DENSE, HEAD_OUT};
use seeded_random::Random;
use tokenizers::Encoding;

use crate::operations::{affine, dropout, gelu, layer_norm, softmax};

/// The sizes in config.json of all-MiniLM-L6-v2. (riposte itself reads that file.)
const HIDDEN: usize = 384;
const HEADS: usize = 12;
const LAYERS: usize = 6;

/// A tensor that training changes.
pub struct Parameter {
    pub name: String,
    pub var: Var,
    /// Whether it belongs to the head, which starts from random weights and has a learning rate of its own.
    pub in_head: bool,
}

impl Parameter {
    /// Whether weight decay applies to it; it does not to biases and norms.
    pub fn decays(&self) -> bool {
        self.var.rank() == 2
    }
}

/// The encoder and its head. Training changes the six layers and the head; the embeddings stay those of the published checkpoint.
pub struct Network {
    device: Device,
    /// Word embeddings (vocabulary, hidden).
    words: Tensor,
    /// Sums of position and type embeddings (2 × longest, hidden): those of the claim, then those of the text.
    places: Tensor,
    /// Weight and bias of the layer norm over the sum of both.
    norm: [Tensor; 2],
    pub parameters: Vec<Parameter>,
    /// The index in `parameters` by name.
    index: HashMap<String, usize>,
}

/// Tokenized pairs, padded to the longest of them.
pub struct Batch {
    count: usize,
    length: usize,
    ids: Vec<u32>,
    places: Vec<u32>,
    /// Added to the attention scores: 0 for a token, a large negative number for padding.
    mask: Vec<f32>,
    /// The index of each pair's class.
    labels: Vec<u32>,
}

impl Batch {
    /// `pairs`: tokens and the index of the class; `longest`: as in [`Network::new`].
    pub fn new(pairs: &[(&Encoding, u32)], longest: usize) -> Batch {
        let count = pairs.len();
        let length = pairs.iter().map(|(e, _)| e.len()).max().unwrap_or(0);
        let mut batch = Batch {
            count,
            length,
            ids: vec![0; count * length],
            places: vec![0; count * length],
            mask: vec![-1e9; count * length],
            labels: pairs.iter().map(|(_, label)| *label).collect(),
        };
        for (row, (encoding, _)) in pairs.iter().enumerate() {
            for (at, (&id, &kind)) in encoding
                .get_ids()
                .iter()
                .zip(encoding.get_type_ids())
                .enumerate()
            {
                let cell = row * length + at;
                batch.ids[cell] = id;
                batch.places[cell] = kind * longest as u32 + at as u32;
                batch.mask[cell] = 0.0;
            }
        }
        batch
    }
}

impl Network {
    /// The published checkpoint in `dir` with a random head. `longest`: the maximum number of tokens of a pair.
    ///
    /// # Errors
    /// The checkpoint cannot be read, or its tensors are not those of MiniLM-L6.
    pub fn new(dir: &Path, longest: usize, random: &mut Random, device: Device) -> Result<Network> {
        let tensors = candle_core::safetensors::load(dir.join("model.safetensors"), &device)?;
        let get = |name: &str| -> Result<Tensor> {
            Ok(tensors
                .get(name)
                .with_context(|| format!("the checkpoint has no tensor {name}"))?
                .to_dtype(DType::F32)?)
        };
        let types = get("embeddings.token_type_embeddings.weight")?;
        let positions = get("embeddings.position_embeddings.weight")?.narrow(0, 0, longest)?;
        let places = [0, 1].map(|kind| -> Result<Tensor> {
            Ok(positions.broadcast_add(&types.narrow(0, kind, 1)?)?)
        });
        let [first, second] = places;
        let mut network = Network {
            words: get("embeddings.word_embeddings.weight")?,
            places: Tensor::cat(&[first?, second?], 0)?,
            norm: [
                get("embeddings.LayerNorm.weight")?,
                get("embeddings.LayerNorm.bias")?,
            ],
            parameters: Vec::new(),
            index: HashMap::new(),
            device,
        };
        let mut names: Vec<&String> = tensors
            .keys()
            .filter(|name| name.starts_with("encoder.layer."))
            .collect();
        names.sort();
        ensure!(
            names.len() == 16 * LAYERS,
            "the checkpoint does not have the layers of MiniLM-L6"
        );
        for name in names {
            network.add(name.clone(), get(name)?, false)?;
        }
        for (name, out) in [(HEAD_DENSE, HIDDEN), (HEAD_OUT, CLASSES)] {
            // uniform initial weights (Glorot and Bengio 2010)
            let reach = (6.0 / (HIDDEN + out) as f64).sqrt();
            let weight: Vec<f32> = (0..out * HIDDEN)
                .map(|_| (f64::from(random.signed_fraction()) * reach) as f32)
                .collect();
            let weight = Tensor::from_vec(weight, (out, HIDDEN), &network.device)?;
            network.add(format!("{name}.weight"), weight, true)?;
            let bias = Tensor::zeros(out, DType::F32, &network.device)?;
            network.add(format!("{name}.bias"), bias, true)?;
        }
        Ok(network)
    }

    fn add(&mut self, name: String, tensor: Tensor, in_head: bool) -> Result<()> {
        self.index.insert(name.clone(), self.parameters.len());
        self.parameters.push(Parameter {
            name,
            var: Var::from_tensor(&tensor)?,
            in_head,
        });
        Ok(())
    }

    fn var(&self, name: &str) -> Result<&Tensor> {
        let at = self
            .index
            .get(name)
            .with_context(|| format!("the network has no tensor {name}"))?;
        Ok(self.parameters[*at].var.as_tensor())
    }

    /// The mean cross-entropy of a batch with label smoothing: the label has the probability `1 - smoothing`, and all classes share
    /// the rest. Dropout is applied.
    pub fn loss(&self, batch: &Batch, smoothing: f64, random: &mut Random) -> Result<Tensor> {
        let logits = self.forward(batch, Some(random))?;
        let log = candle_nn::ops::log_softmax(&logits, 1)?;
        let labels = Tensor::from_slice(&batch.labels, batch.count, &self.device)?;
        let hit = log.gather(&labels.unsqueeze(1)?, 1)?.mean_all()?;
        let all = log.mean_all()?;
        Ok(((hit * (smoothing - 1.0))? - (all * smoothing)?)?)
    }

    /// The logits of each pair of a batch, without dropout.
    pub fn logits(&self, batch: &Batch) -> Result<Vec<Vec<f32>>> {
        Ok(self.forward(batch, None)?.to_vec2()?)
    }

    fn forward(&self, batch: &Batch, mut random: Option<&mut Random>) -> Result<Tensor> {
        let (b, l) = (batch.count, batch.length);
        let take = |table: &Tensor, rows: &[u32]| -> Result<Tensor> {
            Ok(table.index_select(&Tensor::from_slice(rows, b * l, &self.device)?, 0)?)
        };
        let x = (take(&self.words, &batch.ids)? + take(&self.places, &batch.places)?)?;
        let x = layer_norm(&x, &self.norm[0], &self.norm[1])?.detach();
        let mut x = dropout(&x, &mut random)?;
        let mask = Tensor::from_slice(&batch.mask, (b, 1, 1, l), &self.device)?
            .broadcast_as((b, HEADS, l, l))?
            .contiguous()?;
        for n in 0..LAYERS {
            let part =
                |part: &str, kind: &str| self.var(&format!("encoder.layer.{n}.{part}.{kind}"));
            let linear = |x: &Tensor, name: &str| -> Result<Tensor> {
                affine(x, part(name, "weight")?, part(name, "bias")?)
            };
            let heads = |name: &str| -> Result<Tensor> {
                Ok(linear(&x, &format!("attention.self.{name}"))?
                    .reshape((b, l, HEADS, HIDDEN / HEADS))?
                    .transpose(1, 2)?
                    .contiguous()?)
            };
            let scale = ((HIDDEN / HEADS) as f64).powf(-0.5);
            let query = (heads("query")? * scale)?;
            let scores = (query.matmul(&heads("key")?.t()?)? + &mask)?;
            let weights = dropout(&softmax(&scores)?, &mut random)?;
            let mixed = weights
                .matmul(&heads("value")?)?
                .transpose(1, 2)?
                .contiguous()?
                .reshape((b * l, HIDDEN))?;
            let attended = dropout(&linear(&mixed, "attention.output.dense")?, &mut random)?;
            let normed =
                |x: &Tensor, name: &str| layer_norm(x, part(name, "weight")?, part(name, "bias")?);
            x = normed(&(x + attended)?, "attention.output.LayerNorm")?;
            let up = gelu(&linear(&x, "intermediate.dense")?)?;
            let down = dropout(&linear(&up, "output.dense")?, &mut random)?;
            x = normed(&(x + down)?, "output.LayerNorm")?;
        }
        let first = x
            .reshape((b, l, HIDDEN))?
            .narrow(1, 0, 1)?
            .squeeze(1)?
            .contiguous()?;
        let head = |x: &Tensor, name: &str| -> Result<Tensor> {
            affine(
                x,
                self.var(&format!("{name}.weight"))?,
                self.var(&format!("{name}.bias"))?,
            )
        };
        let hidden = head(&dropout(&first, &mut random)?, HEAD_DENSE)?.tanh()?;
        head(&dropout(&hidden, &mut random)?, HEAD_OUT)
    }
}
