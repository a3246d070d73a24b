//! Model files that no exporter writes. Each is an error that names its path, or is loaded; none makes riposte panic or use memory without bound.

use std::fs;
use std::path::{Path, PathBuf};

use image::RgbImage;
use onnx_writer::{self as onnx, GraphWriter, ProtobufMessage, ints, numbers};
use riposte::evidence::clip::Clip;
use riposte::evidence::ocr::backend::PartRuntime;
use riposte::evidence::ocr::{PpOcr, Script, TextReader};
use riposte::evidence::sentence::Sentences;
use riposte_nn::conv::NumericMode;
use riposte_nn::transformer::EncoderBackend;
use serde_json::{Value, json};

use crate::support::checkpoint::{copy_of, edit_header, weights};
use crate::support::program::{WorkDir, riposte, stderr};
use crate::support::{message, root};

/// A directory with a detector and a recogniser that can be read.
fn networks() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let (det, rec) = (dir.path().join("det.onnx"), dir.path().join("rec.onnx"));
    let detector = root().join("src/evidence/ocr/reference/convnet-detector.onnx");
    fs::copy(detector, &det).unwrap();
    fs::write(&rec, onnx::recogniser().model()).unwrap();
    (dir, det, rec)
}

/// Loads the networks and reads a picture. Returns the error, if there is one.
fn read(det: &Path, rec: &Path) -> Result<(), String> {
    let reader = PpOcr::load(det, rec, NumericMode::Auto, Script::Latin);
    let reader = reader.map_err(|error| format!("{error:#}"))?;
    for backend in reader.backends() {
        if let PartRuntime::Rten { because } = &backend.convolutions {
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
fn detector(rest: impl Fn(GraphWriter) -> GraphWriter) -> GraphWriter {
    let begun = GraphWriter::default()
        .input("image", &[1, 3, -1, -1])
        .floats("w", &[16, 3, 3, 3], &numbers(16 * 27))
        .node("Conv", &["image", "w"], "x", &[ints("pads", &[1; 4])]);
    rest(begun).output("map", &[1, 1, -1, -1])
}

/// Hostile detectors, each with the name of its fault.
fn hostile() -> Vec<(&'static str, GraphWriter)> {
    let tensor = |constant: ProtobufMessage| {
        detector(move |graph| {
            let graph = graph.constant(&constant);
            graph.node("Conv", &["x", "v"], "map", &[])
        })
    };
    let convolution = |shape: &[i64], attribute: ProtobufMessage| {
        let count = shape.iter().product::<i64>() as usize;
        detector(move |graph| {
            let graph = graph.floats("v", shape, &numbers(count));
            graph.node("Conv", &["x", "v"], "map", std::slice::from_ref(&attribute))
        })
    };
    let node =
        |kind: &'static str, inputs: &'static [&'static str], attributes: &[ProtobufMessage]| {
            detector(move |graph| graph.node(kind, inputs, "map", attributes))
        };
    let sized = |shape: &[i64]| tensor(onnx::tensor("v", 1, shape).bytes(9, [0u8; 64]));
    let external = |path: &str| tensor(onnx::external("v", &[1, 16, 1, 1], path));
    let strided = |strides: &[i64]| convolution(&[1, 16, 1, 1], ints("strides", strides));
    let unknown = onnx::tensor("v", 99, &[1, 16, 1, 1]).bytes(9, [0u8; 64]);
    let cycle = detector(|graph| {
        let graph = graph.node("Add", &["x", "b"], "a", &[]);
        let graph = graph.node("Relu", &["a"], "b", &[]);
        graph.node("Relu", &["b"], "map", &[])
    });
    let own_output = detector(|graph| {
        let graph = graph.floats("two", &[1], &[2.0]);
        let graph = graph.node("Mul", &["x", "two"], "x", &[]);
        graph.node("Relu", &["x"], "map", &[])
    });
    let empty = GraphWriter::default().input("image", &[1, 3, -1, -1]);
    let flat = GraphWriter::default().input("image", &[3]);
    let flat = flat.node("Relu", &["image"], "map", &[]);
    vec![
        (
            "a tensor whose size overflows",
            sized(&[1 << 32, 1 << 32, 1, 1]),
        ),
        (
            "a tensor whose size is huge",
            sized(&[1 << 20, 1 << 20, 1, 1]),
        ),
        ("a tensor of a negative size", sized(&[-1, 16, 1, 1])),
        ("a tensor with too few numbers", sized(&[1, 16, 3, 3])),
        (
            "a tensor without numbers",
            tensor(onnx::tensor("v", 1, &[1, 16, 1, 1])),
        ),
        ("a tensor of an unknown type", tensor(unknown)),
        ("numbers in another file", external("../../etc/passwd")),
        ("numbers in an absolute path", external("/etc/passwd")),
        ("a missing tensor", node("Conv", &["x", "v"], &[])),
        ("a missing input", node("Sigmoid", &["nothing"], &[])),
        ("no node for the output", detector(|graph| graph)),
        ("a cycle", cycle),
        ("an operator that reads its own output", own_output),
        ("an unknown operator", node("Launch", &["x"], &[])),
        ("huge strides", strided(&[i64::MAX, i64::MAX])),
        ("no strides", strided(&[0, 0])),
        (
            "negative padding",
            convolution(&[1, 16, 1, 1], ints("pads", &[-9; 4])),
        ),
        (
            "a kernel of rank one",
            convolution(&[16], ints("pads", &[0; 4])),
        ),
        (
            "negative groups",
            convolution(&[1, 16, 1, 1], onnx::int("group", -1)),
        ),
        (
            "a wrong permutation",
            node("Transpose", &["x"], &[ints("perm", &[9, 9, 9, 9])]),
        ),
        ("no operator", empty.output("map", &[1, 1, -1, -1])),
        ("an input of rank one", flat.output("map", &[1, 1, -1, -1])),
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
    let file = |header: Value, data: &[u8]| safetensors(&header, None, data);
    let one = |shape: Value, from: u64, to: u64| {
        let weight = tensor(shape, from, to);
        file(
            json!({ "embeddings.word_embeddings.weight": weight }),
            &[0; 8],
        )
    };
    let two = |one: Value, other: Value| {
        file(
            json!({"embeddings.word_embeddings.weight": one, "b": other}),
            &[0; 12],
        )
    };
    let length = |length: u64| safetensors(&json!({}), Some(length), &[]);
    let raw = |length: u64, header: &[u8]| [&length.to_le_bytes()[..], header].concat();
    let overlapping = two(tensor(json!([2]), 0, 8), tensor(json!([2]), 4, 12));
    let gap = two(tensor(json!([1]), 0, 4), tensor(json!([1]), 8, 12));
    let mut cases = vec![
        ("a header beyond the file", length(1 << 40)),
        ("a header whose end overflows", length(u64::MAX)),
        (
            "a header whose end overflows by its length",
            length(u64::MAX - 7),
        ),
        ("no header", Vec::new()),
        ("a header without tensors", file(json!({}), &[])),
        (
            "a shape that overflows",
            one(json!([1u64 << 33, 1u64 << 33]), 0, 8),
        ),
        (
            "a shape whose bytes overflow",
            one(json!([1u64 << 62, 1]), 0, 8),
        ),
        ("a negative shape", one(json!([-1, 2]), 0, 8)),
        ("offsets beyond the file", one(json!([1 << 20]), 0, 4 << 20)),
        ("offsets that overflow", one(json!([2]), u64::MAX - 3, 4)),
        ("offsets backwards", one(json!([2]), 8, 0)),
        ("overlapping tensors", overlapping),
        ("a gap between tensors", gap),
        ("a header that is not JSON", raw(8, b"{{{{{{{{")),
        ("nested JSON", raw(4096, &[b'['; 4096])),
    ];
    for length in [0, 7, 8, 9, 100, whole.len() / 2, whole.len() - 1] {
        cases.push(("cut off", whole[..length].to_vec()));
    }
    for (what, bytes) in cases {
        fs::write(&path, bytes).unwrap();
        let said = match Sentences::load(dir.path(), EncoderBackend::Auto) {
            Ok(_) => panic!("{what}: no error"),
            Err(error) => format!("{error:#}"),
        };
        assert!(said.contains("model.safetensors"), "{what}: {said}");
    }
}

/// A tensor of each family of image-text models, with its shape.
const IMAGE_TEXT: [(&str, &str, &[usize]); 4] = [
    (
        "tiny-siglip",
        "vision_model.head.attention.in_proj_weight",
        &[96, 32],
    ),
    ("tiny-siglip2", "text_model.head.bias", &[32]),
    (
        "tiny-chinese-clip",
        "text_model.encoder.layer.1.attention.self.key.weight",
        &[32, 32],
    ),
    (
        "tiny-open-clip",
        "visual.transformer.resblocks.0.attn.in_proj_weight",
        &[72, 24],
    ),
];

/// All of this is found before weights are read.
#[test]
fn a_wrong_checkpoint_of_an_image_text_model_is_one_clear_error() {
    for (family, tensor, shape) in IMAGE_TEXT {
        let refused = |change: &dyn Fn(&Path), expected: &str| {
            let copy = copy_of(family);
            let file = weights(copy.path());
            change(copy.path());
            let said = message(Clip::check(copy.path()));
            assert!(said.contains(expected), "{family}: {said}, not {expected}");
            let name = file.file_name().unwrap().to_str().unwrap();
            assert!(said.contains(name) && !said.contains('\n'), "{said}");
        };
        let header = |edit: &dyn Fn(&mut serde_json::Map<String, Value>), expected: &str| {
            refused(&|dir| edit_header(dir, edit), expected);
        };
        header(
            &|header| {
                let values = header.remove(tensor).unwrap();
                header.insert("another".to_owned(), values);
            },
            &format!("tensor {tensor} is missing: expected shape {shape:?}"),
        );
        header(
            &|header| header[tensor]["shape"] = json!([1, shape.iter().product::<usize>()]),
            &format!("tensor {tensor} has shape"),
        );
        // a quantised checkpoint: a byte for each number, and the rest of the bytes are elsewhere
        header(
            &|header| {
                let width = if family == "tiny-siglip2" { 2 } else { 4 };
                let count = shape.iter().product::<usize>() * width;
                header[tensor]["dtype"] = json!("I8");
                header[tensor]["shape"] = json!([count]);
            },
            &format!("tensor {tensor} "),
        );
        header(
            &|header| {
                let kind = if family == "tiny-siglip2" {
                    "I16"
                } else {
                    "I32"
                };
                header[tensor]["dtype"] = json!(kind);
            },
            "expected F32, F16 or BF16",
        );
        for cut in [1, 1000] {
            let shorten = |dir: &Path| {
                let file = weights(dir);
                let whole = fs::read(&file).unwrap();
                fs::write(&file, &whole[..whole.len() - cut]).unwrap();
            };
            refused(&shorten, "truncated or damaged");
        }
        let gguf = |dir: &Path| {
            let header = [&b"GGUF\x03\0\0\0"[..], &[0; 64]].concat();
            fs::write(weights(dir), header).unwrap();
        };
        refused(&gguf, "not a safetensors file");
        for pickle in ["pytorch_model.bin", "open_clip_pytorch_model.bin"] {
            let rename = |dir: &Path| fs::rename(weights(dir), dir.join(pickle)).unwrap();
            refused(&rename, &format!("there is only {pickle}: a pickle"));
        }
        refused(
            &|dir| fs::remove_file(weights(dir)).unwrap(),
            "No such file",
        );
    }
}

#[test]
fn a_bias_that_makes_all_pairs_alike_is_refused() {
    for (number, said) in [
        (0.5f32, "logit_bias is 0.5"),
        (f32::NAN, "logit_bias is NaN"),
    ] {
        let copy = copy_of("tiny-siglip");
        let file = weights(copy.path());
        let mut bytes = fs::read(&file).unwrap();
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
        let at = header["logit_bias"]["data_offsets"][0].as_u64().unwrap() as usize;
        bytes[8 + length + at..][..4].copy_from_slice(&number.to_le_bytes());
        fs::write(&file, bytes).unwrap();
        let refused = message(Clip::check(copy.path()));
        assert!(refused.contains(said) && refused.contains("expected a negative number"));
    }
}
