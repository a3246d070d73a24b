//! Model files: networks of the text reader (ONNX), and checkpoints of encoders (safetensors).

use std::path::Path;

use image::RgbImage;
use riposte::evidence::ocr::backend::PartRuntime;
use riposte::evidence::ocr::{PpOcr, Script, TextReader};
use riposte::evidence::sentence::Sentences;
use riposte_nn::conv::NumericMode;
use riposte_nn::transformer::EncoderBackend;

const DETECTOR: &[u8] = include_bytes!("../../../src/evidence/ocr/reference/convnet-detector.onnx");

pub const NETWORK_WORDS: &[&[u8]] = &[
    b"Conv",
    b"ConvTranspose",
    b"Resize",
    b"Concat",
    b"AveragePool",
    b"GlobalAveragePool",
    b"MatMul",
    b"Softmax",
    b"Reshape",
    b"kernel_shape",
    b"strides",
    b"pads",
    b"dilations",
    b"group",
    b"perm",
    b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x08\0",
    b"\x40\xff\xff\xff\xff\x07",
];

/// A recogniser with random weights.
pub fn recogniser() -> Vec<u8> {
    onnx_writer::recogniser().model()
}

/// The bytes themselves. If they begin with `EDIT`, the rest describes changes of `whole` (see [`crate::damage`]), and the changed file is returned.
fn edited(bytes: &[u8], whole: &[u8]) -> Vec<u8> {
    match bytes.strip_prefix(b"EDIT") {
        Some(edits) => crate::damage::edited(edits, whole),
        None => bytes.to_vec(),
    }
}

/// Loads the bytes ([`edited`]) as a detector and as a recogniser, and reads a picture with each that can be loaded.
pub fn networks(bytes: &[u8]) {
    let bytes = edited(bytes, DETECTOR);
    let Ok(dir) = tempfile::tempdir() else { return };
    let paths = ["det.onnx", "rec.onnx", "fuzzed.onnx"].map(|name| dir.path().join(name));
    let contents = [DETECTOR, &recogniser(), &bytes];
    for (path, bytes) in paths.iter().zip(contents) {
        if std::fs::write(path, bytes).is_err() {
            return;
        }
    }
    let [det, rec, fuzzed] = &paths;
    let read =
        |det: &Path, rec: &Path| match PpOcr::load(det, rec, NumericMode::Auto, Script::Latin) {
            Ok(reader) => {
                for backend in reader.backends() {
                    if let PartRuntime::Rten { because } = &backend.convolutions {
                        assert!(!because.contains("compiling it failed"), "{because}");
                    }
                }
                let picture = RgbImage::from_fn(96, 64, |x, y| image::Rgb([(x * y) as u8; 3]));
                let _ = reader.read(&picture);
            }
            Err(error) => {
                let said = format!("{error:#}");
                assert!(said.contains("fuzzed.onnx"), "{said}");
            }
        };
    read(fuzzed, rec);
    read(det, fuzzed);
}

/// The configuration of a small encoder; the input is its file of weights.
const CONFIG: [(&str, &[u8]); 2] = [
    (
        "config.json",
        include_bytes!("../../reference/tiny-sentence/config.json"),
    ),
    (
        "tokenizer.json",
        include_bytes!("../../reference/tiny-sentence/tokenizer.json"),
    ),
];

pub const CHECKPOINT_WORDS: &[&[u8]] = &[
    br#""data_offsets":[0,4]"#,
    br#""dtype":"F32""#,
    br#""dtype":"F16""#,
    br#""dtype":"I64""#,
    br#""shape":[]"#,
    br#""shape":[4294967296,4294967296]"#,
    br#""__metadata__":{"format":"pt"}"#,
    b"18446744073709551615",
    b"\xff\xff\xff\xff\xff\xff\xff\x7f",
];

const CHECKPOINT: &[u8] = include_bytes!("../../reference/tiny-sentence/model.safetensors");

/// Loads the bytes ([`edited`]) as the weights of a small encoder, and embeds a text if they can be loaded.
pub fn checkpoints(bytes: &[u8]) {
    let weights = edited(bytes, CHECKPOINT);
    let Ok(dir) = tempfile::tempdir() else { return };
    for (name, bytes) in CONFIG
        .into_iter()
        .chain([("model.safetensors", weights.as_slice())])
    {
        if std::fs::write(dir.path().join(name), bytes).is_err() {
            return;
        }
    }
    match Sentences::load(dir.path(), EncoderBackend::Auto) {
        Ok(sentences) => {
            let _ = sentences.embed(&["cats are better than dogs"]);
        }
        Err(error) => {
            let said = format!("{error:#}");
            assert!(said.contains("model.safetensors"), "{said}");
        }
    }
}
