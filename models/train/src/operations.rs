//! The operations of the network, each with a gradient.
//!
//! candle's own layer norm, softmax and GELU have no gradient, or need a dozen passes over memory for it. The operations here
//! compute value and gradient in one pass each on the CPU. On other devices candle's slower ones are used.

use candle_core::{CpuStorage, CustomOp1, CustomOp2, CustomOp3, Layout, Result, Shape, Tensor};
use rayon::prelude::*;
use riposte_candle::LayerOps;
use riposte_nn::transformer::{Activation, Affine};
use rten_simd::{SimdOp, SimdUnaryOp};
use rten_vecmath::{Erf, Exp, Gelu as GeluOp, Softmax as SoftmaxOp};
use seeded_random::Random;

/// The share of values that dropout sets to 0, as in the training of BERT.
const DROPOUT: f32 = 0.1;

/// The operations of training: each has a gradient. Without `random`, dropout changes nothing.
pub struct Training<'r> {
    pub random: Option<&'r mut Random>,
}

impl LayerOps for Training<'_> {
    fn linear(&mut self, x: &Tensor, layer: &Affine<Tensor>) -> Result<Tensor> {
        affine(x, &layer.weight, &layer.bias)
    }

    fn norm(&mut self, x: &Tensor, norm: &Affine<Tensor>, epsilon: f64) -> Result<Tensor> {
        layer_norm(x, &norm.weight, &norm.bias, epsilon)
    }

    fn softmax(&mut self, x: &Tensor) -> Result<Tensor> {
        softmax(x)
    }

    fn activate(&mut self, x: &Tensor, activation: Activation) -> Result<Tensor> {
        match activation {
            Activation::Gelu => gelu(x),
            other => Err(candle_core::Error::Msg(format!(
                "only GELU can be trained, not {other:?}"
            ))),
        }
    }

    fn dropout(&mut self, x: Tensor) -> Result<Tensor> {
        match &mut self.random {
            Some(random) => dropout(&x, random),
            None => Ok(x),
        }
    }
}

/// x · weightᵀ + bias, with x of shape (rows, in) and weight of shape (out, in).
fn affine(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    let product = x.matmul(&weight.t()?)?;
    Ok(if product.device().is_cpu() {
        product.apply_op2(bias, AddBias)?
    } else {
        product.broadcast_add(bias)?
    })
}

/// The layer norm over the last dimension.
fn layer_norm(x: &Tensor, weight: &Tensor, bias: &Tensor, epsilon: f64) -> Result<Tensor> {
    let epsilon = epsilon as f32;
    Ok(if x.device().is_cpu() {
        x.apply_op3(weight, bias, LayerNorm { epsilon })?
    } else {
        candle_nn::ops::layer_norm_slow(x, weight, bias, epsilon)?
    })
}

/// The softmax over the last dimension.
fn softmax(x: &Tensor) -> Result<Tensor> {
    Ok(if x.device().is_cpu() {
        x.apply_op1(Softmax)?
    } else {
        candle_nn::ops::softmax(x, candle_core::D::Minus1)?
    })
}

/// The GELU with the exact error function.
fn gelu(x: &Tensor) -> Result<Tensor> {
    Ok(if x.device().is_cpu() {
        x.apply_op1(Gelu)?
    } else {
        x.gelu_erf()?
    })
}

/// Dropout with a mask from `random`.
fn dropout(x: &Tensor, random: &mut Random) -> Result<Tensor> {
    let kept = 1.0 / (1.0 - DROPOUT);
    let mask: Vec<f32> = (0..x.elem_count())
        .map(|_| {
            if random.fraction() < DROPOUT {
                0.0
            } else {
                kept
            }
        })
        .collect();
    x * Tensor::from_vec(mask, x.shape(), x.device())?
}

/// The values of a contiguous tensor of 32-bit floats.
fn values<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    let (from, to) = layout
        .contiguous_offsets()
        .ok_or_else(|| candle_core::Error::Msg("the tensor is not contiguous".into()))?;
    match storage {
        CpuStorage::F32(values) => Ok(&values[from..to]),
        _ => Err(candle_core::Error::Msg(
            "the tensor does not hold 32-bit floats".into(),
        )),
    }
}

/// The values of a tensor of 32-bit floats, in row-major order.
pub fn to_vec(tensor: &Tensor) -> Result<Vec<f32>> {
    tensor.flatten_all()?.to_vec1()
}

/// The size of the last dimension.
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
    ) -> Result<(CpuStorage, Shape)> {
        let bias = values(b, lb)?;
        let mut out = values(x, lx)?.to_vec();
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
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let sums = column_sums(&to_vec(grad)?, b.elem_count());
        let of_bias = Tensor::from_vec(sums, b.shape(), b.device())?;
        Ok((Some(grad.clone()), Some(of_bias)))
    }
}

/// The sum of each column of rows of `width` values.
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

    fn cpu_fwd(&self, x: &CpuStorage, l: &Layout) -> Result<(CpuStorage, Shape)> {
        let mut out = values(x, l)?.to_vec();
        out.par_chunks_mut(1 << 14)
            .for_each(|part| GeluOp {}.map_mut(part));
        Ok((CpuStorage::F32(out), l.shape().clone()))
    }

    /// The derivative is Φ(x) + x φ(x).
    fn bwd(&self, x: &Tensor, _out: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        const PART: usize = 1 << 12;
        let (inputs, mut grads) = (to_vec(x)?, to_vec(grad)?);
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
                    // 0.398942 is 1/√(2π)
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

    fn cpu_fwd(&self, x: &CpuStorage, l: &Layout) -> Result<(CpuStorage, Shape)> {
        let mut out = values(x, l)?.to_vec();
        let width = width(l);
        out.par_chunks_mut(width * 64).for_each(|rows| {
            for row in rows.chunks_mut(width) {
                SoftmaxOp::new_mut(row).dispatch();
            }
        });
        Ok((CpuStorage::F32(out), l.shape().clone()))
    }

    /// The gradient is p (g - Σ p g).
    fn bwd(&self, x: &Tensor, out: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let (probabilities, mut grads) = (to_vec(out)?, to_vec(grad)?);
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

struct LayerNorm {
    /// Added to the variance.
    epsilon: f32,
}

impl LayerNorm {
    /// The mean and the inverse of the standard deviation.
    fn moments(&self, row: &[f32]) -> (f32, f32) {
        let n = row.len() as f32;
        let mean = row.iter().sum::<f32>() / n;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / n;
        (mean, (variance + self.epsilon).sqrt().recip())
    }
}

impl CustomOp3 for LayerNorm {
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
    ) -> Result<(CpuStorage, Shape)> {
        let (weight, bias) = (values(w, lw)?, values(b, lb)?);
        let mut out = values(x, lx)?.to_vec();
        out.par_chunks_mut(weight.len())
            .with_min_len(32)
            .for_each(|row| {
                let (mean, scale) = self.moments(row);
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
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let (mut inputs, mut grads, weight) = (to_vec(x)?, to_vec(grad)?, to_vec(w)?);
        let width = weight.len();
        let of_bias = column_sums(&grads, width);
        // in place: `inputs` become the summands of the weight's gradient, `grads` the gradient of the inputs
        inputs
            .par_chunks_mut(width)
            .with_min_len(32)
            .zip(grads.par_chunks_mut(width))
            .for_each(|(row, grads)| {
                let (mean, scale) = self.moments(row);
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

#[cfg(test)]
mod tests {
    use candle_core::{Device, Var};

    use super::*;

    /// The value of the operation, and the gradients of a weighted sum of its elements by each input.
    fn value_and_gradients(
        inputs: &[Var],
        operation: &dyn Fn(&[Tensor]) -> Result<Tensor>,
    ) -> Vec<Vec<f32>> {
        let tensors: Vec<Tensor> = inputs.iter().map(|v| v.as_tensor().clone()).collect();
        let out = operation(&tensors).unwrap();
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
            .map(|v| to_vec(grads.get(v.as_tensor()).unwrap()).unwrap());
        [to_vec(&out).unwrap()]
            .into_iter()
            .chain(of_inputs)
            .collect()
    }

    fn input(shape: &[usize], random: &mut Random) -> Var {
        let count: usize = shape.iter().product();
        let values: Vec<f32> = (0..count).map(|_| random.signed_fraction() * 2.0).collect();
        Var::from_tensor(&Tensor::from_vec(values, shape, &Device::Cpu).unwrap()).unwrap()
    }

    #[test]
    fn values_and_gradients_equal_those_of_candles_operations() {
        type Operation = fn(&[Tensor]) -> Result<Tensor>;
        let mut random = Random::new(1, "gradients", 0);
        let cases: [(&str, Operation, Operation, Vec<&[usize]>); 4] = [
            (
                "layer norm",
                |x| layer_norm(&x[0], &x[1], &x[2], 1e-12),
                |x| candle_nn::ops::layer_norm_slow(&x[0], &x[1], &x[2], 1e-12),
                vec![&[70, 12], &[12], &[12]],
            ),
            (
                "softmax",
                |x| softmax(&x[0]),
                |x| candle_nn::ops::softmax(&x[0], candle_core::D::Minus1),
                vec![&[3, 2, 9, 9]],
            ),
            (
                "gelu",
                |x| gelu(&x[0]),
                |x| x[0].gelu_erf(),
                vec![&[90, 60]],
            ),
            (
                "affine",
                |x| affine(&x[0], &x[1], &x[2]),
                |x| x[0].matmul(&x[1].t()?)?.broadcast_add(&x[2]),
                vec![&[70, 12], &[9, 12], &[9]],
            ),
        ];
        for (name, ours, theirs, shapes) in cases {
            let inputs: Vec<Var> = shapes.iter().map(|s| input(s, &mut random)).collect();
            let (ours, theirs) = (
                value_and_gradients(&inputs, &ours),
                value_and_gradients(&inputs, &theirs),
            );
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
