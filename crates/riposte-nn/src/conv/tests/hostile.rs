//! Graphs that no exporter writes: whatever a model file declares, it is refused, or computed within bounds.

use proptest::prelude::*;

use super::{cases, map};
use crate::conv::{BufferPool, CompileExtent, FeatureMap, NumericMode, compile, usual_or_miri};
use crate::error::Result;
use onnx_writer::{GraphWriter, ProtobufMessage, int, ints, numbers, text};

/// The image on which each graph is run.
fn image() -> FeatureMap {
    map(usual_or_miri(12, 4), usual_or_miri(9, 3), 3)
}

/// Compiles the graph's model, with int8 products and without, and computes a small image: height, width and channels of the output, and
/// the name of the tensor.
///
/// Errors: no part of the graph is compiled, or the image cannot be computed.
fn run(graph: &GraphWriter) -> Result<([usize; 3], String)> {
    let bytes = graph.model();
    let parts = |mode| compile(&bytes, mode, None, CompileExtent::Head)?.parts;
    let (net, float) = (parts(NumericMode::Auto)?, parts(NumericMode::Float)?);
    let mut pool = BufferPool::default();
    let outputs = net.trunk.run(vec![image()], &mut pool)?;
    let same = float.trunk.run(vec![image()], &mut pool)?;
    assert_eq!(net.outputs, float.outputs);
    let sizes = |maps: &[FeatureMap]| -> Vec<[usize; 3]> {
        let sizes = maps.iter().map(|map| [map.height, map.width, map.channels]);
        sizes.collect()
    };
    assert_eq!(sizes(&outputs), sizes(&same));
    for out in &outputs {
        assert_eq!(out.data.len(), out.height * out.width * out.stride);
    }
    Ok((sizes(&outputs)[0], net.outputs[0].clone()))
}

/// A graph that begins with a convolution of three colours, so that what follows is compiled. The tensor "x" has 16 channels.
fn begun() -> GraphWriter {
    GraphWriter::default()
        .input("image", &[1, 3, -1, -1])
        .floats("first", &[16, 3, 1, 1], &numbers(48))
        .node("Conv", &["image", "first"], "x", &[])
}

/// A side that a model file may declare: most are small, some are at the bounds of what is compiled, some are absurd.
fn side() -> impl Strategy<Value = i64> {
    prop_oneof![
        6 => 0i64..6,
        1 => 14i64..18,
        1 => 62i64..67,
        1 => prop::sample::select(vec![-1, i64::MIN, i64::MAX, 1 << 31, 1 << 32, 1 << 62]),
    ]
}

/// The most numbers that are written into a file for one tensor. A larger tensor has only its dimensions.
const FEW: i64 = usual_or_miri(200_000, 2_000) as i64;

/// As many numbers as the dimensions say, if these are few, else none.
fn filled(dims: &[i64]) -> Vec<f32> {
    let count = dims.iter().try_fold(1i64, |n, &d| n.checked_mul(d));
    match count {
        Some(count @ 0..=FEW) => numbers(count as usize),
        _ => Vec::new(),
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_convolution_of_any_declared_shape_is_refused_or_computed(
        kind in prop::sample::select(vec!["Conv", "ConvTranspose"]),
        channels in prop::sample::select(vec![0i64, 1, 2, 3, 16, 17, 33, 64]),
        inputs in prop::sample::select(vec![0i64, 1, 3, 16, 17]),
        kernel in (side(), side()), strides in prop::collection::vec(side(), 0..4),
        pads in prop::collection::vec(side(), 0..6), group in prop::sample::select(vec![-1i64, 0, 1, 2, 16, i64::MAX]),
        biases in prop::sample::select(vec![None, Some(0i64), Some(1), Some(16), Some(17)]),
        after in prop::sample::select(vec!["Relu", "GlobalAveragePool", "Sigmoid", "Softmax"]),
    ) {
        let dims = [channels, inputs, kernel.0, kernel.1];
        let mut graph = begun().floats("w", &dims, &filled(&dims));
        let mut reads = vec!["x", "w"];
        if let Some(biases) = biases {
            graph = graph.floats("b", &[biases], &filled(&[biases]));
            reads.push("b");
        }
        let attributes = [ints("kernel_shape", &dims[2..]), ints("strides", &strides), ints("pads", &pads), int("group", group)];
        let graph = graph.node(kind, &reads, "y", &attributes).node(after, &["y"], "z", &[]).output("z", &[1, -1, -1, -1]);
        if let Ok(([height, width, found], name)) = run(&graph) && name != "x" {
            let expected = if kind == "Conv" { channels } else { inputs };
            prop_assert!(height * width > 0 && found as i64 == expected, "{height} {width} {found}");
        }
    }

    #[test]
    fn pooling_and_resizing_of_any_declared_shape_is_refused_or_computed(
        kernel in prop::collection::vec(side(), 0..4), strides in prop::option::of(prop::collection::vec(side(), 0..4)),
        pads in prop::option::of(prop::collection::vec(side(), 4)),
        scales in prop::collection::vec(prop::sample::select(vec![0f32, 1.0, 2.0, 3.0, 64.0, 65.0, -2.0, 1.5, f32::NAN, f32::INFINITY, 1e30]), 0..6),
        times in 1usize..14,
    ) {
        let mut attributes = vec![ints("kernel_shape", &kernel)];
        attributes.push(ints("strides", strides.as_ref().unwrap_or(&kernel)));
        attributes.extend(pads.map(|pads| ints("pads", &pads)));
        let mut graph = begun().node("AveragePool", &["x"], "pooled", &attributes).floats("scales", &[scales.len() as i64], &scales);
        let modes = [text("mode", "nearest"), text("coordinate_transformation_mode", "asymmetric"), text("nearest_mode", "floor")];
        let mut last = "pooled".to_owned();
        for n in 0..times {
            let next = format!("up{n}");
            graph = graph.node("Resize", &[&last, "", "scales"], &next, &modes);
            last = next;
        }
        let _ = run(&graph.node("Relu", &[&last], "out", &[]).output(&last, &[1, -1, -1, -1]));
    }

    #[test]
    fn operators_in_any_order_and_with_any_operands_are_refused_or_computed(
        nodes in prop::collection::vec((0usize..14, 0usize..12, 0usize..12, 0usize..12), 1..24), last in 0usize..12
    ) {
        let kinds = ["Conv", "ConvTranspose", "GlobalAveragePool", "AveragePool", "Sigmoid", "Mul", "Add", "Resize", "Concat", "Relu",
            "HardSigmoid", "BatchNormalization", "Clip", "Div"];
        // operands may be constants, or computed by a later node, twice, or by the node itself
        let names = ["image", "x", "a", "b", "c", "d", "e", "wide", "narrow", "deep", "scales", "one"];
        let mut graph = begun()
            .floats("wide", &[16, 16, 1, 1], &numbers(256))
            .floats("narrow", &[1, 16, 3, 3], &numbers(144))
            .floats("deep", &[16, 1, 2, 2], &numbers(64))
            .floats("scales", &[4], &[1.0, 1.0, 2.0, 2.0])
            .floats("one", &[1], &[2.0]);
        let modes = [text("mode", "nearest"), text("coordinate_transformation_mode", "asymmetric"), text("nearest_mode", "floor"),
            ints("kernel_shape", &[2, 2]), ints("strides", &[2, 2]), int("axis", 1)];
        for (kind, first, second, output) in nodes {
            let kind = kinds[kind];
            let (first, second, output) = (names[first], names[second], names[output]);
            let reads = match kind {
                "Resize" => vec![first, "", "scales"],
                "BatchNormalization" => vec![first, second, second, second, second],
                _ => vec![first, second],
            };
            let attributes: &[ProtobufMessage] = if kind == "Conv" { &[] } else { &modes };
            graph = graph.node(kind, &reads, output, attributes);
        }
        let _ = run(&graph.output(names[last], &[1, -1, -1, -1]));
    }
}

/// The error, or the name and the size of what is computed.
fn said(graph: &GraphWriter) -> String {
    match run(graph) {
        Ok((size, name)) => format!("{name} {size:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn an_operator_that_reads_what_it_computes_ends_the_folding() {
    for kind in ["Mul", "Add"] {
        let graph = begun().floats("two", &[1], &[2.0]);
        let graph = graph.node(kind, &["x", "two"], "x", &[]).output("y", &[1]);
        let said = said(&graph);
        assert!(said.contains("leads to the output"), "{said}");
    }
}

#[test]
fn weights_without_numbers_declare_no_channels() {
    let graph = GraphWriter::default()
        .input("image", &[1, 3, -1, -1])
        .floats("w", &[0, i64::MAX, 1, 1], &[])
        .node("Conv", &["image", "w"], "y", &[])
        .node(
            "Concat",
            &["image", "image", "image"],
            "wide",
            &[int("axis", 1)],
        )
        .node("GlobalAveragePool", &["wide"], "z", &[])
        .output("z", &[1]);
    let said = said(&graph);
    assert!(
        said.contains("not a convolution with constant weights"),
        "{said}"
    );
}

#[test]
fn sums_of_an_input_whose_channels_are_no_whole_vector_are_left_to_rten() {
    let graph = begun()
        .node("GlobalAveragePool", &["image"], "mean", &[])
        .node("Concat", &["mean", "mean"], "two", &[int("axis", 1)]);
    let graph = graph.node("Relu", &["two"], "y", &[]).output("y", &[1]);
    assert!(
        said(&graph).contains("that riposte does not know read the image"),
        "{}",
        said(&graph)
    );
}

#[test]
#[cfg_attr(
    miri,
    ignore = "it takes a minute, and the file is refused before any kernel runs"
)]
fn a_small_file_cannot_ask_for_any_amount_of_memory() {
    // each concatenation doubles the channels
    let mut graph = begun();
    let mut last = "x".to_owned();
    for n in 0..60 {
        let (two, mean) = (format!("two{n}"), format!("mean{n}"));
        graph = graph
            .node("Concat", &[&last, &last], &two, &[int("axis", 1)])
            .node("GlobalAveragePool", &[&two], &mean, &[]);
        last = mean;
    }
    let _ = run(&graph.node("Relu", &[&last], "y", &[]).output("y", &[1]));
    // each transposed convolution doubles the sides
    let mut graph = begun().floats("w", &[16, 16, 2, 2], &numbers(1024));
    let mut last = "x".to_owned();
    for n in 0..40 {
        let next = format!("up{n}");
        let attributes = [ints("strides", &[2, 2])];
        graph = graph.node("ConvTranspose", &[&last, "w"], &next, &attributes);
        last = next;
    }
    let said = said(&graph.node("Relu", &[&last], "y", &[]).output(&last, &[1]));
    assert!(said.contains("the network"), "{said}");
}
