//! Compares CLIP with Hugging Face's implementation, on small random checkpoints (tests/reference/encoders.py).

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use image::{Rgb, RgbImage};
use riposte::evidence::clip::{Clip, Pixels};
use riposte_nn::conv::Numeric;
use riposte_nn::transformer::EncoderBackend;
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::checkpoint::{copy_of, edit_header, edit_json, largest_difference};
use crate::support::files::json as read_json;
use crate::support::{assert_says, message, reference};

#[derive(Deserialize)]
pub struct Reference {
    pub images: Vec<ImageReference>,
    pub texts: Vec<TextReference>,
}

#[derive(Deserialize)]
pub struct ImageReference {
    pub image_width: u32,
    pub image_height: u32,
    pixels: PixelReference,
    pub vector: Vec<f32>,
}

#[derive(Deserialize)]
struct PixelReference {
    height: usize,
    width: usize,
    row_sums: Vec<Vec<i64>>,
    column_sums: Vec<Vec<i64>>,
    samples: Vec<(usize, usize, usize, f32)>,
}

#[derive(Deserialize)]
pub struct TextReference {
    pub text: String,
    pub vector: Vec<f32>,
}

/// The pattern that tests/reference/encoders.py draws.
pub fn picture(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        let fast = (x / 16 + y / 16) % 2 * 90;
        Rgb([0, 1, 2]
            .map(|c| ((x * x / 9 + y * y / 5 + x * y * c / 7 + 37 * c + fast) % 256) as u8))
    })
}

/// The checkpoints, each with the mean and the standard deviation of its preprocessing.
const CHECKPOINTS: [(&str, [f32; 3], [f32; 3]); 2] = [
    ("tiny-clip", [0.5, 0.4, 0.3], [0.2, 0.25, 0.3]),
    (
        "tiny-clip-gelu",
        [0.48145466, 0.4578275, 0.40821073],
        [0.26862954, 0.2613026, 0.2757771],
    ),
];

fn load(name: &str) -> (Clip, Reference) {
    load_with(name, EncoderBackend::Auto)
}

fn load_with(name: &str, backend: EncoderBackend) -> (Clip, Reference) {
    let expected: Reference = read_json(&reference(&format!("{name}.json")));
    assert!(!expected.images.is_empty() && !expected.texts.is_empty());
    let clip = Clip::load(&reference(name), backend, Numeric::Float).unwrap();
    (clip, expected)
}

/// Each checkpoint, loaded by each implementation.
fn by_each_implementation() -> impl Iterator<Item = (&'static str, Clip, Reference)> {
    CHECKPOINTS.iter().flat_map(|(name, ..)| {
        [EncoderBackend::Auto, EncoderBackend::Float]
            .into_iter()
            .map(move |backend| {
                let (clip, expected) = load_with(name, backend);
                (*name, clip, expected)
            })
    })
}

#[test]
fn pixels_are_those_of_pillow() {
    for (name, mean, std) in CHECKPOINTS {
        let (clip, expected) = load(name);
        for image in expected.images {
            let pixels = clip.preprocess(&picture(image.image_width, image.image_height));
            let what = format!("{name}, {} × {}", image.image_width, image.image_height);
            let (height, width) = (image.pixels.height, image.pixels.width);
            assert_eq!((pixels.height, pixels.width), (height, width), "{what}");
            let at = |c, y, x| pixels.values[(c * height + y) * width + x];
            for (c, y, x, value) in image.pixels.samples {
                assert!(
                    (at(c, y, x) - value).abs() < 1e-4,
                    "{what}: ({c}, {y}, {x}) {} {value}",
                    at(c, y, x)
                );
            }
            // in integers, so that a difference of one level in one pixel changes two sums
            let level = |c: usize, y, x| ((at(c, y, x) * std[c] + mean[c]) * 255.0).round() as i64;
            for c in 0..3 {
                let rows: Vec<i64> = (0..height)
                    .map(|y| (0..width).map(|x| level(c, y, x)).sum())
                    .collect();
                let columns: Vec<i64> = (0..width)
                    .map(|x| (0..height).map(|y| level(c, y, x)).sum())
                    .collect();
                assert_eq!(
                    rows, image.pixels.row_sums[c],
                    "{what}, rows of channel {c}"
                );
                assert_eq!(
                    columns, image.pixels.column_sums[c],
                    "{what}, columns of channel {c}"
                );
            }
        }
    }
}

#[test]
fn image_vectors_are_those_of_hugging_face() {
    for (name, clip, expected) in by_each_implementation() {
        let pixels: Vec<Pixels> = expected
            .images
            .iter()
            .map(|image| clip.preprocess(&picture(image.image_width, image.image_height)))
            .collect();
        let vectors = clip.embed_images(&pixels).unwrap();
        assert_eq!(vectors.len(), expected.images.len());
        for (vector, image) in vectors.iter().zip(&expected.images) {
            assert_eq!(vector.len(), image.vector.len());
            let difference = largest_difference(vector, &image.vector);
            assert!(
                difference < 1e-4,
                "{name}, {} × {}: {difference}",
                image.image_width,
                image.image_height
            );
        }
        assert!(clip.embed_images(&[]).unwrap().is_empty());
    }
}

#[test]
fn text_vectors_are_those_of_hugging_face() {
    for (name, clip, expected) in by_each_implementation() {
        let texts: Vec<&str> = expected
            .texts
            .iter()
            .map(|text| text.text.as_str())
            .collect();
        let together = clip.embed_texts(&texts).unwrap();
        assert_eq!(together.len(), texts.len());
        for ((vector, text), expected) in together.iter().zip(&texts).zip(&expected.texts) {
            let difference = largest_difference(vector, &expected.vector);
            assert!(difference < 1e-4, "{name}, {text:?}: {difference}");
            let alone = &clip.embed_texts(&[text]).unwrap()[0];
            assert!(
                largest_difference(vector, alone) < 1e-6,
                "{name}, {text:?} alone"
            );
        }
    }
}

#[test]
fn an_image_has_the_same_vector_in_any_batch() {
    let dir = checkpoint_of_width(96);
    let clip = Clip::load(dir.path(), EncoderBackend::Auto, Numeric::Float).unwrap();
    let pixels: Vec<Pixels> = (1..8)
        .map(|n| clip.preprocess(&picture(40 + n, 90 / n)))
        .collect();
    let together = clip.embed_images(&pixels).unwrap();
    let alone: Vec<Vec<f32>> = pixels
        .iter()
        .flat_map(|pixels| clip.embed_images(std::slice::from_ref(pixels)).unwrap())
        .collect();
    assert_eq!(together, alone);
    assert_ne!(together[0], together[1]);
}

#[test]
fn int8_is_computed_only_if_asked_for_and_says_how_near_it_is() {
    let dir = checkpoint_of_width(64);
    let float = Clip::load(dir.path(), EncoderBackend::Auto, Numeric::Float).unwrap();
    let int8 = Clip::load(dir.path(), EncoderBackend::Auto, Numeric::Int8).unwrap();
    let pictures = [(300, 200), (64, 64), (224, 500)];
    let vectors = |clip: &Clip| -> Vec<Vec<f32>> {
        let pixels: Vec<Pixels> = pictures
            .iter()
            .map(|&(width, height)| clip.preprocess(&picture(width, height)))
            .collect();
        clip.embed_images(&pixels).unwrap()
    };
    let (exact, near) = (vectors(&float), vectors(&int8));
    assert_eq!((float.numeric(), float.agreement()), (Numeric::Float, None));
    if int8.numeric() == Numeric::Float {
        // the machine has no instructions for int8
        assert_eq!((exact, int8.agreement()), (near, None));
        return;
    }
    assert_ne!(exact, near);
    let agreement = int8.agreement().expect("it was quantised by examples");
    assert!((0.99..1.0).contains(&agreement), "{agreement}");
    for (exact, near) in exact.iter().zip(&near) {
        let cosine: f32 = exact.iter().zip(near).map(|(a, b)| a * b).sum();
        assert!((0.99..=1.00001).contains(&cosine), "{cosine}");
    }
}

#[test]
fn the_producer_names_the_weights() {
    let producer = Clip::producer_of("1234abcd");
    assert!(producer.starts_with("clip/"));
    assert!(producer.ends_with(" 1234abcd"));
}

#[test]
fn a_damaged_checkpoint_is_named() {
    let tensor = "vision_model.embeddings.class_embedding";
    let copy = copy_of("tiny-clip");
    edit_header(copy.path(), |header| {
        let class = header.remove(tensor).unwrap();
        header.insert("something_else".to_owned(), class);
    });
    let said = message(Clip::load(
        copy.path(),
        EncoderBackend::Auto,
        Numeric::Float,
    ));
    assert_says(
        &said,
        &[&format!("tensor {tensor} is missing: expected shape [24]")],
    );

    let copy = copy_of("tiny-clip");
    edit_header(copy.path(), |header| {
        header[tensor]["shape"] = json!([4, 6])
    });
    let said = message(Clip::load(
        copy.path(),
        EncoderBackend::Auto,
        Numeric::Float,
    ));
    assert_says(
        &said,
        &[&format!("tensor {tensor} has shape [4, 6]: expected [24]")],
    );

    let copy = copy_of("tiny-clip");
    edit_header(copy.path(), |header| header[tensor]["dtype"] = json!("I32"));
    let said = message(Clip::load(
        copy.path(),
        EncoderBackend::Auto,
        Numeric::Float,
    ));
    assert_says(
        &said,
        &[&format!(
            "tensor {tensor} holds I32: expected F32, F16 or BF16"
        )],
    );

    let copy = copy_of("tiny-clip");
    let path = copy.path().join("model.safetensors");
    let bytes = fs::metadata(&path).unwrap().len();
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(bytes - 1)
        .unwrap();
    let said = message(Clip::load(
        copy.path(),
        EncoderBackend::Auto,
        Numeric::Float,
    ));
    assert_says(&said, &["model.safetensors", "truncated or damaged"]);

    for length in [100, 7, 0] {
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(length)
            .unwrap();
        let said = message(Clip::load(
            copy.path(),
            EncoderBackend::Auto,
            Numeric::Float,
        ));
        assert_says(
            &said,
            &[&format!("ends after {length} bytes, inside the header")],
        );
    }

    fs::write(&path, b"<!DOCTYPE html><html>not found</html>").unwrap();
    let said = message(Clip::load(
        copy.path(),
        EncoderBackend::Auto,
        Numeric::Float,
    ));
    assert!(said.contains("not a safetensors file"), "{said}");
}

#[test]
fn an_absent_file_is_named() {
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        let copy = copy_of("tiny-clip");
        fs::remove_file(copy.path().join(file)).unwrap();
        let said = message(Clip::load(
            copy.path(),
            EncoderBackend::Auto,
            Numeric::Float,
        ));
        assert_says(&said, &[&*copy.path().join(file).to_string_lossy()]);
    }
}

#[test]
fn a_configuration_that_does_not_fit_is_refused() {
    let refused = |file: &str, pointer: &str, value: Value| {
        let copy = copy_of("tiny-clip");
        edit_json(&copy.path().join(file), |config| {
            *config.pointer_mut(pointer).unwrap() = value.clone();
        });
        message(Clip::load(
            copy.path(),
            EncoderBackend::Auto,
            Numeric::Float,
        ))
    };
    let config = |pointer, value| refused("config.json", pointer, value);
    let said = config("/vision_config/num_attention_heads", json!(5));
    assert_says(
        &said,
        &["hidden_size 24 is not a multiple of num_attention_heads 5"],
    );
    let said = config("/vision_config/patch_size", json!(0));
    assert!(said.contains("patch_size is 0"), "{said}");
    let said = config("/text_config/hidden_act", json!("swish"));
    assert_says(&said, &["config.json", "swish"]);
    let said = config("/text_config/vocab_size", json!(525));
    assert_says(&said, &["knows token 525, but the model has 525"]);
    let said = config("/text_config/max_position_embeddings", json!(1));
    assert!(said.contains("cutting texts to 1 tokens"), "{said}");
    let said = refused("preprocessor_config.json", "/crop_size/height", json!(33));
    assert_says(&said, &["33 × 32", "config.json requires 32 × 32"]);
    let said = refused("preprocessor_config.json", "/resample", json!(0));
    assert!(said.contains("resample is 0"), "{said}");
}

#[test]
fn pixels_of_another_model_are_refused() {
    let (tiny, gelu) = (load("tiny-clip").0, load("tiny-clip-gelu").0);
    let said = message(tiny.embed_images(&[gelu.preprocess(&picture(8, 8))]));
    assert_says(&said, &["pixels of 224 × 224: the model takes 32 × 32"]);
}

/// The published configurations, with the keys of the published files.
#[test]
fn published_configurations_ask_for_the_published_tensors() {
    let towers = |text: [usize; 4], vision: [usize; 5], projection: usize| {
        let [width, inner, layers, heads] = text;
        let text = json!({"hidden_size": width, "intermediate_size": inner, "num_hidden_layers": layers,
            "num_attention_heads": heads, "eos_token_id": 2});
        let [width, inner, layers, heads, patch] = vision;
        let vision = json!({"hidden_size": width, "intermediate_size": inner, "num_hidden_layers": layers,
            "num_attention_heads": heads, "patch_size": patch});
        json!({"projection_dim": projection, "text_config": text, "vision_config": vision,
            "text_config_dict": null, "vision_config_dict": null})
    };
    let base = [512, 2048, 12, 8];
    let large = [768, 3072, 12, 12];
    // the number of parameters in both towers and the projections, which is the number in the published checkpoint without logit_scale
    let cases = [
        (json!({}), 151_277_312),
        (towers(base, [768, 3072, 12, 12, 16], 512), 149_620_736),
        (towers(large, [1024, 4096, 24, 16, 14], 768), 427_616_512),
    ];
    for (config, parameters) in cases {
        let dir = tempfile::tempdir().unwrap();
        fs::copy(
            reference("tiny-clip/tokenizer.json"),
            dir.path().join("tokenizer.json"),
        )
        .unwrap();
        fs::write(dir.path().join("config.json"), config.to_string()).unwrap();
        let shapes = clip_shapes(&config);
        let total: usize = shapes
            .values()
            .map(|shape| shape.iter().product::<usize>())
            .sum();
        assert_eq!(total, parameters);
        write_sparse(dir.path(), &shapes);
        Clip::check(dir.path()).unwrap();

        let mut wrong = shapes.clone();
        wrong.get_mut("visual_projection.weight").unwrap()[0] += 1;
        write_sparse(dir.path(), &wrong);
        let said = message(Clip::check(dir.path()));
        assert_says(&said, &["visual_projection.weight has shape"]);
    }
}

/// The names and shapes of the tensors in a Hugging Face CLIP checkpoint, as `CLIPModel.state_dict()` lists them.
fn clip_shapes(config: &Value) -> BTreeMap<String, Vec<usize>> {
    let number = |tower: &str, key: &str, default: usize| {
        config[tower][key]
            .as_u64()
            .map_or(default, |value| value as usize)
    };
    let projection = config["projection_dim"].as_u64().unwrap_or(512) as usize;
    let mut shapes = BTreeMap::new();
    let mut add = |name: &str, shape: &[usize]| shapes.insert(name.to_owned(), shape.to_vec());
    for (tower, key, hidden, inner) in [
        ("text_model", "text_config", 512, 2048),
        ("vision_model", "vision_config", 768, 3072),
    ] {
        let (h, i) = (
            number(key, "hidden_size", hidden),
            number(key, "intermediate_size", inner),
        );
        for n in 0..number(key, "num_hidden_layers", 12) {
            let layer = format!("{tower}.encoder.layers.{n}");
            for part in [
                "self_attn.k_proj",
                "self_attn.v_proj",
                "self_attn.q_proj",
                "self_attn.out_proj",
            ] {
                add(&format!("{layer}.{part}.weight"), &[h, h]);
                add(&format!("{layer}.{part}.bias"), &[h]);
            }
            for part in ["layer_norm1", "layer_norm2"] {
                add(&format!("{layer}.{part}.weight"), &[h]);
                add(&format!("{layer}.{part}.bias"), &[h]);
            }
            add(&format!("{layer}.mlp.fc1.weight"), &[i, h]);
            add(&format!("{layer}.mlp.fc1.bias"), &[i]);
            add(&format!("{layer}.mlp.fc2.weight"), &[h, i]);
            add(&format!("{layer}.mlp.fc2.bias"), &[h]);
        }
        let norms: &[&str] = if tower == "text_model" {
            &["final_layer_norm"]
        } else {
            &["pre_layrnorm", "post_layernorm"]
        };
        for norm in norms {
            add(&format!("{tower}.{norm}.weight"), &[h]);
            add(&format!("{tower}.{norm}.bias"), &[h]);
        }
    }
    let (text, vision) = (
        number("text_config", "hidden_size", 512),
        number("vision_config", "hidden_size", 768),
    );
    let (patch, side) = (
        number("vision_config", "patch_size", 32),
        number("vision_config", "image_size", 224),
    );
    add(
        "text_model.embeddings.token_embedding.weight",
        &[number("text_config", "vocab_size", 49408), text],
    );
    add(
        "text_model.embeddings.position_embedding.weight",
        &[77, text],
    );
    add("vision_model.embeddings.class_embedding", &[vision]);
    add(
        "vision_model.embeddings.patch_embedding.weight",
        &[vision, 3, patch, patch],
    );
    add(
        "vision_model.embeddings.position_embedding.weight",
        &[(side / patch).pow(2) + 1, vision],
    );
    add("text_projection.weight", &[projection, text]);
    add("visual_projection.weight", &[projection, vision]);
    shapes
}

/// Writes the header for 32-bit tensors of these shapes. Returns the open file and the number of bytes that must follow.
fn write_header(dir: &Path, shapes: &BTreeMap<String, Vec<usize>>) -> (File, u64) {
    let mut header = serde_json::Map::new();
    let mut end = 0;
    for (name, shape) in shapes {
        let start = end;
        end += 4 * shape.iter().product::<usize>();
        header.insert(
            name.clone(),
            json!({"dtype": "F32", "shape": shape, "data_offsets": [start, end]}),
        );
    }
    let header = serde_json::to_vec(&header).unwrap();
    let mut file = File::create(dir.join("model.safetensors")).unwrap();
    file.write_all(&(header.len() as u64).to_le_bytes())
        .unwrap();
    file.write_all(&header).unwrap();
    (file, end as u64)
}

/// Writes a checkpoint of the right size as a sparse file, so its weights need no space on the disk.
fn write_sparse(dir: &Path, shapes: &BTreeMap<String, Vec<usize>>) {
    let (file, bytes) = write_header(dir, shapes);
    let header = file.metadata().unwrap().len();
    file.set_len(header + bytes).unwrap();
}

/// A random checkpoint whose vision tower has four layers of `width`. Towers of this width run the same code as real models.
fn checkpoint_of_width(width: usize) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let config = json!({"projection_dim": width,
        "text_config": {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 1,
            "vocab_size": 526, "eos_token_id": 525},
        "vision_config": {"hidden_size": width, "intermediate_size": 4 * width, "num_hidden_layers": 4,
            "num_attention_heads": width / 32}});
    fs::write(dir.path().join("config.json"), config.to_string()).unwrap();
    fs::copy(
        reference("tiny-clip/tokenizer.json"),
        dir.path().join("tokenizer.json"),
    )
    .unwrap();
    let (mut file, bytes) = write_header(dir.path(), &clip_shapes(&config));
    let mut state = 1u32;
    let weights: Vec<u8> = (0..bytes / 4)
        .flat_map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((state >> 8) as f32 / (1 << 24) as f32 * 0.2 - 0.1).to_le_bytes()
        })
        .collect();
    file.write_all(&weights).unwrap();
    dir
}
