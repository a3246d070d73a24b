//! MiniLM as a pair encoder with gradients, in candle: what `src/evidence/pair.rs` applies, this learns.
//!
//! candle's own layer norm, softmax and GELU either have no gradient or take a dozen passes over memory for it; the
//! operations here have both, in one pass each on the CPU. Elsewhere candle's slower ones are used.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use candle_core::backprop::GradStore;
use candle_core::{
    CpuStorage, CustomOp1, CustomOp2, CustomOp3, DType, Device, Layout, Shape, Tensor, Var,
};
use rayon::prelude::*;
use riposte::reading::pair::{CLASSES, HEAD_DENSE, HEAD_OUT};
use rten_simd::{SimdOp, SimdUnaryOp};
use rten_vecmath::{Erf, Exp, Gelu as GeluOp, Softmax as SoftmaxOp};
use tokenizers::Encoding;

use crate::chance::Chance;

/// As all-MiniLM-L6-v2's config.json says; the program itself reads that file.
const HIDDEN: usize = 384;
const HEADS: usize = 12;
const LAYERS: usize = 6;
const EPSILON: f64 = 1e-12;
/// Of hidden states, attention and the head's input, as BERT was trained.
const DROPOUT: f32 = 0.1;

/// A tensor that is learned.
pub struct Learned {
    pub name: String,
    pub var: Var,
    /// Of the head: it starts from chance and learns faster.
    pub of_head: bool,
}

impl Learned {
    /// Biases and norms are not drawn towards 0.
    fn decays(&self) -> bool {
        self.var.rank() == 2
    }
}

/// The encoder's six layers and a head are learned; the embeddings stay those of the published checkpoint.
pub struct Network {
    device: Device,
    /// (vocabulary, hidden), (2 × longest, hidden) and the norm over their sum
    words: Tensor,
    places: Tensor,
    norm: [Tensor; 2],
    pub learned: Vec<Learned>,
    index: HashMap<String, usize>,
}

/// Pairs side by side, filled up to the longest.
pub struct Batch {
    count: usize,
    length: usize,
    ids: Vec<u32>,
    places: Vec<u32>,
    /// 0 for a token, a large negative number for a filled place
    mask: Vec<f32>,
    /// index of the class of each
    labels: Vec<u32>,
}

impl Batch {
    /// `pairs` and the index of each one's class; `longest`: as in [`Network::new`].
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
    /// The published checkpoint in `dir`, and a head from chance. `longest`: tokens of a pair.
    ///
    /// # Errors
    /// Tensors that are missing.
    pub fn new(dir: &Path, longest: usize, chance: &mut Chance, device: Device) -> Result<Network> {
        let tensors = candle_core::safetensors::load(dir.join("model.safetensors"), &device)?;
        let get = |name: &str| -> Result<Tensor> {
            Ok(tensors
                .get(name)
                .with_context(|| format!("{name} is missing"))?
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
            learned: Vec::new(),
            index: HashMap::new(),
            device,
        };
        let mut names: Vec<&String> = tensors
            .keys()
            .filter(|name| name.starts_with("encoder.layer."))
            .collect();
        names.sort();
        ensure!(names.len() == 16 * LAYERS, "not the layers of MiniLM-L6");
        for name in names {
            network.add(name.clone(), get(name)?, false)?;
        }
        for (name, out) in [(HEAD_DENSE, HIDDEN), (HEAD_OUT, CLASSES)] {
            // Glorot and Bengio 2010
            let reach = (6.0 / (HIDDEN + out) as f64).sqrt();
            let weight: Vec<f32> = (0..out * HIDDEN)
                .map(|_| (f64::from(chance.swing()) * reach) as f32)
                .collect();
            let weight = Tensor::from_vec(weight, (out, HIDDEN), &network.device)?;
            network.add(format!("{name}.weight"), weight, true)?;
            let bias = Tensor::zeros(out, DType::F32, &network.device)?;
            network.add(format!("{name}.bias"), bias, true)?;
        }
        Ok(network)
    }

    fn add(&mut self, name: String, tensor: Tensor, of_head: bool) -> Result<()> {
        self.index.insert(name.clone(), self.learned.len());
        self.learned.push(Learned {
            name,
            var: Var::from_tensor(&tensor)?,
            of_head,
        });
        Ok(())
    }

    fn var(&self, name: &str) -> Result<&Tensor> {
        let at = self.index.get(name).context("no such tensor")?;
        Ok(self.learned[*at].var.as_tensor())
    }

    /// Mean cross-entropy of a batch in which each label counts `1 - smoothing` and all classes share the rest.
    /// With dropout by `chance`.
    pub fn loss(&self, batch: &Batch, smoothing: f64, chance: &mut Chance) -> Result<Tensor> {
        let logits = self.forward(batch, Some(chance))?;
        let log = candle_nn::ops::log_softmax(&logits, 1)?;
        let labels = Tensor::from_slice(&batch.labels, batch.count, &self.device)?;
        let hit = log.gather(&labels.unsqueeze(1)?, 1)?.mean_all()?;
        let all = log.mean_all()?;
        Ok(((hit * (smoothing - 1.0))? - (all * smoothing)?)?)
    }

    /// The logits of a batch, without dropout.
    ///
    /// # Errors
    /// Tensors that do not fit.
    pub fn logits(&self, batch: &Batch) -> Result<Vec<Vec<f32>>> {
        Ok(self.forward(batch, None)?.to_vec2()?)
    }

    fn forward(&self, batch: &Batch, mut chance: Option<&mut Chance>) -> Result<Tensor> {
        let (b, l) = (batch.count, batch.length);
        let take = |table: &Tensor, rows: &[u32]| -> Result<Tensor> {
            Ok(table.index_select(&Tensor::from_slice(rows, b * l, &self.device)?, 0)?)
        };
        let x = (take(&self.words, &batch.ids)? + take(&self.places, &batch.places)?)?;
        let x = norm(&x, &self.norm[0], &self.norm[1])?.detach();
        let mut x = dropout(&x, &mut chance)?;
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
            let weights = dropout(&softmax(&scores)?, &mut chance)?;
            let mixed = weights
                .matmul(&heads("value")?)?
                .transpose(1, 2)?
                .contiguous()?
                .reshape((b * l, HIDDEN))?;
            let attended = dropout(&linear(&mixed, "attention.output.dense")?, &mut chance)?;
            let normed =
                |x: &Tensor, name: &str| norm(x, part(name, "weight")?, part(name, "bias")?);
            x = normed(&(x + attended)?, "attention.output.LayerNorm")?;
            let up = gelu(&linear(&x, "intermediate.dense")?)?;
            let down = dropout(&linear(&up, "output.dense")?, &mut chance)?;
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
        let hidden = head(&dropout(&first, &mut chance)?, HEAD_DENSE)?.tanh()?;
        head(&dropout(&hidden, &mut chance)?, HEAD_OUT)
    }
}

/// x · weightᵀ + bias
fn affine(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    let product = x.matmul(&weight.t()?)?;
    Ok(if product.device().is_cpu() {
        product.apply_op2(bias, AddBias)?
    } else {
        product.broadcast_add(bias)?
    })
}

fn norm(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    Ok(if x.device().is_cpu() {
        x.apply_op3(weight, bias, Norm)?
    } else {
        candle_nn::ops::layer_norm_slow(x, weight, bias, EPSILON as f32)?
    })
}

fn softmax(x: &Tensor) -> Result<Tensor> {
    Ok(if x.device().is_cpu() {
        x.apply_op1(Softmax)?
    } else {
        candle_nn::ops::softmax(x, candle_core::D::Minus1)?
    })
}

fn gelu(x: &Tensor) -> Result<Tensor> {
    Ok(if x.device().is_cpu() {
        x.apply_op1(Gelu)?
    } else {
        x.gelu_erf()?
    })
}

/// Without `chance` the tensor itself.
fn dropout(x: &Tensor, chance: &mut Option<&mut Chance>) -> Result<Tensor> {
    let Some(chance) = chance else {
        return Ok(x.clone());
    };
    let kept = 1.0 / (1.0 - DROPOUT);
    let mask: Vec<f32> = (0..x.elem_count())
        .map(|_| {
            if chance.fraction() < DROPOUT {
                0.0
            } else {
                kept
            }
        })
        .collect();
    Ok((x * Tensor::from_vec(mask, x.shape(), x.device())?)?)
}

type Op<T> = candle_core::Result<T>;

fn numbers<'a>(storage: &'a CpuStorage, layout: &Layout) -> Op<&'a [f32]> {
    let (from, to) = layout
        .contiguous_offsets()
        .ok_or_else(|| candle_core::Error::Msg("the numbers do not lie together".into()))?;
    match storage {
        CpuStorage::F32(numbers) => Ok(&numbers[from..to]),
        _ => Err(candle_core::Error::Msg("not 32-bit floats".into())),
    }
}

fn vec(tensor: &Tensor) -> Op<Vec<f32>> {
    tensor.flatten_all()?.to_vec1()
}

fn width(layout: &Layout) -> usize {
    layout.dims().last().copied().unwrap_or(1)
}

struct AddBias;

impl CustomOp2 for AddBias {
    fn name(&self) -> &'static str {
        "add bias"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        lx: &Layout,
        b: &CpuStorage,
        lb: &Layout,
    ) -> Op<(CpuStorage, Shape)> {
        let bias = numbers(b, lb)?;
        let mut out = numbers(x, lx)?.to_vec();
        out.par_chunks_mut(bias.len() * 64).for_each(|rows| {
            for row in rows.chunks_mut(bias.len()) {
                row.iter_mut().zip(bias).for_each(|(x, b)| *x += b);
            }
        });
        Ok((CpuStorage::F32(out), lx.shape().clone()))
    }

    fn bwd(
        &self,
        _x: &Tensor,
        b: &Tensor,
        _out: &Tensor,
        grad: &Tensor,
    ) -> Op<(Option<Tensor>, Option<Tensor>)> {
        let sums = column_sums(&vec(grad)?, b.elem_count());
        let of_bias = Tensor::from_vec(sums, b.shape(), b.device())?;
        Ok((Some(grad.clone()), Some(of_bias)))
    }
}

fn column_sums(rows: &[f32], width: usize) -> Vec<f32> {
    let mut sums = vec![0f32; width];
    for row in rows.chunks(width) {
        sums.iter_mut().zip(row).for_each(|(s, x)| *s += x);
    }
    sums
}

struct Gelu;

impl CustomOp1 for Gelu {
    fn name(&self) -> &'static str {
        "gelu"
    }

    fn cpu_fwd(&self, x: &CpuStorage, l: &Layout) -> Op<(CpuStorage, Shape)> {
        let mut out = numbers(x, l)?.to_vec();
        out.par_chunks_mut(1 << 14)
            .for_each(|part| GeluOp {}.map_mut(part));
        Ok((CpuStorage::F32(out), l.shape().clone()))
    }

    /// Φ(x) + x φ(x)
    fn bwd(&self, x: &Tensor, _out: &Tensor, grad: &Tensor) -> Op<Option<Tensor>> {
        const PART: usize = 1 << 12;
        let (inputs, mut grads) = (vec(x)?, vec(grad)?);
        grads
            .par_chunks_mut(PART)
            .zip(inputs.par_chunks(PART))
            .for_each(|(grads, xs)| {
                let mut cdf: Vec<f32> = xs
                    .iter()
                    .map(|x| x * std::f32::consts::FRAC_1_SQRT_2)
                    .collect();
                Erf {}.map_mut(&mut cdf);
                let mut pdf: Vec<f32> = xs.iter().map(|x| -0.5 * x * x).collect();
                Exp {}.map_mut(&mut pdf);
                for (((g, x), erf), exp) in grads.iter_mut().zip(xs).zip(cdf).zip(pdf) {
                    // 0.398942 = 1/√(2π)
                    *g *= 0.5 * (1.0 + erf) + x * 0.398_942_3 * exp;
                }
            });
        Ok(Some(Tensor::from_vec(grads, x.shape(), x.device())?))
    }
}

struct Softmax;

impl CustomOp1 for Softmax {
    fn name(&self) -> &'static str {
        "softmax"
    }

    fn cpu_fwd(&self, x: &CpuStorage, l: &Layout) -> Op<(CpuStorage, Shape)> {
        let mut out = numbers(x, l)?.to_vec();
        let width = width(l);
        out.par_chunks_mut(width * 64).for_each(|rows| {
            for row in rows.chunks_mut(width) {
                SoftmaxOp::new_mut(row).dispatch();
            }
        });
        Ok((CpuStorage::F32(out), l.shape().clone()))
    }

    /// p (g - Σ p g)
    fn bwd(&self, x: &Tensor, out: &Tensor, grad: &Tensor) -> Op<Option<Tensor>> {
        let (probabilities, mut grads) = (vec(out)?, vec(grad)?);
        let width = width(x.layout());
        grads
            .par_chunks_mut(width)
            .with_min_len(64)
            .zip(probabilities.par_chunks(width))
            .for_each(|(grads, p)| {
                let dot: f32 = grads.iter().zip(p).map(|(g, p)| g * p).sum();
                grads
                    .iter_mut()
                    .zip(p)
                    .for_each(|(g, p)| *g = p * (*g - dot));
            });
        Ok(Some(Tensor::from_vec(grads, x.shape(), x.device())?))
    }
}

struct Norm;

impl Norm {
    /// Mean and 1 / standard deviation.
    fn moments(row: &[f32]) -> (f32, f32) {
        let n = row.len() as f32;
        let mean = row.iter().sum::<f32>() / n;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / n;
        (mean, (variance + EPSILON as f32).sqrt().recip())
    }
}

impl CustomOp3 for Norm {
    fn name(&self) -> &'static str {
        "layer norm"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        lx: &Layout,
        w: &CpuStorage,
        lw: &Layout,
        b: &CpuStorage,
        lb: &Layout,
    ) -> Op<(CpuStorage, Shape)> {
        let (weight, bias) = (numbers(w, lw)?, numbers(b, lb)?);
        let mut out = numbers(x, lx)?.to_vec();
        out.par_chunks_mut(weight.len())
            .with_min_len(32)
            .for_each(|row| {
                let (mean, scale) = Norm::moments(row);
                for ((x, w), b) in row.iter_mut().zip(weight).zip(bias) {
                    *x = (*x - mean) * scale * w + b;
                }
            });
        Ok((CpuStorage::F32(out), lx.shape().clone()))
    }

    fn bwd(
        &self,
        x: &Tensor,
        w: &Tensor,
        b: &Tensor,
        _out: &Tensor,
        grad: &Tensor,
    ) -> Op<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let (mut inputs, mut grads, weight) = (vec(x)?, vec(grad)?, vec(w)?);
        let width = weight.len();
        let of_bias = column_sums(&grads, width);
        // inputs become the normalised ones times their gradients, gradients those of the inputs
        inputs
            .par_chunks_mut(width)
            .with_min_len(32)
            .zip(grads.par_chunks_mut(width))
            .for_each(|(row, grads)| {
                let (mean, scale) = Norm::moments(row);
                let (mut sum, mut dot) = (0f32, 0f32);
                for ((x, g), w) in row.iter_mut().zip(grads.iter()).zip(&weight) {
                    *x = (*x - mean) * scale;
                    sum += g * w;
                    dot += g * w * *x;
                }
                let n = width as f32;
                for ((x, g), w) in row.iter_mut().zip(grads.iter_mut()).zip(&weight) {
                    let of_weight = *g * *x;
                    *g = scale * (*g * w - sum / n - *x * dot / n);
                    *x = of_weight;
                }
            });
        let of_weight = column_sums(&inputs, width);
        Ok((
            Some(Tensor::from_vec(grads, x.shape(), x.device())?),
            Some(Tensor::from_vec(of_weight, w.shape(), w.device())?),
            Some(Tensor::from_vec(of_bias, b.shape(), b.device())?),
        ))
    }
}

/// AdamW (Loshchilov and Hutter 2019), one pass over the numbers instead of candle's fourteen.
pub struct Optimiser {
    /// First and second moment of each tensor.
    moments: Vec<[Vec<f32>; 2]>,
    steps: i32,
}

/// Largest norm of all gradients together.
const CLIP: f64 = 1.0;
const DECAY: f64 = 0.01;
const BETAS: [f64; 2] = [0.9, 0.999];

impl Optimiser {
    pub fn new(learned: &[Learned]) -> Optimiser {
        Optimiser {
            moments: learned
                .iter()
                .map(|l| [(); 2].map(|()| vec![0.0; l.var.elem_count()]))
                .collect(),
            steps: 0,
        }
    }

    /// One step down the gradients; `rates`: of the encoder and of the head.
    ///
    /// # Errors
    /// Gradients that are no numbers.
    pub fn step(&mut self, learned: &[Learned], grads: &GradStore, rates: [f64; 2]) -> Result<()> {
        self.steps += 1;
        let grads: Vec<Vec<f32>> = learned
            .iter()
            .map(|l| match grads.get(l.var.as_tensor()) {
                Some(grad) => Ok(vec(grad)?),
                None => Ok(vec![0.0; l.var.elem_count()]),
            })
            .collect::<Result<_>>()?;
        let squares: f64 = grads
            .par_iter()
            .map(|g| g.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>())
            .collect::<Vec<f64>>()
            .iter()
            .sum();
        ensure!(squares.is_finite(), "the gradients are no numbers");
        let clip = (CLIP / (squares.sqrt() + 1e-6)).min(1.0) as f32;
        let [b1, b2] = BETAS.map(|b| b as f32);
        let [fix1, fix2] = BETAS.map(|b| (1.0 - b.powi(self.steps)).recip() as f32);
        learned
            .par_iter()
            .zip(&mut self.moments)
            .zip(&grads)
            .try_for_each(|((l, [first, second]), grad)| -> Result<()> {
                let rate = rates[usize::from(l.of_head)];
                let keep = if l.decays() {
                    (1.0 - rate * DECAY) as f32
                } else {
                    1.0
                };
                let mut values = vec(l.var.as_tensor())?;
                for (((x, g), m), v) in values.iter_mut().zip(grad).zip(first).zip(second) {
                    let g = g * clip;
                    *m = b1 * *m + (1.0 - b1) * g;
                    *v = b2 * *v + (1.0 - b2) * g * g;
                    *x = *x * keep - rate as f32 * (*m * fix1) / ((*v * fix2).sqrt() + 1e-8);
                }
                let values = Tensor::from_vec(values, l.var.shape(), l.var.device())?;
                Ok(l.var.set(&values)?)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value, and the gradient by each input, of the sum of `of` weighed by place.
    fn gradients(inputs: &[Var], of: &dyn Fn(&[Tensor]) -> Result<Tensor>) -> Vec<Vec<f32>> {
        let tensors: Vec<Tensor> = inputs.iter().map(|v| v.as_tensor().clone()).collect();
        let out = of(&tensors).unwrap();
        let weights: Vec<f32> = (0..out.elem_count())
            .map(|n| (n % 7) as f32 - 2.5)
            .collect();
        let weights = Tensor::from_vec(weights, out.shape(), out.device()).unwrap();
        let grads = (&out * weights)
            .unwrap()
            .sum_all()
            .unwrap()
            .backward()
            .unwrap();
        let of_inputs = inputs
            .iter()
            .map(|v| vec(grads.get(v.as_tensor()).unwrap()).unwrap());
        [vec(&out).unwrap()].into_iter().chain(of_inputs).collect()
    }

    fn input(shape: &[usize], chance: &mut Chance) -> Var {
        let count: usize = shape.iter().product();
        let numbers: Vec<f32> = (0..count).map(|_| chance.swing() * 2.0).collect();
        Var::from_tensor(&Tensor::from_vec(numbers, shape, &Device::Cpu).unwrap()).unwrap()
    }

    #[test]
    fn values_and_gradients_are_those_of_candles_own_operations() {
        type Of = fn(&[Tensor]) -> Result<Tensor>;
        let mut chance = Chance::new(1, "gradients", 0);
        let cases: [(&str, Of, Of, Vec<&[usize]>); 4] = [
            (
                "layer norm",
                |x| norm(&x[0], &x[1], &x[2]),
                |x| {
                    Ok(candle_nn::ops::layer_norm_slow(
                        &x[0],
                        &x[1],
                        &x[2],
                        EPSILON as f32,
                    )?)
                },
                vec![&[70, 12], &[12], &[12]],
            ),
            (
                "softmax",
                |x| softmax(&x[0]),
                |x| Ok(candle_nn::ops::softmax(&x[0], candle_core::D::Minus1)?),
                vec![&[3, 2, 9, 9]],
            ),
            (
                "gelu",
                |x| gelu(&x[0]),
                |x| Ok(x[0].gelu_erf()?),
                vec![&[90, 60]],
            ),
            (
                "affine",
                |x| affine(&x[0], &x[1], &x[2]),
                |x| Ok(x[0].matmul(&x[1].t()?)?.broadcast_add(&x[2])?),
                vec![&[70, 12], &[9, 12], &[9]],
            ),
        ];
        for (name, ours, theirs, shapes) in cases {
            let inputs: Vec<Var> = shapes.iter().map(|s| input(s, &mut chance)).collect();
            let (ours, theirs) = (gradients(&inputs, &ours), gradients(&inputs, &theirs));
            for (n, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
                for (a, b) in ours.iter().zip(theirs) {
                    assert!(
                        (a - b).abs() < 1e-3 * b.abs().max(1.0),
                        "{name} {n}: {a}, not {b}"
                    );
                }
            }
        }
    }
}
