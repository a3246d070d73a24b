//! Divides a network between this runtime and a general one: the trunk, from the image on, is computed here, and so is the head,
//! from the last operator that is not known here up to the output layer.

use std::collections::HashSet;

use rten_onnx::onnx::ModelProto;

use super::NumericMode;
use super::classifier::Classifier;
use super::compile::Compiler;
use super::graph::{Graph, attribute_int};
use super::kernel::CHANNEL_BLOCK;
use super::steps::ConvNet;
use crate::error::{Error, Result, While, ensure};

/// The parts of an ONNX model that are computed here.
pub struct Compiled {
    /// The parts before the output layer; or why there are none.
    pub parts: Result<NetworkParts>,
    /// The output layer, if the network ends in one.
    pub classifier: Option<Classifier>,
}

/// The parts of a network that are computed here, and what is left to a general runtime. Tensors are named as in the model file.
pub struct NetworkParts {
    /// The part that begins at the image.
    pub trunk: ConvNet,
    /// The names of the trunk's outputs.
    pub outputs: Vec<String>,
    /// Number of the trunk's outputs from which a general runtime continues; they come first. 0 if nothing is left to it.
    pub handed_over: usize,
    /// The tensors that a general runtime must compute from these outputs.
    pub rest: Vec<String>,
    /// The part that leads to the output layer, if it is computed here.
    pub head: Option<NetworkHead>,
}

/// The last part of a network before its output layer.
pub struct NetworkHead {
    /// What it computes: one map, which the output layer reads.
    pub net: ConvNet,
    /// The names of its inputs: outputs of the trunk, and tensors that the general runtime computes.
    pub inputs: Vec<String>,
}

/// How much of a network is compiled, if possible.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CompileExtent {
    /// The part that begins at the image.
    Trunk,
    /// The trunk and the output layer.
    OutputLayer,
    /// The trunk, the head and the output layer.
    Head,
}

/// Compiles an ONNX model as far as `extent`, with int8 products as far as `mode` and the machine allow. The output layer predicts only the labels
/// `kept`, in that order, or all labels if `kept` is None.
///
/// # Errors
/// The bytes are not an ONNX model.
pub fn compile(
    onnx: &[u8],
    mode: NumericMode,
    kept: Option<&[usize]>,
    extent: CompileExtent,
) -> Result<Compiled> {
    let model = ModelProto::parse_buf(onnx)
        .map_err(Error::other)
        .during(|| "it is not an ONNX model")?;
    let graph = model
        .graph
        .ok_or_else(|| Error::Model("it is an ONNX model without a graph".to_owned()))?;
    let graph = Graph::new(&graph);
    let classifier = match extent {
        CompileExtent::Trunk => None,
        CompileExtent::OutputLayer | CompileExtent::Head => graph.classifier(mode, kept),
    };
    let parts = divide(&graph, mode, classifier.as_ref(), extent);
    Ok(Compiled { parts, classifier })
}

/// # Errors
/// The graph contradicts itself, or no part of it can be computed here.
fn divide(
    graph: &Graph,
    mode: NumericMode,
    classifier: Option<&Classifier>,
    extent: CompileExtent,
) -> Result<NetworkParts> {
    let mut trunk = Compiler::from_image(graph, mode)?;
    let row = classifier
        .and_then(|classifier| classifier.row_name.as_deref())
        .filter(|_| extent == CompileExtent::Head);
    let head = row.and_then(|row| head(graph, &mut trunk, mode, row));
    let output = graph.proto.output.first().and_then(|o| o.name.as_deref());
    let last = match classifier {
        Some(classifier) => &classifier.input_name,
        None => output.ok_or_else(|| Error::Model("the output has no name".to_owned()))?,
    };
    let (from_trunk, rest) = match &head {
        Some(head) => {
            let inputs = head.inputs.iter().cloned();
            inputs.partition(|name| trunk.knows(name))
        }
        None if trunk.knows(last) => (vec![last.to_owned()], Vec::new()),
        None => (Vec::new(), vec![last.to_owned()]),
    };
    let mut outputs = frontier(graph, &trunk, &rest);
    let handed_over = outputs.len();
    for name in from_trunk {
        if !outputs.contains(&name) {
            outputs.push(name);
        }
    }
    let values: Vec<_> = outputs
        .iter()
        .map(|name| {
            let value = trunk.materialise(name);
            value.ok_or_else(|| Error::Unsupported(format!("riposte cannot compute {name}")))
        })
        .collect::<Result<_>>()?;
    ensure!(
        !values.is_empty(),
        Unsupported,
        "no operator that riposte knows leads to the output"
    );
    // value 0 is the image
    ensure!(
        !values.contains(&0),
        Unsupported,
        "operators that riposte does not know read the image"
    );
    Ok(NetworkParts {
        trunk: trunk.finish(values),
        outputs,
        handed_over,
        rest,
        head,
    })
}

/// The tensors that the trunk computes and from which a general runtime continues to compute `goals`.
fn frontier(graph: &Graph, trunk: &Compiler, goals: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut open: Vec<&str> = goals.iter().map(String::as_str).collect();
    while let Some(name) = open.pop() {
        if !seen.insert(name) {
            continue;
        }
        if trunk.knows(name) {
            found.push(name.to_owned());
        } else if let Some(n) = graph.producers.get(name) {
            open.extend(graph.proto.node[*n].input.iter().map(String::as_str));
        }
    }
    found
}

/// The head that computes the map `row`. None if `row` is the output of an operator that is not known here, or if the graph does not tell how many
/// channels an input of the head has.
fn head(graph: &Graph, trunk: &mut Compiler, mode: NumericMode, row: &str) -> Option<NetworkHead> {
    let mut nodes = HashSet::new();
    let mut inputs: Vec<&str> = Vec::new();
    let mut seen = HashSet::new();
    let mut open = vec![row];
    while let Some(name) = open.pop() {
        if name.is_empty() || graph.constants.contains_key(name) || !seen.insert(name) {
            continue;
        }
        let known = |n: &usize| {
            let node = &graph.proto.node[*n];
            // the operators that a head may consist of
            match node.op_type.as_deref().unwrap_or_default() {
                "Conv" | "BatchNormalization" | "Relu" | "Sigmoid" => true,
                "Mul" | "Add" | "Clip" | "Div" => true,
                "Concat" => attribute_int(node, "axis") == Some(1),
                _ => false,
            }
        };
        match graph.producers.get(name).filter(|n| known(n)) {
            Some(n) if !trunk.knows(name) => {
                nodes.insert(*n);
                open.extend(graph.proto.node[*n].input.iter().map(String::as_str));
            }
            _ => inputs.push(name),
        }
    }
    let mut compiler = Compiler::new(graph, mode);
    for name in &inputs {
        let (channels, stride) = if trunk.knows(name) {
            let value = trunk.materialise(name)?;
            (trunk.values[value].channels, trunk.values[value].stride)
        } else {
            let channels = graph.channels_of(name)?;
            (channels, channels.checked_next_multiple_of(CHANNEL_BLOCK)?)
        };
        compiler.take(name, channels, stride);
    }
    let mut nodes: Vec<usize> = nodes.into_iter().collect();
    nodes.sort_unstable();
    compiler.nodes(nodes).ok()?;
    let output = compiler.materialise(row)?;
    (output >= inputs.len()).then(|| NetworkHead {
        net: compiler.finish(vec![output]),
        inputs: inputs.into_iter().map(str::to_owned).collect(),
    })
}
