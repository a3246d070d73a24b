//! The transformer encoder that CLIP's two towers and BERT share, over sequences of any lengths without padding.
//!
//! Rows of all sequences lie one after another, sequences of one length together (a `Run`): the dense layers see
//! one matrix, attention sees each run as a batch. Nothing is padded, so nothing has to be masked away, and a
//! sequence's result cannot depend on how long its neighbours are.
//!
//! candle_transformers' `clip` and `bert` are not used: its CLIP fixes the epsilon of the layer norms (1e-5), the
//! activation (quick_gelu), pads every text to 77 tokens and takes the largest token id for the end of the text
//! whatever the configuration says; both want padded batches.

use anyhow::{Result, ensure};
use candle_core::{DType, Device, Tensor};
use candle_nn::{LayerNorm, Linear, Module};
use serde::Deserialize;

use super::checkpoint::{Checkpoint, Expected};

/// Configurations beyond this are damaged files, not models.
const LARGEST: usize = 1 << 20;

/// Which code computes an encoder; the results agree within 1e-4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Road {
    /// Packed matrices on a CPU, candle on a GPU.
    #[default]
    Fastest,
    /// candle: slower on a CPU, and what the other road is held to.
    Candle,
}

impl Road {
    pub(super) fn is_packed(self, device: &Device) -> bool {
        self == Road::Fastest && device.is_cpu()
    }
}

/// `hidden_act`: the function between the two layers of the MLP.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Activation {
    /// x · Φ(x), with the error function.
    Gelu,
    /// x · sigmoid(1.702 x), as OpenAI trained CLIP.
    QuickGelu,
}

impl Activation {
    fn apply(self, x: &Tensor) -> candle_core::Result<Tensor> {
        match self {
            Activation::Gelu => x.gelu_erf(),
            Activation::QuickGelu => x * candle_nn::ops::sigmoid(&(x * 1.702)?)?,
        }
    }
}

/// Where a layer's norms stand: before attention and MLP (CLIP), or after their residual sums (BERT).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Norms {
    Before,
    After,
}

/// What of `config.json` shapes the encoder.
#[derive(Clone, Debug)]
pub(super) struct Size {
    pub hidden: usize,
    pub heads: usize,
    pub intermediate: usize,
    pub layers: usize,
    pub epsilon: f64,
    pub activation: Activation,
    pub norms: Norms,
}

impl Size {
    /// Width of one attention head.
    pub(super) fn head_width(&self) -> usize {
        self.hidden / self.heads
    }

    /// Refuses sizes that no model has, before anything is computed from them.
    pub(super) fn check(&self) -> Result<()> {
        for (name, value) in [
            ("hidden_size", self.hidden),
            ("num_attention_heads", self.heads),
            ("intermediate_size", self.intermediate),
            ("num_hidden_layers", self.layers),
        ] {
            check_size(name, value)?;
        }
        ensure!(
            self.hidden.is_multiple_of(self.heads),
            "hidden_size {} is not a multiple of num_attention_heads {}",
            self.hidden,
            self.heads
        );
        Ok(())
    }
}

/// Refuses zero and what no model reaches.
pub(super) fn check_size(name: &str, value: usize) -> Result<()> {
    ensure!(
        (1..=LARGEST).contains(&value),
        "{name} is {value}: expected 1 to {LARGEST}"
    );
    Ok(())
}

/// How a checkpoint calls the parts of a layer, below the layer's own name.
pub(super) struct Names {
    /// The layers' common name; `.N.` follows.
    pub layers: &'static str,
    pub query: &'static str,
    pub key: &'static str,
    pub value: &'static str,
    pub output: &'static str,
    pub attention_norm: &'static str,
    pub up: &'static str,
    pub down: &'static str,
    pub mlp_norm: &'static str,
}

/// `count` sequences of `length` tokens each, next to each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Run {
    pub count: usize,
    pub length: usize,
}

pub(super) struct Encoder {
    size: Size,
    layers: Vec<Layer>,
}

struct Layer {
    /// Query, key and value in one matrix product; the query is already divided by √(head width).
    projections: Linear,
    output: Linear,
    attention_norm: LayerNorm,
    up: Linear,
    down: Linear,
    mlp_norm: LayerNorm,
}

impl Encoder {
    /// The tensors that an encoder of this size needs.
    pub(super) fn expected(size: &Size, names: &Names) -> Vec<Expected> {
        let mut all = Vec::new();
        for n in 0..size.layers {
            let mut pair = |part: &str, shape: Vec<usize>| {
                let width = shape[0];
                let name = format!("{}.{n}.{part}", names.layers);
                all.push((format!("{name}.weight"), shape));
                all.push((format!("{name}.bias"), vec![width]));
            };
            for part in [names.query, names.key, names.value, names.output] {
                pair(part, vec![size.hidden, size.hidden]);
            }
            pair(names.attention_norm, vec![size.hidden]);
            pair(names.up, vec![size.intermediate, size.hidden]);
            pair(names.down, vec![size.hidden, size.intermediate]);
            pair(names.mlp_norm, vec![size.hidden]);
        }
        all
    }

    pub(super) fn read(
        size: &Size,
        names: &Names,
        checkpoint: &mut Checkpoint,
        device: &Device,
    ) -> Result<Self> {
        let scale = (size.head_width() as f64).powf(-0.5);
        let layers = (0..size.layers)
            .map(|n| {
                let mut read = |part: &str, kind: &str| {
                    checkpoint.read(&format!("{}.{n}.{part}.{kind}", names.layers), device)
                };
                let mut together = |kind: &str| -> Result<Tensor> {
                    let query = (read(names.query, kind)? * scale)?;
                    let key = read(names.key, kind)?;
                    let value = read(names.value, kind)?;
                    Ok(Tensor::cat(&[query, key, value], 0)?)
                };
                let projections = Linear::new(together("weight")?, Some(together("bias")?));
                let mut linear = |part| -> Result<Linear> {
                    Ok(Linear::new(
                        read(part, "weight")?,
                        Some(read(part, "bias")?),
                    ))
                };
                let (output, up, down) = (
                    linear(names.output)?,
                    linear(names.up)?,
                    linear(names.down)?,
                );
                Ok(Layer {
                    projections,
                    output,
                    up,
                    down,
                    attention_norm: read_norm(
                        checkpoint,
                        &format!("{}.{n}.{}", names.layers, names.attention_norm),
                        size.epsilon,
                        device,
                    )?,
                    mlp_norm: read_norm(
                        checkpoint,
                        &format!("{}.{n}.{}", names.layers, names.mlp_norm),
                        size.epsilon,
                        device,
                    )?,
                })
            })
            .collect::<Result<_>>()?;
        Ok(Encoder {
            size: size.clone(),
            layers,
        })
    }

    /// Maps the rows of all `runs` (tokens, hidden) to rows of the same shape.
    ///
    /// `causal`: a token attends to itself and those before it only.
    pub(super) fn forward(&self, mut x: Tensor, runs: &[Run], causal: bool) -> Result<Tensor> {
        for layer in &self.layers {
            x = match self.size.norms {
                Norms::Before => {
                    let normed = layer.attention_norm.forward(&x)?;
                    x = (x + self.attend(layer, &normed, runs, causal)?)?;
                    let normed = layer.mlp_norm.forward(&x)?;
                    (x + self.mlp(layer, &normed)?)?
                }
                Norms::After => {
                    let sum = (self.attend(layer, &x, runs, causal)? + x)?;
                    x = layer.attention_norm.forward(&sum)?;
                    let sum = (self.mlp(layer, &x)? + x)?;
                    layer.mlp_norm.forward(&sum)?
                }
            };
        }
        Ok(x)
    }

    fn attend(&self, layer: &Layer, x: &Tensor, runs: &[Run], causal: bool) -> Result<Tensor> {
        let (hidden, heads) = (self.size.hidden, self.size.heads);
        let projected = layer.projections.forward(x)?;
        let mut row = 0;
        let mut parts = Vec::with_capacity(runs.len());
        for &Run { count, length } in runs {
            // (query·key·value, sequence, head, token, width of a head)
            let states = projected
                .narrow(0, row, count * length)?
                .reshape((count, length, 3, heads, hidden / heads))?
                .permute((2, 0, 3, 1, 4))?
                .contiguous()?;
            row += count * length;
            let mut scores = states.get(0)?.matmul(&states.get(1)?.t()?)?;
            if causal {
                scores = scores.broadcast_add(&causal_mask(length, x.device())?)?;
            }
            let mixed = candle_nn::ops::softmax_last_dim(&scores)?.matmul(&states.get(2)?)?;
            parts.push(mixed.transpose(1, 2)?.reshape((count * length, hidden))?);
        }
        Ok(layer.output.forward(&Tensor::cat(&parts, 0)?)?)
    }

    fn mlp(&self, layer: &Layer, x: &Tensor) -> Result<Tensor> {
        let inner = self.size.activation.apply(&layer.up.forward(x)?)?;
        Ok(layer.down.forward(&inner)?)
    }
}

/// (length, length): 0 where the column is not after the row, -∞ where it is.
fn causal_mask(length: usize, device: &Device) -> Result<Tensor> {
    let mask: Vec<f32> = (0..length)
        .flat_map(|row| {
            (0..length).map(move |column| if column > row { f32::NEG_INFINITY } else { 0.0 })
        })
        .collect();
    Ok(Tensor::from_vec(mask, (length, length), device)?)
}

/// The tensors of a layer norm.
pub(super) fn expected_norm(name: &str, width: usize) -> [Expected; 2] {
    [
        (format!("{name}.weight"), vec![width]),
        (format!("{name}.bias"), vec![width]),
    ]
}

pub(super) fn read_norm(
    checkpoint: &mut Checkpoint,
    name: &str,
    epsilon: f64,
    device: &Device,
) -> Result<LayerNorm> {
    Ok(LayerNorm::new(
        checkpoint.read(&format!("{name}.weight"), device)?,
        checkpoint.read(&format!("{name}.bias"), device)?,
        epsilon,
    ))
}

/// Groups texts of one token count: the order in which their rows are laid (indices into `lengths`), and the runs.
pub(super) fn by_length(lengths: &[usize]) -> (Vec<usize>, Vec<Run>) {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|&n| lengths[n]);
    let runs = order
        .chunk_by(|&a, &b| lengths[a] == lengths[b])
        .map(|chunk| Run {
            count: chunk.len(),
            length: lengths[chunk[0]],
        })
        .collect();
    (order, runs)
}

/// Rows (n, width) as vectors of unit length; a row of zeros stays one.
pub(super) fn unit_rows(rows: &Tensor) -> Result<Vec<Vec<f32>>> {
    let mut rows: Vec<Vec<f32>> = rows.to_dtype(DType::F32)?.to_vec2()?;
    rows.iter_mut().for_each(|row| make_unit(row));
    Ok(rows)
}

/// Scales to unit length, as `torch.nn.functional.normalize` does (a length under 1e-12 counts as that).
pub(super) fn make_unit(vector: &mut [f32]) {
    let length = vector
        .iter()
        .map(|v| f64::from(*v).powi(2))
        .sum::<f64>()
        .sqrt()
        .max(1e-12);
    vector
        .iter_mut()
        .for_each(|v| *v = (f64::from(*v) / length) as f32);
}

/// Rows of a matrix product computed one by one.
///
/// The product of a single row takes another road through the CPU's matrix code than that of many and differs in
/// the last bits; row by row an image has the same vector in any batch.
pub(super) fn project_rows(rows: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let columns = weight.t()?;
    let projected = (0..rows.dim(0)?)
        .map(|n| rows.narrow(0, n, 1)?.matmul(&columns))
        .collect::<candle_core::Result<Vec<_>>>()?;
    Ok(Tensor::cat(&projected, 0)?)
}
