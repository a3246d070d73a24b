//! From an ONNX graph to steps.

use std::collections::{HashMap, HashSet};

use anyhow::{Context, Result, bail};
use rten_onnx::onnx::{ModelProto, NodeProto};

use super::conv::Classes;
use super::graph::{Graph, attribute_int, attribute_ints, attribute_text};
use super::kernel::BLOCK;
use super::steps::{ConvNet, Kind, Step, Value};
use super::sums::Term;

/// What of an ONNX file is computed here.
#[derive(Default)]
pub struct Compiled {
    /// From its input as far as it can be: up to its output, or to a map from which alone the rest follows.
    pub beginning: Option<ConvNet>,
    /// The last product of a network of labels.
    pub end: Option<Classes>,
}

/// # Errors
/// A file that is no ONNX model, or whose graph contradicts itself.
pub fn compile(onnx: &[u8]) -> Result<Compiled> {
    let model = ModelProto::parse_buf(onnx).context("reading the graph")?;
    let graph = model.graph.context("a model without a graph")?;
    let graph = Graph::new(&graph);
    Ok(Compiled {
        beginning: Compiler::new(&graph).compile()?,
        end: graph.classes(),
    })
}

/// Larger windows, strides, pads and enlargements are damage, not networks.
pub(super) const LARGEST: usize = 64;

/// What a name of the graph stands for.
#[derive(Clone)]
enum Meaning {
    Map(Value),
    /// Not computed before somebody needs it: parts of a concatenation, each a sum.
    Sum(Vec<Vec<Term>>),
}

/// What is known of a value before the network runs.
pub(super) struct About {
    pub name: String,
    pub channels: usize,
    /// Numbers from one place to the next.
    pub stride: usize,
    /// It has one place alone.
    pub single: bool,
}

pub(super) struct Compiler<'a> {
    pub(super) graph: &'a Graph<'a>,
    meanings: HashMap<String, Meaning>,
    /// Nodes that became part of an earlier one's step.
    pub(super) absorbed: HashSet<usize>,
    steps: Vec<Step>,
    pub(super) values: Vec<About>,
}

impl<'a> Compiler<'a> {
    fn new(graph: &'a Graph<'a>) -> Self {
        Compiler {
            graph,
            meanings: HashMap::new(),
            absorbed: HashSet::new(),
            steps: Vec::new(),
            values: Vec::new(),
        }
    }

    fn compile(mut self) -> Result<Option<ConvNet>> {
        let inputs: Vec<_> = self
            .graph
            .proto
            .input
            .iter()
            .filter_map(|input| input.name.as_deref())
            .filter(|name| !self.graph.constants.contains_key(name))
            .collect();
        let (&[input], [output]) = (inputs.as_slice(), self.graph.proto.output.as_slice()) else {
            bail!(
                "{} inputs and {} outputs",
                inputs.len(),
                self.graph.proto.output.len()
            );
        };
        let output = output.name.as_deref().context("an output without a name")?;
        // what the first convolution takes
        let channels = self
            .graph
            .readers
            .get(input)
            .and_then(|readers| self.graph.proto.node.get(*readers.first()?))
            .filter(|node| node.op_type.as_deref() == Some("Conv"))
            .and_then(|node| self.graph.constants.get(node.input.get(1)?.as_str()))
            .and_then(|weights| weights.dims.get(1).copied());
        let Some(channels) = channels else {
            return Ok(None);
        };
        self.values.push(About {
            name: input.to_owned(),
            channels,
            stride: channels,
            single: false,
        });
        self.meanings.insert(input.to_owned(), Meaning::Map(0));
        for n in 0..self.graph.proto.node.len() {
            if !self.absorbed.contains(&n) {
                // what cannot be computed here has no meaning, nor has what is computed from it
                self.node(n)?;
            }
        }
        if self.meanings.contains_key(output) {
            self.materialise(output);
        }
        let Some(last) = self.cut(input, output) else {
            return Ok(None);
        };
        Ok(Some(self.finish(channels, last)))
    }

    /// The last value from which alone the output follows.
    fn cut(&self, input: &str, output: &str) -> Option<Value> {
        let makers: HashMap<&str, &NodeProto> = self
            .graph
            .proto
            .node
            .iter()
            .flat_map(|node| node.output.iter().map(move |o| (o.as_str(), node)))
            .collect();
        (1..self.values.len()).rev().find(|&value| {
            let cut = &self.values[value].name;
            let mut seen = HashSet::new();
            let mut open = vec![output];
            while let Some(name) = open.pop() {
                if name == input {
                    return false;
                }
                if name != cut
                    && seen.insert(name)
                    && let Some(maker) = makers.get(name)
                {
                    open.extend(maker.input.iter().map(String::as_str));
                }
            }
            !cut.is_empty()
        })
    }

    /// Without the steps that the value does not need, and each depthwise convolution with the product behind it.
    fn finish(self, channels: usize, output: Value) -> ConvNet {
        let mut needed = HashSet::from([output]);
        let mut uses: HashMap<Value, usize> = HashMap::new();
        let mut steps: Vec<Step> = Vec::new();
        for mut step in self.steps.into_iter().rev() {
            if needed.contains(&step.output) {
                let mut used = step.uses();
                used.sort_unstable();
                used.dedup();
                used.iter()
                    .for_each(|value| *uses.entry(*value).or_default() += 1);
                // from the end, who is met first is the last to use a value
                used.retain(|value| needed.insert(*value));
                step.last = used;
                steps.push(step);
            }
        }
        let mut joined: Vec<Step> = Vec::new();
        for step in steps.into_iter().rev() {
            let feeds = joined.last().is_some_and(|before| {
                matches!(before.kind, Kind::Depthwise(_))
                    && step.input == Some(before.output)
                    && uses.get(&before.output) == Some(&1)
                    && before.output != output
            });
            match step.kind {
                Kind::Conv(conv) if feeds && conv.window.is_point() => {
                    if let Some(Step {
                        kind: Kind::Depthwise(depthwise),
                        input,
                        last,
                        ..
                    }) = joined.pop()
                    {
                        joined.push(Step {
                            kind: Kind::Separable(depthwise, conv),
                            input,
                            output: step.output,
                            last,
                        });
                    }
                }
                kind => joined.push(Step { kind, ..step }),
            }
        }
        let output_name = self.values[output].name.clone();
        ConvNet {
            steps: joined,
            values: self.values.len(),
            channels,
            output,
            output_name,
        }
    }

    /// A step of this kind, and what is known of the value that it gives.
    pub(super) fn push(
        &mut self,
        kind: Kind,
        input: Option<Value>,
        channels: usize,
        single: bool,
        name: &str,
    ) -> Value {
        let output = self.values.len();
        let stride = match kind {
            Kind::Enlarge(_) if channels == 1 => 1,
            Kind::Sigmoid | Kind::Mean | Kind::Pool { .. } => {
                input.map_or(channels, |input| self.values[input].stride)
            }
            _ => channels.next_multiple_of(BLOCK),
        };
        self.values.push(About {
            name: name.to_owned(),
            channels,
            stride,
            single,
        });
        self.steps.push(Step {
            kind,
            input,
            output,
            last: Vec::new(),
        });
        self.meanings.insert(name.to_owned(), Meaning::Map(output));
        output
    }

    /// The map of that name, computed now if it was not yet; none if it has no meaning here.
    pub(super) fn materialise(&mut self, name: &str) -> Option<Value> {
        match self.meanings.get(name)?.clone() {
            Meaning::Map(value) => Some(value),
            Meaning::Sum(parts) => {
                let channels = parts
                    .iter()
                    .map(|part| self.values[part[0].map].channels)
                    .sum();
                Some(self.push(Kind::Sum(parts), None, channels, false, name))
            }
        }
    }

    /// As a sum; of a concatenation, none.
    fn terms(&self, name: &str) -> Option<Vec<Term>> {
        match self.meanings.get(name)? {
            Meaning::Map(map) => Some(vec![Term {
                map: *map,
                scale: None,
                plus: 1.0,
                enlarged: 1,
            }]),
            Meaning::Sum(parts) => (parts.len() == 1).then(|| parts[0].clone()),
        }
    }

    /// Nothing, if the node is of no kind that is known here.
    fn node(&mut self, n: usize) -> Result<()> {
        let node = &self.graph.proto.node[n];
        let input = |n: usize| node.input.get(n).map(String::as_str);
        let (Some(first), Some(output)) = (input(0), node.output.first()) else {
            return Ok(());
        };
        match node.op_type.as_deref().unwrap_or_default() {
            "Conv" => self.conv(node)?,
            "ConvTranspose" => self.enlarge(node)?,
            "GlobalAveragePool" => {
                if let Some(map) = self.materialise(first) {
                    self.push(
                        Kind::Mean,
                        Some(map),
                        self.values[map].channels,
                        true,
                        output,
                    );
                }
            }
            "AveragePool" => {
                let (Some(kernel), Some(strides)) = (
                    attribute_ints(node, "kernel_shape"),
                    attribute_ints(node, "strides"),
                ) else {
                    return Ok(());
                };
                let plain = kernel == strides
                    && attribute_ints(node, "pads").is_none_or(|pads| pads.iter().all(|&p| p == 0))
                    && attribute_int(node, "ceil_mode").unwrap_or(0) == 0;
                if let (true, &[rows, columns]) = (plain, kernel.as_slice())
                    && (1..=LARGEST).contains(&rows)
                    && (1..=LARGEST).contains(&columns)
                    && let Some(map) = self.materialise(first)
                {
                    self.push(
                        Kind::Pool {
                            kernel: (rows, columns),
                        },
                        Some(map),
                        self.values[map].channels,
                        false,
                        output,
                    );
                }
            }
            "Sigmoid" => {
                if let Some(map) = self.materialise(first) {
                    let About {
                        channels, single, ..
                    } = self.values[map];
                    self.push(Kind::Sigmoid, Some(map), channels, single, output);
                }
            }
            "Mul" => {
                let Some(second) = input(1) else {
                    return Ok(());
                };
                for (map, scale) in [(first, second), (second, first)] {
                    let Some(Meaning::Map(scale)) = self.meanings.get(scale).cloned() else {
                        continue;
                    };
                    if !self.values[scale].single {
                        continue;
                    }
                    let Some(mut terms) = self.terms(map) else {
                        continue;
                    };
                    if let [term] = terms.as_mut_slice()
                        && self.values[term.map].channels == self.values[scale].channels
                        && self.values[term.map].stride == self.values[scale].stride
                        && term.scale.is_none()
                        && term.plus == 1.0
                    {
                        (term.scale, term.plus) = (Some(scale), 0.0);
                        self.meanings
                            .insert(output.clone(), Meaning::Sum(vec![terms]));
                        return Ok(());
                    }
                }
            }
            "Add" => {
                let Some(second) = input(1) else {
                    return Ok(());
                };
                let (Some(mut terms), Some(others)) = (self.terms(first), self.terms(second))
                else {
                    return Ok(());
                };
                for other in others {
                    let same = terms.iter_mut().find(|term| {
                        (term.map, term.enlarged) == (other.map, other.enlarged)
                            && (term.scale.is_none() || other.scale.is_none())
                    });
                    match same {
                        Some(term) => {
                            term.plus += other.plus;
                            term.scale = term.scale.or(other.scale);
                        }
                        None => terms.push(other),
                    }
                }
                self.meanings
                    .insert(output.clone(), Meaning::Sum(vec![terms]));
            }
            "Resize" => {
                let nearest = attribute_text(node, "mode").unwrap_or("nearest") == "nearest"
                    && attribute_text(node, "coordinate_transformation_mode") == Some("asymmetric")
                    && attribute_text(node, "nearest_mode") == Some("floor");
                let factor = input(2).and_then(|scales| {
                    match self.graph.constants.get(scales)?.data.as_slice() {
                        &[1.0, 1.0, down, across]
                            if down == across
                                && down.fract() == 0.0
                                && (1.0..=LARGEST as f32).contains(&down) =>
                        {
                            Some(down as usize)
                        }
                        _ => None,
                    }
                });
                let (true, Some(factor)) = (nearest, factor) else {
                    return Ok(());
                };
                // a sum is small before it is enlarged
                if self.terms(first).is_none_or(|terms| terms.len() > 1) {
                    self.materialise(first);
                }
                if let Some(mut terms) = self.terms(first) {
                    terms.iter_mut().for_each(|term| term.enlarged *= factor);
                    self.meanings
                        .insert(output.clone(), Meaning::Sum(vec![terms]));
                }
            }
            "Concat" if attribute_int(node, "axis") == Some(1) => {
                if let Some(parts) = node.input.iter().map(|name| self.terms(name)).collect() {
                    self.meanings.insert(output.clone(), Meaning::Sum(parts));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
