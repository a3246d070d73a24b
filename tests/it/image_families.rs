//! Image-text models of other families than CLIP: what their files may say, and runs with them. crates/riposte-candle/tests/image_text.rs compares what
//! they compute.

use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use riposte::device::Compute;
use riposte::evidence::clip::Clip;
use riposte::places::Places;
use riposte::session::{CollectionSource, Session};
use riposte::weights::{ModelCatalogue, Models};
use riposte::{Approach, Collection, Event, Task};
use riposte_nn::conv::Numeric;
use riposte_nn::transformer::EncoderBackend;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::checkpoint::{copy_of, edit_json};
use crate::support::files::{self, json_lines};
use crate::support::program::WorkDir;
use crate::support::{message, reference, sample};

/// Families, a file of each, a setting in it (with slashes), its value, and what the refusal says.
fn refusals() -> Vec<(
    &'static str,
    &'static str,
    &'static str,
    Value,
    &'static str,
)> {
    let config = "config.json";
    let pictures = "preprocessor_config.json";
    let tokens = "tokenizer_config.json";
    let open = "open_clip_config.json";
    let siglip = [
        (
            config,
            "model_type",
            json!("siglip2"),
            "(naflex) is not computed here",
        ),
        (
            config,
            "model_type",
            json!("blip"),
            "expected clip, siglip or chinese_clip",
        ),
        (
            config,
            "quantization_config",
            json!({"bits": 4}),
            "a quantised checkpoint",
        ),
        (
            config,
            "text_config/hidden_act",
            json!("silu"),
            "unknown variant `silu`",
        ),
        (
            config,
            "text_config/layer_norm_eps",
            json!(-1.0),
            "layer_norm_eps is -1",
        ),
        (
            config,
            "text_config/projection_size",
            json!(48),
            "projection_size is 48",
        ),
        (
            config,
            "text_config/hidden_size",
            json!(0),
            "hidden_size is 0",
        ),
        (
            config,
            "vision_config/hidden_size",
            json!(64),
            "must have one length",
        ),
        (
            config,
            "text_config/max_position_embeddings",
            json!(1u64 << 40),
            "max_position_embeddings is 1099511627776",
        ),
        (
            config,
            "vision_config/num_attention_heads",
            json!(5),
            "not a multiple of num_attention_heads 5",
        ),
        (
            config,
            "vision_config/num_hidden_layers",
            json!(1 << 20),
            "num_hidden_layers is 1048576: expected 1 to 1024",
        ),
        (
            config,
            "vision_config/vision_use_head",
            json!(false),
            "vision_use_head is false",
        ),
        (
            config,
            "vision_config/image_size",
            json!([32, 48]),
            "only squares are computed",
        ),
        (
            config,
            "vision_config/patch_size",
            json!(0),
            "patch_size is 0",
        ),
        (
            config,
            "vision_config/patch_size",
            json!(33),
            "patch_size 33 is larger than image_size 32",
        ),
        (
            config,
            "vision_config/num_channels",
            json!(4),
            "num_channels is 4",
        ),
        (
            pictures,
            "image_processor_type",
            json!("Siglip2ImageProcessor"),
            "image_processor_type is Siglip2ImageProcessor",
        ),
        (
            pictures,
            "size",
            json!({"height": 64, "width": 64}),
            "makes images of 64 × 64",
        ),
        (
            pictures,
            "size",
            json!({"shortest_edge": 32}),
            "makes images of any size",
        ),
        (tokens, "pad_token", json!("<none>"), "pads with <none>"),
        (
            tokens,
            "pad_token",
            Value::Null,
            "with which token texts are padded",
        ),
    ];
    let chinese = [
        (
            config,
            "text_config/hidden_act",
            json!("tanh"),
            "unknown variant `tanh`",
        ),
        (
            config,
            "text_config/position_embedding_type",
            json!("relative_key"),
            "position_embedding_type is relative_key",
        ),
        (
            config,
            "text_config/is_decoder",
            json!(true),
            "is_decoder is true",
        ),
        (
            config,
            "text_config/type_vocab_size",
            json!(0),
            "type_vocab_size is 0",
        ),
        (
            config,
            "text_config/vocab_size",
            json!(100),
            "knows token 312, but the model has 100",
        ),
        (
            config,
            "vision_config/patch_size",
            json!(0),
            "patch_size is 0",
        ),
        (config, "projection_dim", json!(0), "projection_dim is 0"),
    ];
    let open_clip = [
        (
            open,
            "model_cfg/vision_cfg/timm_model_name",
            json!("fastvit_mci1"),
            "timm_model_name is \"fastvit_mci1\": a picture tower of timm",
        ),
        (
            open,
            "model_cfg/vision_cfg/layers",
            json!([3, 4, 6, 3]),
            "layers is [3,4,6,3]: a ResNet",
        ),
        (
            open,
            "model_cfg/vision_cfg/attentional_pool",
            json!(true),
            "attentional_pool is true",
        ),
        (
            open,
            "model_cfg/vision_cfg/image_size",
            json!([32, 48]),
            "image_size is [32,48]",
        ),
        (
            open,
            "model_cfg/vision_cfg/head_width",
            json!(0),
            "not a multiple of head_width 0",
        ),
        (
            open,
            "model_cfg/vision_cfg/mlp_ratio",
            json!(0),
            "mlp_ratio is 0",
        ),
        (
            open,
            "model_cfg/vision_cfg/act_kwargs",
            json!({"approximate": "tanh"}),
            "act_kwargs is",
        ),
        (
            open,
            "model_cfg/text_cfg/hf_model_name",
            json!("xlm-roberta-base"),
            "hf_model_name is \"xlm-roberta-base\": a text tower of transformers",
        ),
        (
            open,
            "model_cfg/text_cfg/pool_type",
            json!("last"),
            "pool_type is \"last\"",
        ),
        (
            open,
            "model_cfg/text_cfg/tokenizer_kwargs",
            json!({"clean": "canonicalize"}),
            "tokenizer_kwargs is",
        ),
        (
            open,
            "model_cfg/text_cfg/new_setting",
            json!(1),
            "new_setting is 1, which is not computed here",
        ),
        (
            open,
            "model_cfg/custom_text",
            json!(true),
            "custom_text is true",
        ),
        (
            open,
            "model_cfg/multimodal_cfg",
            json!({"width": 512}),
            "multimodal_cfg is",
        ),
        (
            open,
            "preprocess_cfg/resize_mode",
            json!("longest"),
            "resize_mode is longest",
        ),
        (
            open,
            "preprocess_cfg/interpolation",
            json!("nearest"),
            "interpolation is nearest",
        ),
        (
            open,
            "preprocess_cfg/size",
            json!([32, 48]),
            "size is 32 × 48",
        ),
        (
            open,
            "preprocess_cfg/std",
            json!([0.1, 0, 0.1]),
            "contains a zero",
        ),
    ];
    let of = |family| move |(file, at, value, said)| (family, file, at, value, said);
    let siglip = siglip.into_iter().map(of("tiny-siglip"));
    let chinese = chinese.into_iter().map(of("tiny-chinese-clip"));
    let open_clip = open_clip.into_iter().map(of("tiny-open-clip"));
    siglip.chain(chinese).chain(open_clip).collect()
}

#[test]
fn what_would_change_the_vectors_is_an_error_that_names_it() {
    for (family, file, at, value, expected) in refusals() {
        let copy = copy_of(family);
        edit_json(&copy.path().join(file), |settings| {
            let mut place = settings;
            for name in at.split('/') {
                place = &mut place[name];
            }
            *place = value.clone();
        });
        let said = message(Clip::check(copy.path()));
        assert!(
            said.contains(expected),
            "{family}, {at}: {said}, not {expected}"
        );
        assert!(!said.contains('\n'), "{said}");
        let is_named = said.contains(&*copy.path().to_string_lossy()) && said.contains(".json");
        assert!(is_named || said.contains("vocab.txt"), "{said}");
    }
}

#[test]
fn words_without_a_special_token_are_refused() {
    let copy = copy_of("tiny-chinese-clip");
    let words = copy.path().join("vocab.txt");
    let all = fs::read_to_string(&words).unwrap();
    fs::write(&words, all.replacen("[CLS]", "[XLS]", 1)).unwrap();
    let said = message(Clip::check(copy.path()));
    assert!(said.contains("vocab.txt lacks [CLS]"), "{said}");
    fs::remove_file(&words).unwrap();
    let said = message(Clip::check(copy.path()));
    assert!(said.contains("tokenizer.json"), "{said}");
}

/// The tokenizer.json that transformers would make of vocab.txt.
fn tokenizer_of_words(dir: &Path) -> Value {
    let words = fs::read_to_string(dir.join("vocab.txt")).unwrap();
    let words = words.lines().enumerate();
    let words: serde_json::Map<String, Value> = words
        .map(|(id, word)| (word.to_owned(), json!(id)))
        .collect();
    let special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map(|token| {
        json!({"id": words[token], "content": token, "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true})
    });
    json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": special,
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", words["[SEP]"]], "cls": ["[CLS]", words["[CLS]"]]},
        "decoder": null,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": words}})
}

/// Also: a tokenizer.json is preferred, so a Chinese CLIP with both files is read as by transformers.
#[test]
fn a_tokenizer_from_vocab_txt_is_the_one_of_tokenizer_json() {
    let copy = copy_of("tiny-chinese-clip");
    let load = || Clip::load(copy.path(), EncoderBackend::Auto, Numeric::Float).unwrap();
    let from_words = load();
    let json = tokenizer_of_words(copy.path());
    fs::write(copy.path().join("tokenizer.json"), json.to_string()).unwrap();
    let from_json = load();
    let texts = [
        "",
        "the Death penalty",
        "日本 the 核電 [SEP] [MASK]",
        "Ünïcode, cat-s!",
    ];
    let ids = |model: &Clip| -> Vec<Vec<u32>> {
        let tokens = model.tokens(&texts).unwrap();
        tokens.iter().map(|text| text.get_ids().to_vec()).collect()
    };
    assert_eq!(ids(&from_words), ids(&from_json));
    assert!(ids(&from_words).iter().skip(1).all(|ids| ids.len() > 4));
}

/// The name of CLIP's model in the catalogue. A model of another family can be put there.
const NAME: &str = "clip-vit-base-patch32";

/// A run with the files of a checkpoint, by the command line. Returns what was said, the run and its explanations.
fn run(dir: &WorkDir, out: &str) -> (String, String, String) {
    let sample = sample().display();
    let (_, said) = dir.succeeds(&format!(
        "images -i {sample} -o {out} --models models --evidence all.sqlite --explain {out}/explain.jsonl --threads 2"
    ));
    (
        said,
        dir.read(&format!("{out}/run.txt")),
        dir.read(&format!("{out}/explain.jsonl")),
    )
}

/// The values of a signal in explanations.
fn values(explained: &str, signal: &str) -> Vec<f64> {
    fn walk(value: &Value, signal: &str, found: &mut Vec<f64>) {
        match value {
            Value::Object(object) => {
                if object.get("name") == Some(&json!(signal)) {
                    found.extend(object["value"].as_f64());
                }
                object.values().for_each(|value| walk(value, signal, found));
            }
            Value::Array(all) => all.iter().for_each(|value| walk(value, signal, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    for value in json_lines(explained) {
        walk(&value, signal, &mut found);
    }
    found
}

#[test]
fn images_are_ranked_with_each_family_and_again_without_the_model() {
    let mut runs = BTreeSet::new();
    for family in [
        "tiny-clip-gelu",
        "tiny-siglip",
        "tiny-siglip2",
        "tiny-chinese-clip",
    ] {
        let dir = WorkDir::new();
        let model = dir.path("models").join(NAME);
        files::copy(&reference(family), &model);
        if family == "tiny-clip-gelu" {
            // the catalogue names it; an empty one means the usual preprocessing
            fs::write(model.join("preprocessor_config.json"), "{}").unwrap();
        }
        if family == "tiny-chinese-clip" {
            let json = tokenizer_of_words(&model);
            fs::write(model.join("tokenizer.json"), json.to_string()).unwrap();
        }
        let (said, first, explained) = run(&dir, "first");
        assert!(!said.contains("clip is off"), "{family}: {said}");
        let found = values(&explained, "clip topic");
        assert!(found.len() > 10, "{family}: {}", &explained[..2000]);
        assert!(
            found.iter().all(|value| (0.0..=1.0).contains(value)),
            "{family}"
        );
        // what a model makes of a cosine is stored, so the same run needs no model
        fs::remove_dir_all(dir.path("models")).unwrap();
        let (_, again, _) = run(&dir, "again");
        assert_eq!(first, again, "{family}");
        // the cosines of the others, which are random, are outside of the range of trained ones
        if family == "tiny-siglip2" {
            assert!(found.iter().any(|value| *value != found[0]));
            let store = Connection::open(dir.path("all.sqlite")).unwrap();
            let change = "DELETE FROM output WHERE producer LIKE 'clip/%' AND length(value) = 8";
            assert_eq!(store.execute(change, []).unwrap(), 1);
            drop(store);
            let (_, as_clip, _) = run(&dir, "as-clip");
            assert_ne!(first, as_clip, "the range of SigLIP is that of CLIP");
        }
        assert!(runs.insert(first), "{family}");
    }
}

/// A catalogue that has the files of a checkpoint as a model for pictures and texts.
fn catalogue_of(files: &[&str]) -> ModelCatalogue {
    let mut toml = format!(
        "[[model]]\nname = \"{NAME}\"\nrole = \"clip\"\ndefault = true\ngives = \"g\"\nlicence = \"l\"\npaper = \"p\"\nsize = \"1 kB\"\n"
    );
    for file in files {
        toml += &format!(
            "[[model.file]]\nfile = \"{file}\"\nsource = [{{ url = \"https://example.org/{file}\" }}]\n"
        );
    }
    ModelCatalogue::parse(&toml).unwrap()
}

#[test]
fn models_with_other_files_are_used_if_a_catalogue_names_them() {
    for (family, names) in [
        (
            "tiny-open-clip",
            &[
                "open_clip_config.json",
                "open_clip_model.safetensors",
                "tokenizer.json",
            ][..],
        ),
        (
            "tiny-chinese-clip",
            &[
                "config.json",
                "model.safetensors",
                "preprocessor_config.json",
                "vocab.txt",
            ],
        ),
    ] {
        let dir = WorkDir::new();
        files::copy(&reference(family), &dir.path("models").join(NAME));
        let places = Places {
            cache: Some(dir.path("cache")),
            ..Places::default()
        };
        let models = Models::with_catalogue(&dir.path("models"), catalogue_of(names));
        let session = Session::new(places, models, Compute::default());
        let source = CollectionSource::new(session, sample());
        let collection = Collection::of(Task::Images, source);
        let approach = Approach::named(Task::Images, "riposte").unwrap();
        let mut notes = Vec::new();
        let request = collection.request(approach).explained();
        let ranking = request.rank(|event| {
            if let Event::Note(note) = event {
                notes.push(note.text);
            }
            ControlFlow::Continue(())
        });
        let ranking = ranking.unwrap();
        assert!(
            !notes.iter().any(|note| note.contains("clip is off")),
            "{notes:?}"
        );
        let listed: Vec<_> = ranking.documents().collect();
        let first = ranking.explanation(&listed[0]).unwrap();
        let explained = format!("{first:?}");
        assert!(explained.contains("clip topic"), "{family}: {explained}");
    }
}
