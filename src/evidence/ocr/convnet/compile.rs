//! From an ONNX graph to steps.

use std::collections::{HashMap, HashSet};

use anyhow::{Context, Result, bail, ensure};
use rten_onnx::onnx::{GraphProto, ModelProto, NodeProto, TensorProto};

use super::kernel::{Activation, BLOCK, Packed};
use super::steps::{
    Classes, Conv, ConvNet, DepthwiseConv, Enlarge, Kind, Step, Term, Value, Weights, Window,
};

/// The network of an ONNX file from its input as far as it can be computed here: up to its output, or to a map from
/// which alone the rest follows. None if that is nothing.
///
/// # Errors
/// A file that is no ONNX model, or whose graph contradicts itself.
pub fn compile(onnx: &[u8]) -> Result<Option<ConvNet>> {
    let model = ModelProto::parse_buf(onnx).context("reading the graph")?;
    let graph = model.graph.context("a model without a graph")?;
    let compiler = Compiler::new(&graph)?;
    compiler.compile()
}

/// The last product of a network of labels, if it ends in one: softmax(x · weights + bias).
///
/// # Errors
/// As [`compile`].
pub fn classes(onnx: &[u8]) -> Result<Option<Classes>> {
    let model = ModelProto::parse_buf(onnx).context("reading the graph")?;
    let graph = model.graph.context("a model without a graph")?;
    Ok(Compiler::new(&graph)?.classes())
}

/// A convolution's weights' dimensions, the weights, and the bias.
type ConvWeights = ([usize; 4], Vec<f32>, Option<Vec<f32>>);

/// A constant of the graph.
struct Constant {
    dims: Vec<usize>,
    data: Vec<f32>,
}

/// What a name of the graph stands for.
#[derive(Clone)]
enum Meaning {
    Map(Value),
    /// Not computed before somebody needs it: parts of a concatenation, each a sum.
    Sum(Vec<Vec<Term>>),
}

/// What is known of a value before the network runs.
struct About {
    name: String,
    channels: usize,
    /// Numbers from one place to the next.
    stride: usize,
    /// It has one place alone.
    single: bool,
}

struct Compiler<'a> {
    graph: &'a GraphProto,
    constants: HashMap<&'a str, Constant>,
    /// The nodes that read each name.
    readers: HashMap<&'a str, Vec<usize>>,
    meanings: HashMap<String, Meaning>,
    /// Nodes that became part of an earlier one's step.
    absorbed: HashSet<usize>,
    steps: Vec<Step>,
    values: Vec<About>,
}

fn attribute_ints(node: &NodeProto, name: &str) -> Option<Vec<usize>> {
    let found = node
        .attribute
        .iter()
        .find(|a| a.name.as_deref() == Some(name))?;
    found
        .ints
        .iter()
        .map(|&n| usize::try_from(n).ok())
        .collect()
}

fn attribute_int(node: &NodeProto, name: &str) -> Option<i64> {
    node.attribute
        .iter()
        .find(|a| a.name.as_deref() == Some(name))?
        .i
}

fn attribute_float(node: &NodeProto, name: &str) -> Option<f32> {
    node.attribute
        .iter()
        .find(|a| a.name.as_deref() == Some(name))?
        .f
}

fn attribute_text<'a>(node: &'a NodeProto, name: &str) -> Option<&'a str> {
    node.attribute
        .iter()
        .find(|a| a.name.as_deref() == Some(name))?
        .s
        .as_deref()
}

fn constant(tensor: &TensorProto) -> Option<Constant> {
    let dims: Vec<usize> = tensor
        .dims
        .iter()
        .map(|&d| usize::try_from(d).ok())
        .collect::<Option<_>>()?;
    let count = dims
        .iter()
        .try_fold(1usize, |product, &d| product.checked_mul(d))?;
    let data: Vec<f32> = match &tensor.raw_data {
        Some(raw) => raw
            .borrow()
            .as_chunks::<4>()
            .0
            .iter()
            .map(|b| f32::from_le_bytes(*b))
            .collect(),
        None => tensor.float_data.clone(),
    };
    // numbers of other types are nobody's weights; who looks for them finds nothing
    (data.len() == count && tensor.data_type.is_some_and(|t| t.0 == 1))
        .then_some(Constant { dims, data })
}

impl<'a> Compiler<'a> {
    fn new(graph: &'a GraphProto) -> Result<Self> {
        let mut constants = HashMap::new();
        for tensor in &graph.initializer {
            if let (Some(name), Some(constant)) = (&tensor.name, constant(tensor)) {
                constants.insert(name.as_str(), constant);
            }
        }
        let mut readers: HashMap<&str, Vec<usize>> = HashMap::new();
        for (n, node) in graph.node.iter().enumerate() {
            if node.op_type.as_deref() == Some("Constant")
                && let Some(output) = node.output.first()
                && let Some(constant) = node.attribute.iter().find_map(|a| constant(a.t.as_ref()?))
            {
                constants.insert(output.as_str(), constant);
            }
            for input in &node.input {
                readers.entry(input.as_str()).or_default().push(n);
            }
        }
        for output in &graph.output {
            // read from outside: no node's to absorb
            readers
                .entry(output.name.as_deref().unwrap_or_default())
                .or_default()
                .push(usize::MAX);
        }
        Ok(Compiler {
            graph,
            constants,
            readers,
            meanings: HashMap::new(),
            absorbed: HashSet::new(),
            steps: Vec::new(),
            values: Vec::new(),
        })
    }

    fn compile(mut self) -> Result<Option<ConvNet>> {
        let inputs: Vec<_> = self
            .graph
            .input
            .iter()
            .filter_map(|input| input.name.as_deref())
            .filter(|name| !self.constants.contains_key(name))
            .collect();
        let (&[input], [output]) = (inputs.as_slice(), self.graph.output.as_slice()) else {
            bail!(
                "{} inputs and {} outputs",
                inputs.len(),
                self.graph.output.len()
            );
        };
        let output = output.name.as_deref().context("an output without a name")?;
        // what the first convolution takes
        let channels = self
            .readers
            .get(input)
            .and_then(|readers| self.graph.node.get(*readers.first()?))
            .filter(|node| node.op_type.as_deref() == Some("Conv"))
            .and_then(|node| self.constants.get(node.input.get(1)?.as_str()))
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
        for n in 0..self.graph.node.len() {
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

    fn classes(&self) -> Option<Classes> {
        let maker = |name: &str, kind: &str| {
            self.graph.node.iter().find(|node| {
                node.op_type.as_deref() == Some(kind) && node.output.iter().any(|o| o == name)
            })
        };
        let [output] = self.graph.output.as_slice() else {
            return None;
        };
        let softmax = maker(output.name.as_deref()?, "Softmax")?;
        let sum = maker(softmax.input.first()?, "Add")?;
        let product = sum.input.iter().find_map(|name| maker(name, "MatMul"))?;
        let bias = sum
            .input
            .iter()
            .find_map(|name| self.constants.get(name.as_str()))?;
        let (input, weights) = match product.input.as_slice() {
            [input, weights] => (input, self.constants.get(weights.as_str())?),
            _ => return None,
        };
        let (&[rows, labels], &[biases]) = (weights.dims.as_slice(), bias.dims.as_slice()) else {
            return None;
        };
        // (batch, step, label): the last axis is the labels'
        let last = matches!(attribute_int(softmax, "axis"), Some(2 | -1));
        if !last || biases != labels || rows == 0 || labels == 0 {
            return None;
        }
        // a transposition before it is often one with the product in other runtimes, and then no map of theirs
        let turned = maker(input, "Transpose")
            .filter(|node| attribute_ints(node, "perm").as_deref() == Some(&[0, 2, 1]))
            .and_then(|node| node.input.first());
        let columns = labels.next_multiple_of(BLOCK);
        let mut padded = vec![0.0; rows * columns];
        for (to, from) in padded.chunks_mut(columns).zip(weights.data.chunks(labels)) {
            to[..labels].copy_from_slice(from);
        }
        let mut biases = bias.data.clone();
        biases.resize(columns, 0.0);
        Some(Classes {
            input_name: turned.unwrap_or(input).clone(),
            turned: turned.is_some(),
            rows,
            labels,
            weights: Weights::new(&padded, biases, true),
        })
    }

    /// Without the steps that the value does not need, and each depthwise convolution with the product behind it.
    fn finish(self, channels: usize, output: Value) -> ConvNet {
        let mut needed = HashSet::from([output]);
        let mut steps: Vec<Step> = Vec::new();
        for step in self.steps.into_iter().rev() {
            if needed.contains(&step.output) {
                needed.extend(step.uses());
                steps.push(step);
            }
        }
        steps.reverse();
        let mut joined: Vec<Step> = Vec::new();
        for n in 0..steps.len() {
            let uses = |value: Value| {
                steps
                    .iter()
                    .filter(|step| step.uses().contains(&value))
                    .count()
            };
            let alone = |value: Value| value != output && uses(value) == 1;
            let feeds = match (joined.last(), steps.get(n)) {
                (Some(before), Some(step)) => {
                    matches!((&before.kind, &step.kind), (Kind::Depthwise(_), Kind::Conv(conv)) if conv.window.is_point())
                        && step.input == Some(before.output)
                        && alone(before.output)
                }
                _ => false,
            };
            let step = std::mem::replace(
                &mut steps[n],
                Step {
                    kind: Kind::Mean,
                    input: None,
                    output: usize::MAX,
                },
            );
            match (feeds, step.kind) {
                (true, Kind::Conv(conv)) => {
                    if let Some(Step {
                        kind: Kind::Depthwise(depthwise),
                        input,
                        ..
                    }) = joined.pop()
                    {
                        joined.push(Step {
                            kind: Kind::Separable(depthwise, conv),
                            input,
                            output: step.output,
                        });
                    }
                }
                (_, kind) => joined.push(Step { kind, ..step }),
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

    fn push(
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
        });
        self.meanings.insert(name.to_owned(), Meaning::Map(output));
        output
    }

    /// The map of that name, computed now if it was not yet; none if it has no meaning here.
    fn materialise(&mut self, name: &str) -> Option<Value> {
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
        let graph = self.graph;
        let node = &graph.node[n];
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
                    && rows > 0
                    && columns > 0
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
                let factor =
                    input(2).and_then(|scales| match self.constants.get(scales)?.data.as_slice() {
                        &[1.0, 1.0, down, across]
                            if down == across && down >= 1.0 && down.fract() == 0.0 =>
                        {
                            Some(down as usize)
                        }
                        _ => None,
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

    /// (out, in, rows, columns), and the bias.
    fn weights(&self, node: &NodeProto) -> Option<ConvWeights> {
        let weights = self.constants.get(node.input.get(1)?.as_str())?;
        let dims: [usize; 4] = weights.dims.as_slice().try_into().ok()?;
        let bias = match node.input.get(2).filter(|name| !name.is_empty()) {
            Some(name) => Some(self.constants.get(name.as_str())?.data.clone()),
            None => None,
        };
        Some((dims, weights.data.clone(), bias))
    }

    fn window(node: &NodeProto, kernel: (usize, usize)) -> Option<Window> {
        let plain = attribute_ints(node, "dilations").is_none_or(|d| d.iter().all(|&d| d == 1))
            && attribute_text(node, "auto_pad").is_none_or(|pad| pad == "NOTSET");
        let strides = attribute_ints(node, "strides").unwrap_or(vec![1, 1]);
        let pads = attribute_ints(node, "pads").unwrap_or(vec![0; 4]);
        let (&[down, across], Ok(pads)) = (strides.as_slice(), <[usize; 4]>::try_from(pads)) else {
            return None;
        };
        (plain && down > 0 && across > 0).then_some(Window {
            kernel,
            stride: (down, across),
            pads,
        })
    }

    fn conv(&mut self, node: &NodeProto) -> Result<()> {
        let Some(input) = node.input.first() else {
            return Ok(());
        };
        let Some((dims, mut weights, bias)) = self.weights(node) else {
            return Ok(());
        };
        let [gives, takes, rows, columns] = dims;
        let Some(window) = Self::window(node, (rows, columns)) else {
            return Ok(());
        };
        let groups = attribute_int(node, "group").unwrap_or(1) as usize;
        let depthwise = groups == gives && takes == 1 && groups > 1;
        if !depthwise && groups != 1 || rows * columns == 0 {
            return Ok(());
        }
        let Some(map) = self.materialise(input) else {
            return Ok(());
        };
        let About {
            channels, single, ..
        } = self.values[map];
        ensure!(
            channels == takes * groups,
            "a convolution of {} channels reads a map of {channels}",
            takes * groups
        );
        let mut bias = bias.unwrap_or(vec![0.0; gives]);
        ensure!(
            bias.len() == gives,
            "a convolution to {gives} channels has {} biases",
            bias.len()
        );
        let width = takes * rows * columns;
        let (activation, name) = self.follow(
            node,
            |channel, scale, shift| {
                weights[channel * width..(channel + 1) * width]
                    .iter_mut()
                    .for_each(|w| *w *= scale);
                bias[channel] = bias[channel] * scale + shift;
            },
            gives,
        );
        let padded = gives.next_multiple_of(BLOCK);
        bias.resize(padded, 0.0);
        let kind = if depthwise {
            let mut turned = vec![0.0; rows * columns * padded];
            for (channel, kernel) in weights.chunks(width).enumerate() {
                for (n, w) in kernel.iter().enumerate() {
                    turned[n * padded + channel] = *w;
                }
            }
            Kind::Depthwise(DepthwiseConv {
                window,
                channels,
                weights: turned,
                bias,
                activation,
            })
        } else {
            let stride = if window.is_point() {
                channels
            } else {
                self.values[map].stride
            };
            let mut turned = vec![0.0; rows * columns * stride * padded];
            for (out, kernels) in weights.chunks(width).enumerate() {
                for (channel, kernel) in kernels.chunks(rows * columns).enumerate() {
                    for (n, w) in kernel.iter().enumerate() {
                        turned[(n * stride + channel) * padded + out] = *w;
                    }
                }
            }
            // windows of several places have one scale, which padding must not spoil
            let may_be_bytes =
                window.is_point() || channels == self.values[map].stride && channels % BLOCK == 0;
            let weights = Weights::new(&turned, bias, may_be_bytes);
            Kind::Conv(Conv {
                window,
                channels,
                weights,
                activation,
                gives,
            })
        };
        let single = single && window_is_point(&kind);
        self.push(kind, Some(map), gives, single, &name);
        Ok(())
    }

    fn enlarge(&mut self, node: &NodeProto) -> Result<()> {
        let Some(input) = node.input.first() else {
            return Ok(());
        };
        let Some((dims, mut weights, bias)) = self.weights(node) else {
            return Ok(());
        };
        let [takes, gives, rows, columns] = dims;
        let Some(window) = Self::window(node, (rows, columns)) else {
            return Ok(());
        };
        let plain = (rows, columns) == (2, 2)
            && window.stride == (2, 2)
            && window.pads == [0; 4]
            && attribute_int(node, "group").unwrap_or(1) == 1
            && attribute_ints(node, "output_padding").is_none_or(|p| p.iter().all(|&p| p == 0));
        if !plain {
            return Ok(());
        }
        let Some(map) = self.materialise(input) else {
            return Ok(());
        };
        ensure!(
            self.values[map].channels == takes,
            "a convolution of {takes} channels reads a map of {}",
            self.values[map].channels
        );
        let mut bias = bias.unwrap_or(vec![0.0; gives]);
        ensure!(
            bias.len() == gives,
            "a convolution to {gives} channels has {} biases",
            bias.len()
        );
        let (activation, name) = self.follow(
            node,
            |channel, scale, shift| {
                for kernels in weights.chunks_mut(gives * 4) {
                    kernels[channel * 4..(channel + 1) * 4]
                        .iter_mut()
                        .for_each(|w| *w *= scale);
                }
                bias[channel] = bias[channel] * scale + shift;
            },
            gives,
        );
        let single = gives == 1;
        let stride = if single {
            1
        } else {
            gives.next_multiple_of(BLOCK)
        };
        // places that one product gives: all four, or left and right
        let products: &[&[usize]] = if single {
            &[&[0, 1, 2, 3]]
        } else {
            &[&[0, 1], &[2, 3]]
        };
        let packed = products
            .iter()
            .map(|places| {
                let columns = (places.len() * stride).next_multiple_of(BLOCK);
                let mut turned = vec![0.0; takes * columns];
                let mut biases = vec![0.0; columns];
                for (n, place) in places.iter().enumerate() {
                    for channel in 0..gives {
                        biases[n * stride + channel] = bias[channel];
                        for (row, kernels) in weights.chunks(gives * 4).enumerate() {
                            turned[row * columns + n * stride + channel] =
                                kernels[channel * 4 + place];
                        }
                    }
                }
                Packed::new(&turned, biases)
            })
            .collect();
        let kind = Kind::Enlarge(Enlarge {
            channels: takes,
            gives,
            weights: packed,
            activation,
        });
        self.push(kind, Some(map), gives, false, &name);
        Ok(())
    }

    /// What is done to a convolution's sums before anybody else reads them: scales and shifts of channels go to `affine`
    /// (channel, scale, shift), and then an activation may follow. Returns it and the name of what comes out.
    fn follow(
        &mut self,
        node: &NodeProto,
        mut affine: impl FnMut(usize, f32, f32),
        channels: usize,
    ) -> (Activation, String) {
        let mut name = node.output[0].clone();
        let mut activation = Activation::None;
        while let Some((n, change)) = self.change(&name, channels) {
            match (change, &mut activation) {
                (Change::Affine(changes), Activation::None) => {
                    for (channel, (scale, shift)) in changes.into_iter().enumerate() {
                        affine(channel, scale, shift);
                    }
                }
                (Change::Affine(changes), Activation::HardSwish { scale, shift }) => {
                    let (by, plus) = changes.first().copied().unwrap_or((1.0, 0.0));
                    if changes.iter().any(|&change| change != (by, plus)) {
                        break;
                    }
                    (*scale, *shift) = (*scale * by, *shift * by + plus);
                }
                (Change::Activation(found), Activation::None) => activation = found,
                _ => break,
            }
            let last = n.iter().copied().max().unwrap_or_default();
            self.absorbed.extend(n);
            name.clone_from(&self.graph.node[last].output[0]);
        }
        (activation, name)
    }

    /// What alone reads a name, if it changes each number by itself: its nodes, the last of which gives the result.
    fn change(&self, name: &str, channels: usize) -> Option<(Vec<usize>, Change)> {
        let readers = self.readers.get(name)?;
        if let &[add, gate] = readers.as_slice() {
            return self.hard_swish(name, add, gate);
        }
        let &[n] = readers.as_slice() else {
            return None;
        };
        let node = self.graph.node.get(n)?;
        let change = match node.op_type.as_deref()? {
            "Relu" => Change::Activation(Activation::Relu),
            "HardSigmoid" => Change::Activation(Activation::HardSigmoid {
                scale: attribute_float(node, "alpha").unwrap_or(0.2),
                shift: attribute_float(node, "beta").unwrap_or(0.5),
            }),
            "Mul" => Change::Affine(
                self.other(node, name, channels)?
                    .into_iter()
                    .map(|by| (by, 0.0))
                    .collect(),
            ),
            "Add" => Change::Affine(
                self.other(node, name, channels)?
                    .into_iter()
                    .map(|plus| (1.0, plus))
                    .collect(),
            ),
            "BatchNormalization" => {
                let part = |n: usize| {
                    let data = &self.constants.get(node.input.get(n)?.as_str())?.data;
                    (data.len() == channels).then_some(data)
                };
                let (scale, shift, mean, variance) = (part(1)?, part(2)?, part(3)?, part(4)?);
                let epsilon = attribute_float(node, "epsilon").unwrap_or(1e-5);
                Change::Affine(
                    (0..channels)
                        .map(|c| {
                            let by = scale[c] / (variance[c] + epsilon).sqrt();
                            (by, shift[c] - mean[c] * by)
                        })
                        .collect(),
                )
            }
            _ => return None,
        };
        Some((vec![n], change))
    }

    /// The other, constant, input of a sum or product, for each channel.
    fn other(&self, node: &NodeProto, name: &str, channels: usize) -> Option<Vec<f32>> {
        let other = node.input.iter().find(|input| *input != name)?;
        let constant = self.constants.get(other.as_str())?;
        match constant.dims.as_slice() {
            _ if constant.data.len() == 1 => Some(vec![constant.data[0]; channels]),
            &[1, c, 1, 1] | &[c, 1, 1] if c == channels => Some(constant.data.clone()),
            _ => None,
        }
    }

    /// `x · clip(x + 3, 0, 6) / 6`, as four nodes.
    fn hard_swish(&self, name: &str, add: usize, gate: usize) -> Option<(Vec<usize>, Change)> {
        let graph = self.graph;
        let of = |n: usize, kind: &str| {
            graph
                .node
                .get(n)
                .filter(|node| node.op_type.as_deref() == Some(kind))
        };
        let only = |name: &str| match self.readers.get(name)?.as_slice() {
            &[n] => Some(n),
            _ => None,
        };
        let scalar = |name: &str| match self.constants.get(name)?.data.as_slice() {
            &[x] => Some(x),
            _ => None,
        };
        let first = of(add, "Add")?;
        let three = first.input.iter().find(|input| *input != name)?;
        let clip = only(first.output.first()?)?;
        let clipped = of(clip, "Clip")?;
        let limits = (
            scalar(clipped.input.get(1)?)?,
            scalar(clipped.input.get(2)?)?,
        );
        let product = of(gate, "Mul")?;
        let same = only(clipped.output.first()?)? == gate;
        let div = only(product.output.first()?)?;
        let six = scalar(of(div, "Div")?.input.get(1)?)?;
        (scalar(three)? == 3.0 && limits == (0.0, 6.0) && same && six == 6.0).then_some((
            vec![add, clip, gate, div],
            Change::Activation(Activation::HardSwish {
                scale: 1.0,
                shift: 0.0,
            }),
        ))
    }
}

fn window_is_point(kind: &Kind) -> bool {
    matches!(kind, Kind::Conv(conv) if conv.window.kernel == (1, 1))
}

enum Change {
    /// Scale and shift for each channel.
    Affine(Vec<(f32, f32)>),
    Activation(Activation),
}
