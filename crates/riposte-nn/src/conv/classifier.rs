//! The output layer of a network that predicts labels.

use rten_simd::SimdOp;
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, NdTensorView};
use rten_vecmath::Softmax;

use super::Numeric;
use super::buffers::{BufferPool, FeatureMap};
use super::dense::ConvWeights;
use super::kernel::{ConvActivation, SlidingWindows};
use crate::error::{Error, Result, While, ensure};

/// softmax(x · weights + bias) over labels, for each of several feature vectors.
pub struct Classifier {
    /// The name of the tensor x in the model file.
    pub input_name: String,
    /// If x is a map of one row whose axis of rows was removed, the name of that map.
    pub(super) row_name: Option<String>,
    /// x is (1, features, steps) and not (1, steps, features).
    pub(super) transposed: bool,
    pub(super) features: usize,
    pub(super) labels: usize,
    /// (features, labels), labels padded with zeros
    pub(super) weights: ConvWeights,
}

impl Classifier {
    /// Whether the product is computed in int8 or in floats.
    pub fn numeric(&self) -> Numeric {
        self.weights.numeric()
    }

    /// The probability of each label at each step, (1, steps, labels). `x` is (1, steps, features), or (1, features, steps) if
    /// the model transposes it first.
    ///
    /// # Errors
    /// `x` has another batch size than 1, or another number of features than the weights.
    pub fn run(
        &self,
        x: NdTensorView<'_, f32, 3>,
        pool: &mut BufferPool,
    ) -> Result<NdTensor<f32, 3>> {
        let axes = if self.transposed {
            [0, 2, 1]
        } else {
            [0, 1, 2]
        };
        let x = x.permuted(axes);
        let [batch, steps, features] = x.shape();
        ensure!(
            batch == 1 && features == self.features,
            Input,
            "the output layer takes (1, steps, {}), not (1, steps, {features}) in a batch of {batch}",
            self.features
        );
        self.probabilities(x.to_contiguous().data(), features, steps, pool)
    }

    /// As [`Classifier::run`], for a map of one row: its pixels are the steps, its channels the features.
    ///
    /// # Errors
    /// The map has several rows, or another number of channels than the weights have features.
    pub fn run_map(&self, x: &FeatureMap, pool: &mut BufferPool) -> Result<NdTensor<f32, 3>> {
        ensure!(
            x.height == 1 && x.channels == self.features,
            Input,
            "the output layer takes a row of {} channels, not {} rows of {}",
            self.features,
            x.height,
            x.channels
        );
        self.probabilities(&x.data, x.stride, x.width, pool)
    }

    /// The probabilities of `steps` feature vectors, each of which begins `stride` numbers after the one before.
    fn probabilities(
        &self,
        numbers: &[f32],
        stride: usize,
        steps: usize,
        pool: &mut BufferPool,
    ) -> Result<NdTensor<f32, 3>> {
        let columns = self.weights.columns();
        let mut out = vec![0.0; steps * columns];
        let rows = [numbers];
        let pixels = SlidingWindows::new(&rows, self.features, stride, steps);
        let none = ConvActivation::None;
        self.weights.multiply(pixels, none, &mut out, pool);
        for row in out.chunks_mut(columns) {
            Softmax::new_mut(&mut row[..self.labels]).dispatch();
        }
        let strides = [steps * columns, columns, 1];
        NdTensor::from_data_with_strides([1, steps, self.labels], out, strides)
            .map_err(Error::other)
            .during(|| "laying out the probabilities of labels")
    }
}
