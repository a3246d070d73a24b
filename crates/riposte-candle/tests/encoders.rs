//! The encoders of riposte, computed by candle, compared with the same values of other frameworks as riposte's own backend
//! (tests/reference/encoders.py).

use std::path::PathBuf;

use image::{Rgb, RgbImage};
use need::{Kind, Thing, need};
use riposte::evidence::clip::{Clip, Pixels};
use riposte::evidence::sentence::Sentences;
use riposte::reading::cross::CrossEncoder;
use riposte::reading::stance_encoder::{OUTPUTS, StanceEncoder};
use riposte::weights::{CheckedModel, ModelStatus, Models};
use riposte_nn::conv::Numeric;
use riposte_nn::sentence::{Purpose, SentenceEncoder};
use riposte_nn::transformer::Backend;
use serde::Deserialize;
use serde::de::DeserializeOwned;

const CANDLE: Backend = Backend::Given(riposte_candle::layers);

fn reference(name: &str) -> PathBuf {
    let references = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/reference");
    PathBuf::from(references).join(name)
}

fn values<T: DeserializeOwned>(name: &str) -> T {
    serde_json::from_slice(&std::fs::read(reference(name)).unwrap()).unwrap()
}

#[track_caller]
fn agree(what: &str, found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (found - expected).abs() < 1e-4,
            "{what}: {found}, not {expected}"
        );
    }
}

#[derive(Deserialize)]
struct Text {
    text: String,
    vector: Vec<f32>,
}

fn agree_on_sentences(model: &Sentences, expected: &[Text]) {
    assert_eq!(model.numeric(), Numeric::Float);
    let texts: Vec<&str> = expected.iter().map(|text| text.text.as_str()).collect();
    let vectors = model.embed(&texts).unwrap();
    assert_eq!(vectors.len(), texts.len());
    for (vector, expected) in vectors.iter().zip(expected) {
        agree(&expected.text, vector, &expected.vector);
    }
    assert!(model.embed(&[]).unwrap().is_empty());
}

#[test]
fn sentence_vectors_are_those_of_sentence_transformers() {
    let model = Sentences::load(&reference("tiny-sentence"), CANDLE).unwrap();
    agree_on_sentences(&model, &values::<Vec<Text>>("tiny-sentence.json"));
}

/// Attention that depends on distance, in texts of many lengths that are padded to the longest one; and positions that begin after the padding.
#[test]
fn vectors_of_other_families_are_those_of_sentence_transformers() {
    #[derive(Deserialize)]
    struct Values {
        tokens: Vec<Tokens>,
        documents: Vec<Vec<f32>>,
    }
    #[derive(Deserialize)]
    struct Tokens {
        text: String,
    }
    for name in ["tiny-mpnet", "tiny-xlm-roberta"] {
        let values: Values = values(&format!("{name}.json"));
        let model = SentenceEncoder::load(&reference(name), CANDLE).unwrap();
        let texts: Vec<&str> = values.tokens.iter().map(|t| t.text.as_str()).collect();
        let texts = &texts[..values.documents.len()];
        let vectors = model.embed(texts, Purpose::Document).unwrap();
        assert_eq!(vectors.len(), 50);
        for ((vector, expected), text) in vectors.iter().zip(&values.documents).zip(texts) {
            agree(text, vector, expected);
        }
        let lone = model.embed(&texts[8..9], Purpose::Document).unwrap();
        agree(texts[8], &lone[0], &values.documents[8]);
    }
}

/// The published sentence encoder.
struct MiniLm;

impl Thing for MiniLm {
    type Found = CheckedModel;

    fn kind(&self) -> Option<Kind> {
        Some(Kind::Models)
    }

    fn find(&self) -> Result<CheckedModel, String> {
        let models = Models::at(None).map_err(|error| format!("{error:#}"))?;
        match models.find("all-minilm-l6-v2").unwrap() {
            ModelStatus::Ready(model) => Ok(model),
            ModelStatus::Missing { .. } => Err("the model all-minilm-l6-v2 is missing".to_owned()),
            ModelStatus::Wrong { file, why } => panic!("{file} {why}"),
        }
    }
}

#[test]
fn the_real_model_agrees_with_sentence_transformers() {
    if let Some(model) = need(MiniLm) {
        let model = Sentences::load(&model.dir, CANDLE).unwrap();
        agree_on_sentences(&model, &values::<Vec<Text>>("minilm.json"));
    }
}

#[test]
fn scores_of_a_cross_encoder_are_those_of_sentence_transformers() {
    #[derive(Deserialize)]
    struct Pair {
        topic: String,
        text: String,
        score: f32,
    }
    let expected: Vec<Pair> = values("tiny-cross.json");
    let model = CrossEncoder::load(&reference("tiny-cross"), "sha", CANDLE).unwrap();
    for pair in &expected {
        let score = model.score(&pair.topic, &[&pair.text]).unwrap();
        agree(&pair.text, &score, &[pair.score]);
    }
    // in a batch, texts are padded to the longest one
    let together: Vec<&str> = expected.iter().map(|pair| pair.text.as_str()).collect();
    let scores = model.score(&expected[0].topic, &together).unwrap();
    for (score, text) in scores.iter().zip(&together) {
        let alone = model.score(&expected[0].topic, &[text]).unwrap();
        agree(text, &[*score], &alone);
    }
}

#[test]
fn logits_of_the_stance_encoder_are_those_of_transformers() {
    #[derive(Deserialize)]
    struct Pair {
        claim: String,
        text: String,
        logits: [f32; OUTPUTS],
    }
    let trained = std::fs::read(reference("tiny-pair.safetensors")).unwrap();
    let dir = reference("tiny-sentence");
    let model = StanceEncoder::load_trained(&dir, "tiny", &trained, CANDLE).unwrap();
    let expected: Vec<Pair> = values("tiny-pair.json");
    let pairs: Vec<(&str, &str)> = expected
        .iter()
        .map(|pair| (pair.claim.as_str(), pair.text.as_str()))
        .collect();
    let readings = model.read(&pairs).unwrap();
    assert_eq!(readings.len(), expected.len());
    for (reading, expected) in readings.iter().zip(&expected) {
        agree(&expected.text, &reading.outputs(), &expected.logits);
    }
}

#[derive(Deserialize)]
struct Picture {
    image_width: u32,
    image_height: u32,
    vector: Vec<f32>,
}

impl Picture {
    /// The pattern that tests/reference/encoders.py draws.
    fn draw(&self) -> RgbImage {
        RgbImage::from_fn(self.image_width, self.image_height, |x, y| {
            let fast = (x / 16 + y / 16) % 2 * 90;
            Rgb([0, 1, 2]
                .map(|c| ((x * x / 9 + y * y / 5 + x * y * c / 7 + 37 * c + fast) % 256) as u8))
        })
    }
}

#[test]
fn vectors_of_clip_are_those_of_hugging_face() {
    #[derive(Deserialize)]
    struct Reference {
        images: Vec<Picture>,
        texts: Vec<Text>,
    }
    for name in ["tiny-clip", "tiny-clip-gelu"] {
        let expected: Reference = values(&format!("{name}.json"));
        let clip = Clip::load(&reference(name), CANDLE, Numeric::Float).unwrap();
        let pictures = expected.images.iter().map(Picture::draw);
        let pixels: Vec<Pixels> = pictures.map(|image| clip.preprocess(&image)).collect();
        let vectors = clip.embed_images(&pixels).unwrap();
        assert_eq!(vectors.len(), expected.images.len());
        for (vector, expected) in vectors.iter().zip(&expected.images) {
            agree(name, vector, &expected.vector);
        }
        let texts: Vec<&str> = expected.texts.iter().map(|t| t.text.as_str()).collect();
        let together = clip.embed_texts(&texts).unwrap();
        assert_eq!(together.len(), texts.len());
        for ((vector, text), expected) in together.iter().zip(&texts).zip(&expected.texts) {
            agree(text, vector, &expected.vector);
            agree(text, vector, &clip.embed_texts(&[text]).unwrap()[0]);
        }
    }
}
