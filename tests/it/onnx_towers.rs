//! Compares the towers of ONNX files with Hugging Face's implementation (tests/reference/onnx_towers.py), and refuses files that are none.

use std::fs;
use std::path::Path;

use image::RgbImage;
use onnx_writer::{GraphWriter, numbers};
use riposte::evidence::clip::Clip;
use riposte_nn::conv::Numeric;
use riposte_nn::transformer::EncoderBackend;
use serde_json::json;
use tempfile::TempDir;

use crate::clip::{Reference, picture};
use crate::support::checkpoint::edit_json;
use crate::support::files::{copy, json as read_json, text};
use crate::support::program::{riposte, stderr, succeed};
use crate::support::{assert_says, message, reference, sample};

const TOWERS: [&str; 2] = ["vision_model.onnx", "text_model.onnx"];

/// A model with the settings of tiny-clip, and with its towers in `inner`.
fn model(inner: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for name in ["config.json", "preprocessor_config.json", "tokenizer.json"] {
        fs::copy(reference("tiny-clip").join(name), dir.path().join(name)).unwrap();
    }
    copy(&reference("tiny-clip-onnx"), &dir.path().join(inner));
    dir
}

fn load(dir: &Path) -> anyhow::Result<Clip> {
    Clip::load(dir, EncoderBackend::Auto, Numeric::Float)
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    product(a, b) / (product(a, a) * product(b, b)).sqrt()
}

#[test]
fn vectors_are_those_of_hugging_face_and_depend_on_nothing_else() {
    let expected: Reference = read_json(&reference("tiny-clip.json"));
    for inner in ["", "onnx"] {
        let dir = model(inner);
        let clip = load(dir.path()).unwrap();
        let (texts, images) = (&expected.texts, &expected.images);
        let words: Vec<&str> = texts.iter().map(|of| of.text.as_str()).collect();
        let vectors = clip.embed_texts(&words).unwrap();
        for (of, vector) in texts.iter().zip(&vectors) {
            assert_eq!(vector.len(), 20);
            assert!(cosine(&of.vector, vector) > 0.9999, "{}", of.text);
            // neither the order nor the texts beside it matter
            assert_eq!(clip.embed_texts(&[&of.text]).unwrap()[0], *vector);
        }
        let pixels: Vec<_> = images
            .iter()
            .map(|of| clip.preprocess(&picture(of.image_width, of.image_height)))
            .collect();
        let vectors = clip.embed_images(&pixels).unwrap();
        assert!(vectors.len() > 2);
        for ((of, pixels), vector) in images.iter().zip(pixels).zip(&vectors) {
            let size = (of.image_width, of.image_height);
            assert!(cosine(&of.vector, vector) > 0.9999, "{size:?}");
            assert_eq!(clip.embed_images(&[pixels]).unwrap()[0], *vector);
        }
        assert!(clip.embed_images(&[]).unwrap().is_empty());
        assert!(clip.embed_texts(&[]).unwrap().is_empty());
        assert_eq!(clip.numeric(), Numeric::Float);
    }
}

#[test]
fn images_are_ranked_with_them() {
    let home = TempDir::new().unwrap();
    let (models, out) = (home.path().join("no-models"), home.path().join("out"));
    let dir = model("onnx");
    let args = ["models", "add", text(dir.path()), "--name", "onnx-clip"];
    succeed(&mut riposte(home.path(), &args));
    assert!(models.join("onnx-clip/onnx/text_model.onnx").is_file());
    let input = text(sample());
    let args = [
        "images",
        "-i",
        input,
        "-o",
        text(&out),
        "--clip",
        "onnx-clip",
        "--require",
        "clip",
        "--limit",
        "6",
    ];
    let output = succeed(&mut riposte(home.path(), &args));
    assert_says(&stderr(&output), &["6 images  onnx-clip"]);
    let run = fs::read_to_string(out.join("run.txt")).unwrap();
    assert!(run.lines().count() > 5, "{run}");
    let metadata = fs::read_to_string(out.join("ir-metadata.yml")).unwrap();
    assert_says(&metadata, &["onnx-clip"]);
}

#[test]
fn a_missing_tower_and_other_settings_are_one_line_that_names_them() {
    for name in TOWERS {
        let dir = model("onnx");
        fs::remove_file(dir.path().join("onnx").join(name)).unwrap();
        assert_says(
            &message(load(dir.path())),
            &[name, "is missing, the tower of"],
        );
        // without any tower, it is a checkpoint without weights
        fs::remove_dir_all(dir.path().join("onnx")).unwrap();
        assert_says(&message(load(dir.path())), &["model.safetensors"]);
    }
    let dir = model("");
    edit_json(&dir.path().join("config.json"), |config| {
        config["model_type"] = json!("siglip");
    });
    assert_says(
        &message(load(dir.path())),
        &["config.json", "model_type is siglip"],
    );
    let dir = model("");
    edit_json(&dir.path().join("config.json"), |config| {
        config["projection_dim"] = json!(512);
    });
    let clip = load(dir.path()).unwrap();
    let said = message(clip.embed_texts(&["a"]));
    assert_says(&said, &["text_model.onnx", "[1, 20]", "projection_dim"]);
    let dir = model("");
    edit_json(&dir.path().join("preprocessor_config.json"), |config| {
        config["size"] = json!({"shortest_edge": 48});
        config["crop_size"] = json!({"height": 48, "width": 48});
    });
    let clip = load(dir.path()).unwrap();
    let pixels = clip.preprocess(&RgbImage::new(40, 40));
    assert_says(
        &message(clip.embed_images(&[pixels])),
        &["vision_model.onnx", "32", "48"],
    );
}

/// What is said of a model with this tower of texts.
fn said_of(bytes: &[u8]) -> String {
    let dir = model("");
    fs::write(dir.path().join("text_model.onnx"), bytes).unwrap();
    let clip = load(dir.path()).unwrap();
    let said = message(clip.embed_texts(&["a photo", "a protest sign"]));
    assert_says(&said, &["text_model.onnx"]);
    assert_eq!(said.lines().count(), 1, "{said}");
    said
}

#[test]
fn files_that_are_no_towers_are_errors() {
    let whole = fs::read(reference("tiny-clip-onnx").join("text_model.onnx")).unwrap();
    for part in [
        &whole[..0],
        &whole[..whole.len() / 2],
        &[0xff; 64],
        &b"not a network"[..],
    ] {
        said_of(part);
    }
    let graph = |input: &str, output: &str| {
        GraphWriter::default()
            .input(input, &[-1, -1])
            .floats("w", &[1], &numbers(1))
            .node("Mul", &[input, "w"], output, &[])
            .output(output, &[-1, 20])
            .model()
    };
    let said = said_of(&graph("tokens", "text_embeds"));
    assert_says(
        &said,
        &[
            "the input tokens is unknown",
            "input_ids and attention_mask",
        ],
    );
    let said = said_of(&graph("attention_mask", "text_embeds"));
    assert_says(&said, &["there is no input input_ids"]);
    let said = said_of(&graph("input_ids", "last_hidden_state"));
    assert_says(&said, &["no output text_embeds, only last_hidden_state"]);
    // it takes floats, and gives as many numbers as tokens
    said_of(&graph("input_ids", "text_embeds"));
    let fixed = GraphWriter::default().input("input_ids", &[4, 24]).node(
        "Relu",
        &["input_ids"],
        "text_embeds",
        &[],
    );
    assert_says(
        &said_of(&fixed.output("text_embeds", &[4, 24]).model()),
        &["a fixed batch"],
    );
    let short = GraphWriter::default().input("input_ids", &[1, 9]).node(
        "Relu",
        &["input_ids"],
        "text_embeds",
        &[],
    );
    let said = said_of(&short.output("text_embeds", &[1, 9]).model());
    assert_says(&said, &["[1, 9]", "24 tokens"]);
}

#[test]
fn a_network_for_one_text_of_one_length_is_padded() {
    let expected: Reference = read_json(&reference("tiny-clip.json"));
    let dir = model("");
    // the same network, whose inputs say that they take 24 tokens: the names of the axes become numbers of the same length
    let path = dir.path().join("text_model.onnx");
    let bytes = fixed(&fs::read(&path).unwrap());
    fs::write(&path, bytes).unwrap();
    let clip = load(dir.path()).unwrap();
    for of in &expected.texts {
        let vectors = clip.embed_texts(&[&of.text, "a photo"]).unwrap();
        assert!(cosine(&of.vector, &vectors[0]) > 0.9999, "{}", of.text);
    }
}

/// The file with fixed axes. An axis is a message: `dim_param` (field 2, a text) becomes `dim_value` (field 1, a number) and a `denotation` (field 3), so
/// that its length stays.
fn fixed(bytes: &[u8]) -> Vec<u8> {
    let mut fixed = bytes.to_vec();
    let mut replaced = 0;
    for (name, size) in [(&b"sequence_length"[..], 24), (b"batch_size", 1)] {
        let length = name.len() as u8;
        let axis = [&[0x12, length][..], name].concat();
        let mut number = vec![0x08, size, 0x1a, length - 2];
        number.extend(std::iter::repeat_n(b'x', usize::from(length) - 2));
        for at in 0..fixed.len() - axis.len() {
            if fixed[at..].starts_with(&axis) {
                fixed[at..at + axis.len()].copy_from_slice(&number);
                replaced += 1;
            }
        }
    }
    assert!(replaced >= 5, "{replaced}");
    fixed
}
