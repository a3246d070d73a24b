//! A compiled network: the steps that it computes.

use anyhow::{Context, Result, ensure};
use rten_simd::SimdUnaryOp;
use rten_vecmath::Sigmoid;

use super::Numeric;
use super::buffers::{BufferPool, FeatureMap, ValueId, check_size, computed};
use super::dense::{Conv, ConvTranspose};
use super::depthwise::{DepthwiseConv, run_separable};
use super::sums::{Term, average_pool, global_mean, weighted_sum};

pub(super) enum Operator {
    Conv(Conv),
    Depthwise(DepthwiseConv),
    /// A depthwise convolution followed by a pointwise one.
    Separable(DepthwiseConv, Conv),
    ConvTranspose(ConvTranspose),
    /// Mean over all pixels.
    GlobalMean,
    /// Mean over windows of `kernel` rows and columns that do not overlap.
    AveragePool {
        kernel: (usize, usize),
    },
    /// Several sums, whose channels are concatenated.
    Sum(Vec<Vec<Term>>),
    Sigmoid,
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

/// A network, or the beginning of one, with one input and one output.
pub(crate) struct ConvNet {
    pub(super) steps: Vec<Step>,
    /// Number of values.
    pub(super) values: usize,
    /// Channels of the input.
    pub(super) in_channels: usize,
    pub(super) output: ValueId,
    pub(super) output_name: String,
}

impl ConvNet {
    /// The name of the output in the model file.
    pub(crate) fn output_name(&self) -> &str {
        &self.output_name
    }

    /// Whether any product is computed in int8.
    pub fn numeric(&self) -> Numeric {
        let steps = self.steps.iter().map(Step::numeric);
        steps.max().unwrap_or(Numeric::Float)
    }

    /// Computes the output for one image.
    ///
    /// # Errors
    /// The image has another number of channels than the network takes, or is too small for it, or is of a size for which the
    /// network adds maps of different sizes or needs too much memory.
    pub fn run(&self, input: FeatureMap, pool: &mut BufferPool) -> Result<FeatureMap> {
        ensure!(
            input.channels == self.in_channels,
            "the image has {} channels, the network takes {}",
            input.channels,
            self.in_channels
        );
        let mut maps: Vec<Option<FeatureMap>> = Vec::new();
        maps.resize_with(self.values, || None);
        maps[0] = Some(input);
        for step in &self.steps {
            maps[step.output] = Some(step.run(&maps, pool)?);
            check_size(&maps)?;
            for &value in &step.last_reads {
                if let Some(map) = maps[value].take() {
                    pool.recycle(map);
                }
            }
        }
        maps[self.output]
            .take()
            .context("no step computes the network's output")
    }
}

impl Step {
    fn run(&self, maps: &[Option<FeatureMap>], pool: &mut BufferPool) -> Result<FeatureMap> {
        let input = || computed(maps, self.input.context("a step without input")?);
        match &self.operator {
            Operator::Conv(conv) => conv.run(input()?, pool),
            Operator::Depthwise(conv) => conv.run(input()?, pool),
            Operator::Separable(depthwise, pointwise) => {
                run_separable(depthwise, pointwise, input()?, pool)
            }
            Operator::ConvTranspose(conv) => conv.run(input()?, pool),
            Operator::GlobalMean => global_mean(input()?, pool),
            Operator::AveragePool { kernel } => average_pool(input()?, *kernel, pool),
            Operator::Sum(parts) => weighted_sum(parts, maps, pool),
            Operator::Sigmoid => {
                let input = input()?;
                let mut map = pool.map(input.height, input.width, input.channels, input.stride)?;
                map.data.copy_from_slice(&input.data);
                Sigmoid {}.map_mut(&mut map.data);
                Ok(map)
            }
        }
    }
}
