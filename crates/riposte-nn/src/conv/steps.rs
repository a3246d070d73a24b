//! A compiled network: the steps that it computes.

use std::ops::Range;

use rten_simd::SimdUnaryOp;
use rten_vecmath::{Sigmoid, Swish};

use super::Numeric;
use super::buffers::{BufferPool, FeatureMap, Shape, ValueId, check_size, computed};
use super::dense::{Conv, ConvTranspose};
use super::depthwise::{DepthwiseConv, Separable};
use super::rows::{ByRows, MapRows, RowSpan, StepChain, stays_in_cache};
use super::sums::{Term, average_pool, global_mean, weighted_sum};
use super::upscale::Upscale;
use crate::error::{Error, Result, ensure};

pub(super) enum Operator {
    Conv(Conv),
    Depthwise(DepthwiseConv),
    Separable(Separable),
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

pub(super) struct ConvStep {
    pub operator: Operator,
    /// None for [`Operator::Sum`]: its terms name their inputs.
    pub input: Option<ValueId>,
    pub output: ValueId,
    /// Inputs that no later step reads: their buffers are freed after this step.
    pub last_reads: Vec<ValueId>,
    /// Whether the next step, and nothing else, reads what this one computes, so that both can be computed together.
    pub feeds_next: bool,
}

impl ConvStep {
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

    /// Whether each row depends only on some rows of what the step reads.
    pub fn is_by_rows(&self) -> bool {
        !matches!(self.operator, Operator::GlobalMean)
    }

    /// Whether it can be computed some rows at a time while a step before it computes `value`, which it reads once.
    pub fn streams(&self, value: ValueId) -> bool {
        let once = self.reads().iter().filter(|read| **read == value).count() == 1;
        let as_gate = match &self.operator {
            Operator::Sum(parts) => parts.iter().flatten().any(|term| term.gate == Some(value)),
            _ => false,
        };
        once && !as_gate && self.is_by_rows()
    }

    fn numeric(&self) -> Numeric {
        match &self.operator {
            Operator::Conv(conv) => conv.weights.numeric(),
            Operator::Separable(both) => both.pointwise.weights.numeric(),
            _ => Numeric::Float,
        }
    }
}

fn unsupported(what: &str) -> Error {
    Error::Unsupported(what.to_owned())
}

/// An input of a network.
pub(super) struct ConvInput {
    pub channels: usize,
    /// Numbers from a pixel to the next one.
    pub stride: usize,
}

/// A network, or a part of one.
pub struct ConvNet {
    pub(super) steps: Vec<ConvStep>,
    /// Number of values. The inputs are the first.
    pub(super) values: usize,
    pub(super) inputs: Vec<ConvInput>,
    pub(super) outputs: Vec<ValueId>,
}

impl ConvNet {
    /// Whether any product is computed in int8.
    pub fn numeric(&self) -> Numeric {
        let steps = self.steps.iter().map(ConvStep::numeric);
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
        let mut left = self.steps.as_slice();
        while let Some((step, mut after)) = left.split_first() {
            let (map, last) = match step.operator {
                Operator::GlobalMean => (global_mean(step.input(&maps)?, pool)?, step),
                _ => step.run(&mut after, &maps, pool)?,
            };
            maps[last.output] = Some(map);
            check_size(&maps)?;
            let done = &left[..left.len() - after.len()];
            for &value in done.iter().flat_map(|step| &step.last_reads) {
                if let Some(map) = maps[value].take() {
                    pool.recycle(map);
                }
            }
            left = after;
        }
        let outputs = self.outputs.iter().map(|&value| maps[value].take());
        outputs
            .map(|map| map.ok_or_else(|| unsupported("no step computes the network's output")))
            .collect()
    }
}

impl ConvStep {
    /// The map that the step reads.
    fn input<'m>(&self, maps: &'m [Option<FeatureMap>]) -> Result<&'m FeatureMap> {
        let value = self
            .input
            .ok_or_else(|| unsupported("a step without input"))?;
        computed(maps, value)
    }

    /// Computes the step, and with it as many of those after it as stay in the cache together, which are removed from `after`. Returns the last map, and the step
    /// that computes it.
    fn run<'s>(
        &'s self,
        after: &mut &'s [ConvStep],
        maps: &[Option<FeatureMap>],
        pool: &mut BufferPool,
    ) -> Result<(FeatureMap, &'s ConvStep)> {
        let input = match &self.operator {
            Operator::Sum(_) => MapRows::default(),
            _ => MapRows::of(self.input(maps)?),
        };
        let mut chain = StepChain::of(self.by_rows(input.shape, None, maps, pool)?);
        let mut last = self;
        while last.feeds_next
            && let Some((next, rest)) = after.split_first()
        {
            let shape = chain.shape();
            if stays_in_cache(shape) {
                break;
            }
            let step = next.by_rows(shape, Some(last.output), maps, pool)?;
            if let Some(mut step) = chain.push(step) {
                step.end(pool);
                break;
            }
            (last, *after) = (next, rest);
        }
        Ok((chain.run(&input, pool)?, last))
    }

    /// The step, for an input of this shape. The input is the value `before` if the step before computes it at the same time.
    ///
    /// # Errors
    /// The input is too small, or it has another size than the maps that the step adds to it.
    fn by_rows<'s>(
        &'s self,
        input: Shape,
        before: Option<ValueId>,
        maps: &'s [Option<FeatureMap>],
        pool: &mut BufferPool,
    ) -> Result<Box<dyn ByRows + 's>> {
        Ok(match &self.operator {
            Operator::Conv(conv) => conv.by_rows(input, pool)?,
            Operator::Depthwise(conv) => conv.by_rows(input)?,
            Operator::Separable(both) => both.by_rows(input, pool)?,
            Operator::ConvTranspose(conv) => conv.by_rows(input, pool),
            Operator::Upscale(both) => both.by_rows(input),
            Operator::AveragePool { kernel } => average_pool(input, *kernel)?,
            Operator::Sum(parts) => weighted_sum(parts, maps, before.map(|value| (value, input)))?,
            Operator::Sigmoid => each_number(Sigmoid {}, input),
            Operator::Swish { beta } => each_number(Swish { alpha: *beta }, input),
            Operator::GlobalMean => return Err(unsupported("a mean of some rows")),
        })
    }
}

/// The map with `operator` applied to each number.
fn each_number<'s>(operator: impl SimdUnaryOp<f32> + 's, shape: Shape) -> Box<dyn ByRows + 's> {
    Box::new(EachNumber { operator, shape })
}

struct EachNumber<O> {
    operator: O,
    shape: Shape,
}

impl<O: SimdUnaryOp<f32>> ByRows for EachNumber<O> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn span(&self) -> RowSpan {
        RowSpan::SAME
    }

    fn run(&mut self, input: &MapRows, rows: Range<usize>, out: &mut [f32], _: &mut BufferPool) {
        let mut left = &mut *out;
        for (_, numbers) in input.pieces(rows) {
            let (to, rest) = left.split_at_mut(numbers.len());
            to.copy_from_slice(numbers);
            left = rest;
        }
        self.operator.map_mut(out);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::map;
    use super::super::{CompileExtent, NumericMode, compile};
    use super::*;
    use onnx_writer::{GraphWriter, ints, numbers};

    /// A network whose maps are too large for the cache if the image has 300 × 300 pixels: three convolutions, with a gate from a mean between the last two.
    fn network(mode: NumericMode) -> ConvNet {
        let same = ints("pads", &[1, 1, 1, 1]);
        let graph = GraphWriter::default()
            .input("image", &[1, 3, -1, -1])
            .floats("w1", &[16, 3, 3, 3], &numbers(16 * 27))
            .floats("w2", &[32, 16, 1, 1], &numbers(32 * 16))
            .floats("w3", &[16, 32, 3, 3], &numbers(16 * 32 * 9))
            .node("Conv", &["image", "w1"], "x", std::slice::from_ref(&same))
            .node("Conv", &["x", "w2"], "wide", &[])
            .node("GlobalAveragePool", &["wide"], "mean", &[])
            .node("Sigmoid", &["mean"], "gate", &[])
            .node("Mul", &["wide", "gate"], "gated", &[])
            .node("Add", &["gated", "wide"], "sum", &[])
            .node("Conv", &["sum", "w3"], "y", &[same])
            .output("y", &[1, 16, -1, -1]);
        let compiled = compile(&graph.model(), mode, None, CompileExtent::Trunk).unwrap();
        compiled.parts.unwrap().trunk
    }

    #[test]
    #[cfg_attr(
        miri,
        ignore = "it takes hours, and rten-simd's map_mut breaks Miri's aliasing rules: a mutable reference makes the one invalid that it reads"
    )]
    fn steps_that_are_computed_together_have_the_bits_of_those_that_are_not() {
        for mode in [NumericMode::Float, NumericMode::Auto] {
            let mut net = network(mode);
            let mut pool = BufferPool::default();
            let together = net.run(vec![map(300, 300, 3)], &mut pool).unwrap();
            // no map of 32 channels was held as a whole
            assert!(pool.largest() < 300 * 300 * 32);
            // the mean is that of 16 channels, and the wide map is computed where it is read
            let means: Vec<usize> = net
                .steps
                .iter()
                .filter(|s| !s.is_by_rows())
                .map(|s| s.output)
                .collect();
            assert_eq!(means.len(), 1);
            let feeds: Vec<bool> = net.steps.iter().map(|step| step.feeds_next).collect();
            assert_eq!(
                feeds,
                [false, false, true, false, true, true, false],
                "{means:?}"
            );
            net.steps
                .iter_mut()
                .for_each(|step| step.feeds_next = false);
            let apart = net.run(vec![map(300, 300, 3)], &mut pool).unwrap();
            assert!(pool.largest() >= 300 * 300 * 32);
            assert_eq!(*together[0].data, *apart[0].data);
        }
    }
}
