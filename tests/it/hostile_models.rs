//! Model files that no exporter writes. Each is an error that names its path, or is loaded; none makes riposte panic or use memory without bound.

use std::fs;
use std::path::{Path, PathBuf};

use image::RgbImage;
use riposte::evidence::ocr::backend::Runtime;
use riposte::evidence::ocr::{PpOcr, Script, TextReader};
use riposte::evidence::sentence::Sentences;
use riposte::nn::conv::NumericMode;
use serde_json::{Value, json};

use crate::support::checkpoint::copy_of;
use crate::support::onnx::{self, Graph, Message, ints, numbers};
use crate::support::program::{WorkDir, riposte, stderr};
use crate::support::root;

/// A directory with a detector and a recogniser that can be read.
fn networks() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let (det, rec) = (dir.path().join("det.onnx"), dir.path().join("rec.onnx"));
    let detector = root().join("src/nn/reference/convnet-detector.onnx");
    fs::copy(detector, &det).unwrap();
    fs::write(&rec, onnx::recogniser().model()).unwrap();
    (dir, det, rec)
}

/// Loads the networks and reads a picture. Returns the error, if there is one.
fn read(det: &Path, rec: &Path) -> Result<(), String> {
    let reader = PpOcr::load_with(det, rec, "sha", NumericMode::Auto, Script::Latin);
    let reader = reader.map_err(|error| format!("{error:#}"))?;
    for backend in reader.backends() {
        if let Runtime::Rten { because } = &backend.convolutions {
            // no model file makes an assertion of riposte's own compiler fail
            assert!(!because.contains("compiling it failed"), "{because}");
        }
    }
    let picture = RgbImage::from_fn(80, 60, |x, y| image::Rgb([(x * y) as u8; 3]));
    let lines = reader
        .read(&picture)
        .map_err(|error| format!("{error:#}"))?;
    assert!(
        lines
            .iter()
            .all(|line| (0.0..=1.0).contains(&line.confidence))
    );
    Ok(())
}

#[test]
fn small_networks_that_are_whole_read_a_picture() {
    let (_dir, det, rec) = networks();
    assert_eq!(read(&det, &rec), Ok(()));
}

/// A detector: a convolution with the output "x", and the nodes that `rest` adds, the last of which has the output "map".
fn detector(rest: impl Fn(Graph) -> Graph) -> Graph {
    let begun = Graph::default()
        .input("image", &[1, 3, -1, -1])
        .floats("w", &[16, 3, 3, 3], &numbers(16 * 27))
        .node("Conv", &["image", "w"], "x", &[ints("pads", &[1; 4])]);
    rest(begun).output("map", &[1, 1, -1, -1])
}

/// Hostile detectors, each with the name of its fault.
fn hostile() -> Vec<(&'static str, Graph)> {
    let with = |constant: &Message| {
        let constant = constant.clone();
        detector(move |graph| {
            graph
                .constant(&constant)
                .node("Conv", &["x", "v"], "map", &[])
        })
    };
    let few = [0u8; 64];
    vec![
        (
            "a tensor whose size overflows",
            with(&onnx::tensor("v", 1, &[1 << 32, 1 << 32, 1, 1]).bytes(9, few)),
        ),
        (
            "a tensor whose size is huge",
            with(&onnx::tensor("v", 1, &[1 << 20, 1 << 20, 1, 1]).bytes(9, few)),
        ),
        (
            "a tensor of a negative size",
            with(&onnx::tensor("v", 1, &[-1, 16, 1, 1]).bytes(9, few)),
        ),
        (
            "a tensor with fewer numbers than its shape",
            with(&onnx::tensor("v", 1, &[1, 16, 3, 3]).bytes(9, few)),
        ),
        (
            "a tensor without numbers",
            with(&onnx::tensor("v", 1, &[1, 16, 1, 1])),
        ),
        (
            "a tensor of an unknown type",
            with(&onnx::tensor("v", 99, &[1, 16, 1, 1]).bytes(9, few)),
        ),
        (
            "numbers in another file",
            with(&onnx::external("v", &[1, 16, 1, 1], "../../etc/passwd")),
        ),
        (
            "numbers in an absolute path",
            with(&onnx::external("v", &[1, 16, 1, 1], "/etc/passwd")),
        ),
        (
            "a missing tensor",
            detector(|graph| graph.node("Conv", &["x", "v"], "map", &[])),
        ),
        (
            "a missing input",
            detector(|graph| graph.node("Sigmoid", &["nothing"], "map", &[])),
        ),
        ("no node for the output", detector(|graph| graph)),
        (
            "a cycle",
            detector(|graph| {
                graph
                    .node("Add", &["x", "b"], "a", &[])
                    .node("Relu", &["a"], "b", &[])
                    .node("Relu", &["b"], "map", &[])
            }),
        ),
        (
            "an operator that reads its own output",
            detector(|graph| {
                graph
                    .floats("two", &[1], &[2.0])
                    .node("Mul", &["x", "two"], "x", &[])
                    .node("Relu", &["x"], "map", &[])
            }),
        ),
        (
            "an unknown operator",
            detector(|graph| graph.node("Launch", &["x"], "map", &[])),
        ),
        (
            "huge strides",
            detector(|graph| {
                graph.floats("v", &[1, 16, 1, 1], &numbers(16)).node(
                    "Conv",
                    &["x", "v"],
                    "map",
                    &[ints("strides", &[i64::MAX, i64::MAX])],
                )
            }),
        ),
        (
            "no strides",
            detector(|graph| {
                graph.floats("v", &[1, 16, 1, 1], &numbers(16)).node(
                    "Conv",
                    &["x", "v"],
                    "map",
                    &[ints("strides", &[0, 0])],
                )
            }),
        ),
        (
            "negative padding",
            detector(|graph| {
                graph.floats("v", &[1, 16, 1, 1], &numbers(16)).node(
                    "Conv",
                    &["x", "v"],
                    "map",
                    &[ints("pads", &[-9; 4])],
                )
            }),
        ),
        (
            "a kernel of rank one",
            detector(|graph| {
                graph
                    .floats("v", &[16], &numbers(16))
                    .node("Conv", &["x", "v"], "map", &[])
            }),
        ),
        (
            "negative groups",
            detector(|graph| {
                graph.floats("v", &[1, 16, 1, 1], &numbers(16)).node(
                    "Conv",
                    &["x", "v"],
                    "map",
                    &[onnx::int("group", -1)],
                )
            }),
        ),
        (
            "a wrong permutation",
            detector(|graph| {
                graph.node("Transpose", &["x"], "map", &[ints("perm", &[9, 9, 9, 9])])
            }),
        ),
        (
            "no operator",
            Graph::default()
                .input("image", &[1, 3, -1, -1])
                .output("map", &[1, 1, -1, -1]),
        ),
        (
            "an input of rank one",
            Graph::default()
                .input("image", &[3])
                .node("Relu", &["image"], "map", &[])
                .output("map", &[1, 1, -1, -1]),
        ),
    ]
}

#[test]
fn a_hostile_onnx_file_is_an_error() {
    let (dir, whole, rec) = networks();
    let path = dir.path().join("hostile.onnx");
    let mut refused = 0;
    for (what, graph) in hostile() {
        fs::write(&path, graph.model()).unwrap();
        // some detectors can be loaded, but find no text: with huge strides, for example, the map has one pixel
        if let Err(said) = read(&path, &rec) {
            refused += 1;
            assert!(!said.contains("root:"), "{what}: {said}");
        }
        let said = read(&whole, &path).expect_err(what);
        assert!(said.contains("hostile.onnx"), "{what}: {said}");
    }
    assert!(refused >= 16, "{refused}");
}

#[test]
fn a_truncated_or_damaged_onnx_file_is_an_error_or_reads() {
    let (dir, det, _) = networks();
    let path = dir.path().join("damaged.onnx");
    let whole = onnx::recogniser().model();
    for length in (0..whole.len()).step_by(97) {
        fs::write(&path, &whole[..length]).unwrap();
        let said = read(&det, &path).expect_err("half a model");
        assert!(said.contains("damaged.onnx"), "{length}: {said}");
    }
    for at in (0..whole.len()).step_by(211) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        fs::write(&path, bytes).unwrap();
        let _ = read(&det, &path);
    }
}

#[test]
fn the_program_names_a_model_that_is_not_the_one_of_the_catalogue() {
    let dir = WorkDir::new();
    let models = dir.path("models/ppocr-v4");
    fs::create_dir_all(&models).unwrap();
    for name in ["det.onnx", "rec.onnx"] {
        fs::write(models.join(name), hostile()[0].1.model()).unwrap();
    }
    let picture = dir.path("picture.png");
    RgbImage::new(40, 30).save(&picture).unwrap();
    let models = dir.path("models");
    let args = [
        "read",
        picture.to_str().unwrap(),
        "--models",
        models.to_str().unwrap(),
    ];
    let output = riposte(&dir.path(""), &args).output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("det.onnx") || said.contains("rec.onnx"),
        "{said}"
    );
}

/// The bytes of a safetensors file.
fn safetensors(header: &Value, length: Option<u64>, data: &[u8]) -> Vec<u8> {
    let header = header.to_string().into_bytes();
    let length = length.unwrap_or(header.len() as u64);
    [&length.to_le_bytes()[..], &header, data].concat()
}

#[test]
fn a_hostile_safetensors_file_is_an_error() {
    let dir = copy_of("tiny-sentence");
    let path = dir.path().join("model.safetensors");
    let whole = fs::read(&path).unwrap();
    let tensor = |shape: Value, from: u64, to: u64| json!({"dtype": "F32", "shape": shape, "data_offsets": [from, to]});
    let one = |tensor: Value| json!({ "embeddings.word_embeddings.weight": tensor });
    let both = |a: Value, b: Value| json!({"embeddings.word_embeddings.weight": a, "b": b});
    let huge = 1u64 << 33;
    let mut cases = vec![
        (
            "a header beyond the file",
            safetensors(&json!({}), Some(1 << 40), &[]),
        ),
        (
            "a header whose end overflows",
            safetensors(&json!({}), Some(u64::MAX), &[]),
        ),
        (
            "a header whose end overflows by the eight bytes before it",
            safetensors(&json!({}), Some(u64::MAX - 7), &[]),
        ),
        ("no header", Vec::new()),
        (
            "a header without tensors",
            safetensors(&json!({}), None, &[]),
        ),
        (
            "a shape that overflows",
            safetensors(&one(tensor(json!([huge, huge]), 0, 8)), None, &[0; 8]),
        ),
        (
            "a shape whose bytes overflow",
            safetensors(&one(tensor(json!([1u64 << 62, 1]), 0, 8)), None, &[0; 8]),
        ),
        (
            "a negative shape",
            safetensors(&one(tensor(json!([-1, 2]), 0, 8)), None, &[0; 8]),
        ),
        (
            "offsets beyond the file",
            safetensors(&one(tensor(json!([1 << 20]), 0, 4 << 20)), None, &[0; 8]),
        ),
        (
            "offsets that overflow",
            safetensors(&one(tensor(json!([2]), u64::MAX - 3, 4)), None, &[0; 8]),
        ),
        (
            "offsets backwards",
            safetensors(&one(tensor(json!([2]), 8, 0)), None, &[0; 8]),
        ),
        (
            "overlapping tensors",
            safetensors(
                &both(tensor(json!([2]), 0, 8), tensor(json!([2]), 4, 12)),
                None,
                &[0; 12],
            ),
        ),
        (
            "a gap between tensors",
            safetensors(
                &both(tensor(json!([1]), 0, 4), tensor(json!([1]), 8, 12)),
                None,
                &[0; 12],
            ),
        ),
        (
            "a header that is not JSON",
            [&8u64.to_le_bytes()[..], b"{{{{{{{{"].concat(),
        ),
        (
            "nested JSON",
            [&4096u64.to_le_bytes()[..], &[b'['; 4096]].concat(),
        ),
    ];
    for length in [0, 7, 8, 9, 100, whole.len() / 2, whole.len() - 1] {
        cases.push(("cut off", whole[..length].to_vec()));
    }
    for (what, bytes) in cases {
        fs::write(&path, bytes).unwrap();
        let said = match Sentences::load(dir.path(), "sha") {
            Ok(_) => panic!("{what}: no error"),
            Err(error) => format!("{error:#}"),
        };
        assert!(said.contains("model.safetensors"), "{what}: {said}");
    }
}
