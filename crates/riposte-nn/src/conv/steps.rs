//! A compiled network: the steps that it computes.

use rten_simd::SimdUnaryOp;
use rten_vecmath::{Sigmoid, Swish};

use super::Numeric;
use super::buffers::{BufferPool, FeatureMap, ValueId, check_size, computed};
use super::dense::{Conv, ConvTranspose};
use super::depthwise::{DepthwiseConv, run_separable};
use super::sums::{Term, average_pool, global_mean, weighted_sum};
use super::upscale::Upscale;
use crate::error::{Error, Result, ensure};

pub(super) enum Operator {
    Conv(Conv),
    Depthwise(DepthwiseConv),
    /// A depthwise convolution followed by a pointwise one.
    Separable(DepthwiseConv, Conv),
    ConvTranspose(ConvTranspose),
    /// A transposed convolution followed by one with one output channel.
    Upscale(Upscale),
    /// Mean over all pixels.
    GlobalMean,
    /// Mean over windows of `kernel` rows and columns that do not overlap.
    AveragePool {
        kernel: (usize, usize),
    },
    /// Several sums, whose channels are concatenated.
    Sum(Vec<Vec<Term>>),
    Sigmoid,
    /// x · sigmoid(beta · x)
    Swish {
        beta: f32,
    },
}

pub(super) struct Step {
    pub operator: Operator,
    /// None for [`Operator::Sum`]: its terms name their inputs.
    pub input: Option<ValueId>,
    pub output: ValueId,
    /// Inputs that no later step reads: their buffers are freed after this step.
    pub last_reads: Vec<ValueId>,
}

impl Step {
    /// The values that the step reads; one that it reads twice is named twice.
    pub fn reads(&self) -> Vec<ValueId> {
        match &self.operator {
            Operator::Sum(parts) => parts
                .iter()
                .flatten()
                .flat_map(|term| [Some(term.map), term.gate])
                .flatten()
                .collect(),
            _ => self.input.into_iter().collect(),
        }
    }

    fn numeric(&self) -> Numeric {
        match &self.operator {
            Operator::Conv(conv) | Operator::Separable(_, conv) => conv.weights.numeric(),
            _ => Numeric::Float,
        }
    }
}

fn unsupported(what: &str) -> Error {
    Error::Unsupported(what.to_owned())
}

/// An input of a network.
pub(super) struct Input {
    pub channels: usize,
    /// Numbers from a pixel to the next one.
    pub stride: usize,
}

/// A network, or a part of one.
pub struct ConvNet {
    pub(super) steps: Vec<Step>,
    /// Number of values. The inputs are the first.
    pub(super) values: usize,
    pub(super) inputs: Vec<Input>,
    pub(super) outputs: Vec<ValueId>,
}

impl ConvNet {
    /// Whether any product is computed in int8.
    pub fn numeric(&self) -> Numeric {
        let steps = self.steps.iter().map(Step::numeric);
        steps.max().unwrap_or(Numeric::Float)
    }

    /// The stride of each input.
    pub fn strides(&self) -> impl Iterator<Item = usize> {
        self.inputs.iter().map(|input| input.stride)
    }

    /// Computes the outputs for one image.
    ///
    /// # Errors
    /// There are too many or too few inputs. An input has the wrong number of channels, the wrong stride or too few numbers, or is too small. For an input of this
    /// size, the network would add maps of different sizes or need too much memory.
    pub fn run(&self, inputs: Vec<FeatureMap>, pool: &mut BufferPool) -> Result<Vec<FeatureMap>> {
        ensure!(
            inputs.len() == self.inputs.len(),
            Input,
            "the network takes {} maps, not {}",
            self.inputs.len(),
            inputs.len()
        );
        let mut maps: Vec<Option<FeatureMap>> = Vec::new();
        for (map, takes) in inputs.into_iter().zip(&self.inputs) {
            ensure!(
                (map.channels, map.stride) == (takes.channels, takes.stride),
                Input,
                "the image has {} channels, the network takes {}",
                map.channels,
                takes.channels
            );
            let numbers = map.height.checked_mul(map.width);
            let numbers = numbers.and_then(|pixels| pixels.checked_mul(map.stride));
            ensure!(
                numbers == Some(map.data.len()),
                Input,
                "a map of {} × {} pixels has {} numbers",
                map.height,
                map.width,
                map.data.len()
            );
            maps.push(Some(map));
        }
        maps.resize_with(self.values, || None);
        for step in &self.steps {
            maps[step.output] = Some(step.run(&maps, pool)?);
            check_size(&maps)?;
            for &value in &step.last_reads {
                if let Some(map) = maps[value].take() {
                    pool.recycle(map);
                }
            }
        }
        let outputs = self.outputs.iter().map(|&value| maps[value].take());
        outputs
            .map(|map| map.ok_or_else(|| unsupported("no step computes the network's output")))
            .collect()
    }
}

impl Step {
    fn run(&self, maps: &[Option<FeatureMap>], pool: &mut BufferPool) -> Result<FeatureMap> {
        let input = || {
            computed(
                maps,
                self.input
                    .ok_or_else(|| unsupported("a step without input"))?,
            )
        };
        match &self.operator {
            Operator::Conv(conv) => conv.run(input()?, pool),
            Operator::Depthwise(conv) => conv.run(input()?, pool),
            Operator::Separable(depthwise, pointwise) => {
                run_separable(depthwise, pointwise, input()?, pool)
            }
            Operator::ConvTranspose(conv) => conv.run(input()?, pool),
            Operator::Upscale(both) => both.run(input()?, pool),
            Operator::GlobalMean => global_mean(input()?, pool),
            Operator::AveragePool { kernel } => average_pool(input()?, *kernel, pool),
            Operator::Sum(parts) => weighted_sum(parts, maps, pool),
            Operator::Sigmoid => each_number(&Sigmoid {}, input()?, pool),
            Operator::Swish { beta } => each_number(&Swish { alpha: *beta }, input()?, pool),
        }
    }
}

/// The map with `operator` applied to each number.
///
/// # Errors
/// The map is too large.
fn each_number(
    operator: &impl SimdUnaryOp<f32>,
    input: &FeatureMap,
    pool: &mut BufferPool,
) -> Result<FeatureMap> {
    let mut map = pool.map(input.height, input.width, input.channels, input.stride)?;
    map.data.copy_from_slice(&input.data);
    operator.map_mut(&mut map.data);
    Ok(map)
}
