//! The optimiser of training.

use anyhow::{Result, ensure};
use candle_core::Tensor;
use rayon::prelude::*;

use crate::network::Parameter;
use crate::operations::to_vec;

/// Maximum norm of all gradients together; larger ones are scaled down to it.
const MAX_NORM: f64 = 1.0;
const WEIGHT_DECAY: f64 = 0.01;
const BETAS: [f64; 2] = [0.9, 0.999];

/// AdamW (Loshchilov and Hutter 2019) in one pass over the values, where candle's takes fourteen.
pub struct Optimiser {
    /// The first and the second moment of each parameter.
    pub moments: Vec<[Vec<f32>; 2]>,
    /// The steps done.
    pub steps: i32,
}

impl Optimiser {
    pub fn new(parameters: &[Parameter]) -> Optimiser {
        Optimiser {
            moments: parameters
                .iter()
                .map(|p| [(); 2].map(|()| vec![0.0; p.var.elem_count()]))
                .collect(),
            steps: 0,
        }
    }

    /// One step against the gradients, which are in the order of the parameters; `rates`: the learning rates of the encoder and of the head.
    ///
    /// # Errors
    /// A gradient is not finite.
    pub fn step(
        &mut self,
        parameters: &[Parameter],
        grads: &[Vec<f32>],
        rates: [f64; 2],
    ) -> Result<()> {
        self.steps += 1;
        let squares: f64 = grads
            .par_iter()
            .map(|g| g.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>())
            .collect::<Vec<f64>>()
            .iter()
            .sum();
        ensure!(squares.is_finite(), "the gradients are not finite");
        let clip = (MAX_NORM / (squares.sqrt() + 1e-6)).min(1.0) as f32;
        let [b1, b2] = BETAS.map(|b| b as f32);
        let [fix1, fix2] = BETAS.map(|b| (1.0 - b.powi(self.steps)).recip() as f32);
        parameters
            .par_iter()
            .zip(&mut self.moments)
            .zip(grads)
            .try_for_each(|((parameter, [first, second]), grad)| -> Result<()> {
                let rate = rates[usize::from(parameter.in_head)];
                let keep = if parameter.decays() {
                    (1.0 - rate * WEIGHT_DECAY) as f32
                } else {
                    1.0
                };
                let mut values = to_vec(parameter.var.as_tensor())?;
                for (((x, g), m), v) in values.iter_mut().zip(grad).zip(first).zip(second) {
                    let g = g * clip;
                    *m = b1 * *m + (1.0 - b1) * g;
                    *v = b2 * *v + (1.0 - b2) * g * g;
                    *x = *x * keep - rate as f32 * (*m * fix1) / ((*v * fix2).sqrt() + 1e-8);
                }
                let values =
                    Tensor::from_vec(values, parameter.var.shape(), parameter.var.device())?;
                Ok(parameter.var.set(&values)?)
            })
    }
}
