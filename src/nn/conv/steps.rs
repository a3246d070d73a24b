//! What a compiled network does, step by step.

use anyhow::{Context, Result, ensure};
use rten_simd::SimdUnaryOp;
use rten_vecmath::Sigmoid;

use super::conv::{Conv, Enlarge};
use super::depthwise::{DepthwiseConv, separable};
use super::memory::{Map, Memory};
use super::sums::{Term, mean, pool, sum};

/// Number of a value of the network.
pub(super) type Value = usize;

pub(super) enum Kind {
    Conv(Conv),
    Depthwise(DepthwiseConv),
    /// A depthwise convolution and the product behind it.
    Separable(DepthwiseConv, Conv),
    Enlarge(Enlarge),
    /// Mean over all places.
    Mean,
    /// Mean over windows that do not overlap.
    Pool {
        kernel: (usize, usize),
    },
    /// For each part, a sum; parts lie one after another in the channels.
    Sum(Vec<Vec<Term>>),
    Sigmoid,
}

pub(super) struct Step {
    pub kind: Kind,
    /// Of a sum, none: its terms say.
    pub input: Option<Value>,
    pub output: Value,
    /// Values that nobody needs after this step.
    pub last: Vec<Value>,
}

impl Step {
    pub fn uses(&self) -> Vec<Value> {
        match &self.kind {
            Kind::Sum(parts) => parts
                .iter()
                .flatten()
                .flat_map(|term| [Some(term.map), term.scale])
                .flatten()
                .collect(),
            _ => self.input.into_iter().collect(),
        }
    }
}

/// A network of one input and one output.
pub struct ConvNet {
    pub(super) steps: Vec<Step>,
    pub(super) values: usize,
    /// Of the input; it is value 0.
    pub(super) channels: usize,
    pub(super) output: Value,
    pub(super) output_name: String,
}

impl ConvNet {
    /// What the model file calls this network's output.
    pub fn output_name(&self) -> &str {
        &self.output_name
    }

    /// Runs it on one picture.
    ///
    /// # Errors
    /// A picture with other channels than the network's, or too small for it.
    pub fn run(&self, input: Map, memory: &mut Memory) -> Result<Map> {
        ensure!(
            input.channels == self.channels,
            "{} channels: the network takes {}",
            input.channels,
            self.channels
        );
        let mut maps: Vec<Option<Map>> = Vec::new();
        maps.resize_with(self.values, || None);
        maps[0] = Some(input);
        for step in &self.steps {
            maps[step.output] = Some(step.run(&maps, memory)?);
            for &value in &step.last {
                if let Some(map) = maps[value].take() {
                    memory.keep(map);
                }
            }
        }
        maps[self.output].take().context("a network without output")
    }
}

impl Step {
    fn run(&self, maps: &[Option<Map>], memory: &mut Memory) -> Result<Map> {
        let of = |value: Value| maps[value].as_ref().context("a map that is not there yet");
        let input = || of(self.input.context("a step without input")?);
        match &self.kind {
            Kind::Conv(conv) => conv.run(input()?, memory),
            Kind::Depthwise(conv) => conv.run(input()?, memory),
            Kind::Separable(depthwise, conv) => separable(depthwise, conv, input()?, memory),
            Kind::Enlarge(enlarge) => enlarge.run(input()?, memory),
            Kind::Mean => Ok(mean(input()?, memory)),
            Kind::Pool { kernel } => pool(input()?, *kernel, memory),
            Kind::Sum(parts) => sum(parts, maps, memory),
            Kind::Sigmoid => {
                let input = input()?;
                let mut map = memory.map(input.height, input.width, input.channels, input.stride);
                map.data.copy_from_slice(&input.data);
                Sigmoid {}.map_mut(&mut map.data);
                Ok(map)
            }
        }
    }
}
