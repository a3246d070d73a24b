//! Translates an ONNX graph into steps, from its input on, as far as the operators are known.

use std::collections::{HashMap, HashSet};
use std::iter::successors;

use rten_onnx::onnx::NodeProto;

use super::NumericMode;
use super::buffers::ValueId;
use super::depthwise::Separable;
use super::graph::{Graph, attribute_int, attribute_ints, attribute_text};
use super::kernel::{CHANNEL_BLOCK, ConvActivation};
use super::steps::{ConvInput, ConvNet, ConvStep, Operator};
use super::sums::Term;
use super::upscale::Upscale;
use crate::error::{Error, Result, bail};
use crate::limits::{MAX_CHANNELS, MAX_EXTENT};

/// What a tensor name of the graph stands for.
#[derive(Clone)]
enum Binding {
    Map(ValueId),
    /// A concatenation of sums, not computed yet: later operators may still become part of it.
    Sum(Vec<Vec<Term>>),
}

/// The properties of a value that are known before the network runs.
#[derive(Clone, Copy)]
pub(super) struct ValueInfo {
    pub channels: usize,
    /// Numbers from a pixel to the next one.
    pub stride: usize,
    /// Whether its height and width are 1 for images of any size.
    pub one_pixel: bool,
}

pub(super) struct Compiler<'a> {
    pub(super) graph: &'a Graph<'a>,
    pub(super) mode: NumericMode,
    /// What each tensor name stands for. A tensor that cannot be computed here has no binding.
    bindings: HashMap<String, Binding>,
    /// The nodes that were folded into the step of an earlier one.
    pub(super) folded: HashSet<usize>,
    inputs: Vec<ConvInput>,
    steps: Vec<ConvStep>,
    pub(super) values: Vec<ValueInfo>,
}

impl<'a> Compiler<'a> {
    pub(super) fn new(graph: &'a Graph<'a>, mode: NumericMode) -> Self {
        Compiler {
            graph,
            mode,
            bindings: HashMap::new(),
            folded: HashSet::new(),
            inputs: Vec::new(),
            steps: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Compiles, from the graph's input on, every operator that is known here.
    ///
    /// # Errors
    /// The graph contradicts itself, or does not begin with a convolution.
    pub(super) fn from_image(graph: &'a Graph<'a>, mode: NumericMode) -> Result<Self> {
        let inputs = graph.proto.input.iter();
        let inputs: Vec<&str> = inputs
            .filter_map(|input| input.name.as_deref())
            .filter(|name| !graph.constants.contains_key(name))
            .collect();
        let (&[input], [_]) = (inputs.as_slice(), graph.proto.output.as_slice()) else {
            bail!(
                Unsupported,
                "the network has {} inputs and {} outputs",
                inputs.len(),
                graph.proto.output.len()
            );
        };
        let channels = graph.channels_of(input).ok_or_else(|| {
            let what = "the first operator is not a convolution with constant weights";
            Error::Unsupported(what.to_owned())
        })?;
        let mut compiler = Compiler::new(graph, mode);
        compiler.take(input, channels, channels);
        compiler.nodes(0..graph.proto.node.len())?;
        Ok(compiler)
    }

    /// Adds an input of the network. All inputs have to be added before the first step.
    pub(super) fn take(&mut self, name: &str, channels: usize, stride: usize) {
        let value = self.values.len();
        self.inputs.push(ConvInput { channels, stride });
        self.values.push(ValueInfo {
            channels,
            stride,
            one_pixel: false,
        });
        self.bindings.insert(name.to_owned(), Binding::Map(value));
    }

    /// Compiles these nodes, in this order.
    ///
    /// # Errors
    /// They contradict each other.
    pub(super) fn nodes(&mut self, nodes: impl IntoIterator<Item = usize>) -> Result<()> {
        for n in nodes {
            if !self.folded.contains(&n) {
                self.node(n)?;
            }
        }
        Ok(())
    }

    /// Whether the tensor can be computed here.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.bindings.contains_key(name)
    }

    /// The network that computes these values. Drops the steps that they do not depend on, joins each depthwise convolution with the pointwise one
    /// after it, moves each step directly before its only reader, and finds the last reader of each value.
    pub(super) fn finish(self, outputs: Vec<ValueId>) -> ConvNet {
        let mut needed: HashSet<ValueId> = outputs.iter().copied().collect();
        // how many steps read a value; the caller reads the outputs
        let mut readers: HashMap<ValueId, usize> = HashMap::new();
        outputs.iter().for_each(|output| {
            readers.insert(*output, 1);
        });
        let mut steps: Vec<ConvStep> = Vec::new();
        for step in self.steps.into_iter().rev() {
            if needed.contains(&step.output) {
                let reads: HashSet<ValueId> = step.reads().into_iter().collect();
                for value in reads {
                    *readers.entry(value).or_default() += 1;
                    needed.insert(value);
                }
                steps.push(step);
            }
        }
        steps.reverse();
        let feeds = |before: &ConvStep, step: &ConvStep| {
            readers.get(&before.output) == Some(&1)
                && before.is_by_rows()
                && step.streams(before.output)
        };
        let mut steps = brought_together(join(steps, feeds), feeds);
        let mut read_later: HashSet<ValueId> = outputs.iter().copied().collect();
        for step in steps.iter_mut().rev() {
            let mut reads = step.reads();
            reads.sort_unstable();
            reads.retain(|value| read_later.insert(*value));
            step.last_reads = reads;
        }
        ConvNet {
            steps,
            values: self.values.len(),
            inputs: self.inputs,
            outputs,
        }
    }

    /// Adds a step; its output gets the name `name`.
    pub(super) fn push(
        &mut self,
        operator: Operator,
        input: Option<ValueId>,
        channels: usize,
        one_pixel: bool,
        name: &str,
    ) -> ValueId {
        let output = self.push_unnamed(operator, input, channels, one_pixel);
        self.bindings.insert(name.to_owned(), Binding::Map(output));
        output
    }

    fn push_unnamed(
        &mut self,
        operator: Operator,
        input: Option<ValueId>,
        channels: usize,
        one_pixel: bool,
    ) -> ValueId {
        let output = self.values.len();
        let stride = match operator {
            Operator::ConvTranspose(_) if channels == 1 => 1,
            Operator::Sigmoid
            | Operator::Swish { .. }
            | Operator::GlobalMean
            | Operator::AveragePool { .. } => {
                input.map_or(channels, |input| self.values[input].stride)
            }
            _ => channels.next_multiple_of(CHANNEL_BLOCK),
        };
        self.values.push(ValueInfo {
            channels,
            stride,
            one_pixel,
        });
        self.steps.push(ConvStep {
            operator,
            input,
            output,
            last_reads: Vec::new(),
            feeds_next: false,
        });
        output
    }

    /// Adds a step whose output is as large as the map that it reads.
    fn push_like(&mut self, map: ValueId, operator: Operator, name: &str) {
        let info = self.values[map];
        self.push(operator, Some(map), info.channels, info.one_pixel, name);
    }

    fn bind_sum(&mut self, name: &str, parts: Vec<Vec<Term>>) {
        self.bindings.insert(name.to_owned(), Binding::Sum(parts));
    }

    /// The value of that name; adds a step for a sum that is not computed yet. None if the tensor cannot be computed here.
    pub(super) fn materialise(&mut self, name: &str) -> Option<ValueId> {
        match self.bindings.get(name)?.clone() {
            Binding::Map(value) => Some(value),
            Binding::Sum(parts) => {
                let mut channels = parts.iter().map(|part| self.values[part[0].map].channels);
                let channels = channels.try_fold(0usize, |sum, part| sum.checked_add(part))?;
                if channels > MAX_CHANNELS {
                    return None;
                }
                Some(self.push(Operator::Sum(parts), None, channels, false, name))
            }
        }
    }

    /// The tensor as a sum of terms. None if it is a concatenation, or cannot be computed here.
    fn terms(&self, name: &str) -> Option<Vec<Term>> {
        match self.bindings.get(name)? {
            Binding::Map(map) => Some(vec![Term {
                map: *map,
                gate: None,
                constant: 1.0,
                upsampling: 1,
            }]),
            Binding::Sum(parts) => (parts.len() == 1).then(|| parts[0].clone()),
        }
    }

    /// Compiles a node. Does nothing for an operator that is not known here: its output stays unbound, and so does everything that is computed from
    /// it.
    fn node(&mut self, n: usize) -> Result<()> {
        let node = &self.graph.proto.node[n];
        let input = |n: usize| node.input.get(n).map(String::as_str);
        let (Some(first), Some(output)) = (input(0), node.output.first()) else {
            return Ok(());
        };
        if let Some(swish) = self.graph.swish(n)
            && let Some(map) = self.materialise(swish.input)
        {
            self.folded.extend(swish.nodes);
            let operator = Operator::Swish { beta: swish.beta };
            self.push_like(map, operator, swish.output);
            return Ok(());
        }
        match node.op_type.as_deref().unwrap_or_default() {
            "Conv" => self.conv(node)?,
            "ConvTranspose" => self.conv_transpose(node)?,
            "GlobalAveragePool" => {
                // sums are computed in whole vectors
                if let Some(map) = self.materialise(first)
                    && self.values[map].stride.is_multiple_of(CHANNEL_BLOCK)
                {
                    self.global_mean(map, output);
                }
            }
            "AveragePool" => self.average_pool(node, first, output),
            "Sigmoid" => {
                if let Some(map) = self.materialise(first) {
                    self.push_like(map, Operator::Sigmoid, output);
                }
            }
            "Mul" => {
                if let Some(second) = input(1) {
                    self.gate(first, second, output);
                }
            }
            "Add" => {
                if let Some(second) = input(1) {
                    self.add(first, second, output);
                }
            }
            "Resize" => {
                if let Some(scales) = input(2) {
                    self.upsample(node, first, scales, output);
                }
            }
            "Concat" if attribute_int(node, "axis") == Some(1) => {
                if let Some(parts) = node.input.iter().map(|name| self.terms(name)).collect() {
                    self.bind_sum(output, parts);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Mean over all pixels. If a pointwise convolution without an activation has computed the map from fewer channels, the same convolution of their mean gives the
    /// same result, and fewer numbers are read.
    fn global_mean(&mut self, map: ValueId, output: &str) {
        // each value but the inputs is that of a step
        let producer = map.checked_sub(self.inputs.len());
        let producer = producer.and_then(|n| self.steps.get(n));
        let channels = self.values[map].channels;
        if let Some(step) = producer
            && let (Operator::Conv(conv), Some(input)) = (&step.operator, step.input)
            && conv.window.is_pointwise()
            && conv.activation == ConvActivation::None
            && self.values[input].stride < self.values[map].stride
            && self.values[input].stride.is_multiple_of(CHANNEL_BLOCK)
        {
            let conv = conv.clone();
            let before = self.values[input].channels;
            let mean = self.push_unnamed(Operator::GlobalMean, Some(input), before, true);
            self.push(Operator::Conv(conv), Some(mean), channels, true, output);
        } else {
            self.push(Operator::GlobalMean, Some(map), channels, true, output);
        }
    }

    /// Mean over windows that neither overlap nor are padded.
    fn average_pool(&mut self, node: &NodeProto, input: &str, output: &str) {
        let ints = |name| attribute_ints(node, name);
        let Some(kernel) = ints("kernel_shape") else {
            return;
        };
        let plain = ints("strides").as_ref() == Some(&kernel)
            && ints("pads").is_none_or(|pads| pads.iter().all(|&p| p == 0))
            && attribute_int(node, "ceil_mode").unwrap_or(0) == 0;
        if let (true, &[rows, columns]) = (plain, kernel.as_slice())
            && (1..=MAX_EXTENT).contains(&rows)
            && (1..=MAX_EXTENT).contains(&columns)
            && let Some(map) = self.materialise(input)
        {
            let kernel = (rows, columns);
            let channels = self.values[map].channels;
            let operator = Operator::AveragePool { kernel };
            self.push(operator, Some(map), channels, false, output);
        }
    }

    /// The product of a map and a map of one pixel, in either order (squeeze and excitation): a term with a gate.
    fn gate(&mut self, first: &str, second: &str, output: &str) {
        for (map, gate) in [(first, second), (second, first)] {
            let Some(&Binding::Map(gate)) = self.bindings.get(gate) else {
                continue;
            };
            if !self.values[gate].one_pixel {
                continue;
            }
            let Some(mut terms) = self.terms(map) else {
                continue;
            };
            if let [term] = terms.as_mut_slice()
                && self.values[term.map].channels == self.values[gate].channels
                && self.values[term.map].stride == self.values[gate].stride
                && term.gate.is_none()
                && term.constant == 1.0
            {
                (term.gate, term.constant) = (Some(gate), 0.0);
                self.bind_sum(output, vec![terms]);
                return;
            }
        }
    }

    /// The sum of two tensors: terms of the same map become one.
    fn add(&mut self, first: &str, second: &str, output: &str) {
        let (Some(mut terms), Some(others)) = (self.terms(first), self.terms(second)) else {
            return;
        };
        for other in others {
            let same = terms.iter_mut().find(|term| {
                (term.map, term.upsampling) == (other.map, other.upsampling)
                    && (term.gate.is_none() || other.gate.is_none())
            });
            match same {
                Some(term) => {
                    term.constant += other.constant;
                    term.gate = term.gate.or(other.gate);
                }
                None => terms.push(other),
            }
        }
        self.bind_sum(output, vec![terms]);
    }

    /// Upsampling by a whole factor, by nearest neighbour: each term of the input is upsampled when it is added.
    fn upsample(&mut self, node: &NodeProto, input: &str, scales: &str, output: &str) {
        let nearest = attribute_text(node, "mode").unwrap_or("nearest") == "nearest"
            && attribute_text(node, "coordinate_transformation_mode") == Some("asymmetric")
            && attribute_text(node, "nearest_mode") == Some("floor");
        let scales = self.graph.constants.get(scales);
        let factor = match scales.map(|scales| scales.data.as_slice()) {
            Some(&[1.0, 1.0, down, across])
                if down == across
                    && down.fract() == 0.0
                    && (1.0..=MAX_EXTENT as f32).contains(&down) =>
            {
                down as usize
            }
            _ => return,
        };
        if !nearest {
            return;
        }
        // a sum of several maps is computed before it is upsampled, where it has fewer pixels
        if self.terms(input).is_none_or(|terms| terms.len() > 1) {
            self.materialise(input);
        }
        if let Some(mut terms) = self.terms(input) {
            for term in &mut terms {
                // both are at most MAX_EXTENT
                term.upsampling *= factor;
                if term.upsampling > MAX_EXTENT {
                    return;
                }
            }
            self.bind_sum(output, vec![terms]);
        }
    }
}

/// Joins each depthwise convolution with the pointwise one after it, and two transposed convolutions.
fn join(steps: Vec<ConvStep>, feeds: impl Fn(&ConvStep, &ConvStep) -> bool) -> Vec<ConvStep> {
    let mut joined: Vec<ConvStep> = Vec::new();
    for step in steps {
        let Some(before) = joined.pop_if(|before| feeds(before, &step)) else {
            joined.push(step);
            continue;
        };
        let both = match (before.operator, step.operator) {
            (Operator::Depthwise(depthwise), Operator::Conv(pointwise))
                if pointwise.window.is_pointwise() =>
            {
                Ok(Operator::Separable(Separable {
                    depthwise,
                    pointwise,
                }))
            }
            (Operator::ConvTranspose(first), Operator::ConvTranspose(last)) => {
                let both = Upscale::new(&first, &last).map(Operator::Upscale);
                both.ok_or((
                    Operator::ConvTranspose(first),
                    Operator::ConvTranspose(last),
                ))
            }
            apart => Err(apart),
        };
        match both {
            Ok(operator) => joined.push(ConvStep {
                operator,
                output: step.output,
                ..before
            }),
            Err((operator, last)) => {
                joined.push(ConvStep { operator, ..before });
                joined.push(ConvStep {
                    operator: last,
                    ..step
                });
            }
        }
    }
    joined
}

/// Reorders the steps, so that one that feeds a later step stands directly before it.
fn brought_together(
    steps: Vec<ConvStep>,
    feeds: impl Fn(&ConvStep, &ConvStep) -> bool,
) -> Vec<ConvStep> {
    let mut computed: HashMap<ValueId, usize> = HashMap::new();
    // for each step, the number of the last one that feeds it
    let mut feeders: Vec<Option<usize>> = Vec::new();
    let mut is_feeder = vec![false; steps.len()];
    for (n, step) in steps.iter().enumerate() {
        let befores = step.reads().into_iter();
        let befores = befores.filter_map(|value| computed.get(&value).copied());
        let feeder = befores.filter(|before| feeds(&steps[*before], step)).max();
        feeder.iter().for_each(|before| is_feeder[*before] = true);
        feeders.push(feeder);
        computed.insert(step.output, n);
    }
    let mut left: Vec<Option<ConvStep>> = steps.into_iter().map(Some).collect();
    let mut ordered = Vec::new();
    for n in (0..left.len()).filter(|n| !is_feeder[*n]) {
        // from the last to the first
        let chain: Vec<usize> = successors(Some(n), |n| feeders[*n]).collect();
        for step in chain.into_iter().rev() {
            let feeds_next = is_feeder[step];
            ordered.extend(
                left[step]
                    .take()
                    .map(|step| ConvStep { feeds_next, ..step }),
            );
        }
    }
    ordered
}
