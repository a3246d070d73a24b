//! ModernBERT and NomicBERT, compared with the values that sentence-transformers has computed (tests/reference/encoders.py).

#[path = "../../riposte-nn/tests/support/mod.rs"]
mod support;

use std::fs;
use std::path::Path;

use riposte_candle::texts::OTHERS;
use riposte_nn::conv::Numeric;
use riposte_nn::sentence::{Purpose, SentenceEncoder};
use riposte_nn::transformer::EncoderBackend;
use safetensors::SafeTensors;
use serde_json::{Value, json};

use support::{Values, agree, copy_of, reference};

const NAMES: [&str; 2] = ["tiny-modernbert", "tiny-nomic-bert"];

fn load(dir: &Path) -> Result<SentenceEncoder, String> {
    let loaded = SentenceEncoder::load_any(dir, EncoderBackend::Auto, OTHERS, None);
    loaded.map_err(|error| error.to_string())
}

#[test]
fn tokens_in_five_scripts_are_those_of_transformers() {
    for name in NAMES {
        let (values, model) = (Values::read(name), load(&reference(name)).unwrap());
        assert_eq!(values.tokens.len(), 200);
        // some texts are cut, after 180 tokens
        assert!(values.tokens.iter().filter(|t| t.ids.len() == 180).count() > 5);
        let found = model.tokens(&values.texts()).unwrap();
        for (found, expected) in found.iter().zip(&values.tokens) {
            assert_eq!(found.get_ids(), expected.ids, "{name}, {:?}", expected.text);
        }
    }
}

#[test]
fn vectors_are_those_of_sentence_transformers() {
    for name in NAMES {
        let (values, model) = (Values::read(name), load(&reference(name)).unwrap());
        assert_eq!((model.dimension(), model.numeric()), (32, Numeric::Float));
        let texts = values.texts();
        let together = model.embed(&texts[..50], Purpose::Document).unwrap();
        agree(&together, &values.documents);
        agree(
            &model.embed(&texts[..10], Purpose::Query).unwrap(),
            &values.queries,
        );
        // to the last bit: a text has one vector, whatever else is computed with it
        for (text, vector) in texts.iter().zip(together) {
            let alone = model.embed(&[text], Purpose::Document).unwrap();
            assert_eq!(alone, [vector]);
        }
    }
    let nomic = Values::read("tiny-nomic-bert");
    assert_ne!(nomic.documents[5], nomic.queries[5]);
}

fn edit(dir: &Path, change: impl FnOnce(&mut Value)) {
    support::edit(&dir.join("config.json"), change);
}

/// Writes the tensors again under other names.
fn rename(dir: &Path, name: impl Fn(&str) -> String) {
    let path = dir.join("model.safetensors");
    let bytes = fs::read(&path).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let tensors = tensors.iter().map(|(of, view)| (name(of), view));
    safetensors::serialize_to_file(tensors, None, &path).unwrap();
}

#[test]
fn published_files_with_older_names_are_the_same_models() {
    let modern = copy_of("tiny-modernbert");
    edit(modern.path(), |config| {
        let config = config.as_object_mut().unwrap();
        config.remove("layer_types");
        config.remove("rope_parameters");
        config.insert("global_attn_every_n_layers".to_owned(), json!(3));
        config.insert("global_rope_theta".to_owned(), json!(160000.0));
        config.insert("local_rope_theta".to_owned(), json!(10000.0));
        config.insert("position_embedding_type".to_owned(), json!("absolute"));
        config.insert("layer_norm_eps".to_owned(), json!(0.7));
    });
    rename(modern.path(), |name| format!("model.{name}"));
    let nomic = copy_of("tiny-nomic-bert");
    fs::write(
        nomic.path().join("config.json"),
        json!({
            "model_type": "nomic_bert", "vocab_size": 313, "n_embd": 32, "n_head": 4, "n_layer": 2, "n_inner": 48, "n_positions": 202,
            "type_vocab_size": 2, "layer_norm_epsilon": 1e-12, "rotary_emb_base": 1000, "rotary_emb_fraction": 1.0,
            "rotary_emb_interleaved": false, "rotary_emb_scale_base": null, "qkv_proj_bias": false, "mlp_fc1_bias": false,
            "mlp_fc2_bias": false, "activation_function": "swiglu", "prenorm": false, "use_rms_norm": null, "causal": false,
            "parallel_block": false, "scale_attn_weights": true,
        })
        .to_string(),
    )
    .unwrap();
    for (dir, name) in [(modern, "tiny-modernbert"), (nomic, "tiny-nomic-bert")] {
        let (values, model) = (Values::read(name), load(dir.path()).unwrap());
        let found = model.embed(&values.texts()[..50], Purpose::Document);
        agree(&found.unwrap(), &values.documents);
    }
}

#[test]
fn what_would_change_the_vectors_is_an_error_that_names_it() {
    let both = |name: &'static str, value: Value| NAMES.map(|model| (model, name, value.clone()));
    let modern = |name, value| ("tiny-modernbert", name, value);
    let nomic = |name, value| ("tiny-nomic-bert", name, value);
    let angles = |kind: &str| json!({"full_attention": {"rope_type": kind}, "rope_type": kind});
    let mut cases = vec![
        modern("hidden_activation", json!("silu")),
        modern("attention_bias", json!(true)),
        modern("mlp_bias", json!(true)),
        modern("norm_bias", json!(true)),
        modern("layer_types", json!(["full_attention"])),
        modern("layer_types", json!(7)),
        modern("norm_eps", json!(0)),
        modern("norm_eps", json!("small")),
        modern("local_attention", json!(-1)),
        modern("global_attn_every_n_layers", json!(0)),
        nomic("activation_function", json!("gelu")),
        nomic("hidden_act", json!("gelu")),
        nomic("rotary_emb_fraction", json!(0.5)),
        nomic("qkv_proj_bias", json!(true)),
        nomic("prenorm", json!(true)),
        nomic("use_rms_norm", json!(true)),
        nomic("rotary_emb_interleaved", json!(true)),
        nomic("scale_attn_weights", json!(false)),
        nomic("num_experts", json!(8)),
        nomic("head_dim", json!(16)),
        nomic("type_vocab_size", json!(0)),
    ];
    for (name, value) in [
        ("hidden_size", json!(0)),
        ("hidden_size", json!(1_u64 << 40)),
        ("hidden_size", json!("32")),
        ("num_attention_heads", json!(5)),
        ("num_attention_heads", json!(32)),
        ("num_hidden_layers", json!(1_u64 << 63)),
        ("vocab_size", json!(1.5)),
        ("rope_parameters", angles("yarn")),
    ] {
        cases.extend(both(name, value));
    }
    for (model, name, value) in cases {
        let dir = copy_of(model);
        edit(dir.path(), |config| config[name] = value.clone());
        let said = load(dir.path()).err();
        let said = said.unwrap_or_else(|| panic!("{model} with {name} {value} is read"));
        let named = if name == "rope_parameters" {
            "rope_type"
        } else {
            name
        };
        assert!(
            said.contains("config.json: ") && said.contains(named),
            "{said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn a_damaged_checkpoint_is_an_error_that_names_the_tensor() {
    for (name, tensor) in [
        ("tiny-modernbert", "layers.3.mlp.Wi.weight"),
        ("tiny-nomic-bert", "encoder.layers.1.mlp.fc12.weight"),
    ] {
        let dir = copy_of(name);
        rename(dir.path(), |of| of.replace(tensor, "another"));
        let said = load(dir.path()).err().unwrap();
        assert!(
            said.contains(&format!("tensor {tensor} is missing")),
            "{said}"
        );
        let dir = copy_of(name);
        edit(dir.path(), |config| config["intermediate_size"] = json!(25));
        let said = load(dir.path()).err().unwrap();
        assert!(said.contains("has shape"), "{said}");
        let path = dir.path().join("model.safetensors");
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        let said = load(dir.path()).err().unwrap();
        assert!(said.contains("truncated or damaged"), "{said}");
    }
}

#[test]
fn other_families_are_named_if_a_model_is_none() {
    let dir = copy_of("tiny-modernbert");
    edit(dir.path(), |config| {
        config["model_type"] = json!("deberta-v2")
    });
    let said = load(dir.path()).err().unwrap();
    for kind in [
        "deberta-v2",
        "bert",
        "mpnet",
        "xlm-roberta",
        "modernbert",
        "nomic_bert",
    ] {
        assert!(said.contains(kind), "{said}");
    }
}
