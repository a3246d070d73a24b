//! Compares sentence encoders with sentence-transformers, whose values tests/reference/encoders.py has computed.

mod support;

use std::fs;
use std::path::Path;

use riposte_nn::sentence::{Layout, Pooling, Purpose, SentenceEncoder};
use riposte_nn::transformer::EncoderBackend;
use serde::Deserialize;
use serde_json::{Value, json};

use support::{Values, agree, copy_of, edit, json_of, reference};

/// The vectors of the first texts with other poolings.
#[derive(Deserialize)]
struct Poolings {
    cls: Vec<Vec<f32>>,
    lasttoken: Vec<Vec<f32>>,
}

fn load(dir: &Path) -> SentenceEncoder {
    SentenceEncoder::load(dir, EncoderBackend::Auto).unwrap()
}

const FAMILIES: [&str; 2] = ["tiny-mpnet", "tiny-xlm-roberta"];

#[test]
fn tokens_in_five_scripts_are_those_of_transformers() {
    for name in FAMILIES {
        let (values, model) = (Values::read(name), load(&reference(name)));
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
    for name in FAMILIES {
        let (values, model) = (Values::read(name), load(&reference(name)));
        assert_eq!(model.dimension(), 32);
        let texts = &values.texts()[..50];
        let together = model.embed(texts, Purpose::Document).unwrap();
        agree(&together, &values.documents);
        for (text, vector) in texts.iter().zip(together) {
            let alone = model.embed(&[text], Purpose::Document).unwrap();
            agree(&alone, &[vector]);
        }
    }
}

#[test]
fn a_query_has_the_prompt_of_queries() {
    let (values, model) = (Values::read("tiny-mpnet"), load(&reference("tiny-mpnet")));
    let texts = &values.texts()[..values.queries.len()];
    let found = model.embed(texts, Purpose::Query).unwrap();
    assert_eq!(found.len(), 10);
    agree(&found, &values.queries);
}

#[test]
fn the_pooling_is_that_of_the_checkpoint() {
    let values = Values::read("tiny-mpnet");
    let poolings: Poolings = json_of(&reference("tiny-mpnet.json"));
    for (mode, legacy, expected) in [
        ("cls", "pooling_mode_cls_token", &poolings.cls),
        ("lasttoken", "pooling_mode_lasttoken", &poolings.lasttoken),
    ] {
        for settings in [
            json!({"embedding_dimension": 32, "pooling_mode": mode}),
            json!({"word_embedding_dimension": 32, legacy: true, "pooling_mode_mean_tokens": false}),
        ] {
            let dir = copy_of("tiny-mpnet");
            let path = dir.path().join("1_Pooling/config.json");
            fs::write(path, settings.to_string()).unwrap();
            // without this file there are no prompts
            fs::remove_file(dir.path().join("config_sentence_transformers.json")).unwrap();
            let texts = &values.texts()[..expected.len()];
            let found = load(dir.path()).embed(texts, Purpose::Query).unwrap();
            agree(&found, expected);
        }
    }
}

#[test]
fn the_layout_of_2021_is_read_and_what_is_absent_has_the_usual_value() {
    let dir = copy_of("tiny-mpnet");
    let write = |name: &str, value: Value| {
        fs::write(dir.path().join(name), value.to_string()).unwrap();
    };
    let module = |n: u8, path: &str, class: &str| {
        let class = format!("sentence_transformers.models.{class}");
        json!({"idx": n, "name": n.to_string(), "path": path, "type": class})
    };
    let pooling = module(1, "1_Pooling", "Pooling");
    write(
        "modules.json",
        json!([module(0, "", "Transformer"), pooling]),
    );
    write(
        "sentence_bert_config.json",
        json!({"max_seq_length": 20, "do_lower_case": true}),
    );
    write(
        "config_sentence_transformers.json",
        json!({"__version__": {"sentence_transformers": "2.0.0"}, "prompts": {"passage": "of: "}}),
    );
    let layout = Layout::read(dir.path()).unwrap();
    assert_eq!(layout.pooling, Pooling::Mean);
    assert_eq!(layout.max_tokens, Some(20));
    assert_eq!(
        (layout.query.as_str(), layout.document.as_str()),
        ("", "of: ")
    );
    // without 2_Normalize, vectors have unit length too
    let model = load(dir.path());
    let long = "people ".repeat(18);
    let embed = |text: &str| model.embed(&[text], Purpose::Query).unwrap().remove(0);
    assert_eq!(embed(&long), embed(&format!("{long} guns")));
    let length: f32 = embed(&long).iter().map(|x| x * x).sum();
    assert!((length - 1.0).abs() < 1e-5, "{length}");
    // the tokenizer no longer makes lower case, but the layout does
    let all = fs::read_to_string(dir.path().join("tokenizer.json")).unwrap();
    let all = all.replace("\"lowercase\": true", "\"lowercase\": false");
    fs::write(dir.path().join("tokenizer.json"), all).unwrap();
    let ids = |text: &str| {
        let tokens = load(dir.path()).tokens(&[text]).unwrap();
        tokens[0].get_ids().to_vec()
    };
    assert_eq!(ids("THE People"), ids("the people"));
    write("sentence_bert_config.json", json!({"max_seq_length": null}));
    assert_ne!(ids("THE People"), ids("the people"));
    assert_eq!(Layout::read(dir.path()).unwrap().max_tokens, Some(180));
    // the transformer's own files may have a directory of their own
    let inner = dir.path().join("0_Transformer");
    fs::create_dir(&inner).unwrap();
    for name in ["config.json", "model.safetensors", "tokenizer.json"] {
        fs::rename(dir.path().join(name), inner.join(name)).unwrap();
    }
    fs::remove_file(dir.path().join("tokenizer_config.json")).unwrap();
    write(
        "modules.json",
        json!([
            module(0, "0_Transformer", "Transformer"),
            module(1, "1_Pooling", "Pooling")
        ]),
    );
    let model = load(dir.path());
    // the model has 202 positions, two of which come before the first token
    let tokens = model.tokens(&[&"people ".repeat(300)]).unwrap();
    assert_eq!(tokens[0].len(), 200);
    model
        .embed(&[&"people ".repeat(300)], Purpose::Query)
        .unwrap();
}

#[test]
fn a_directory_without_modules_has_the_layout_of_minilm() {
    let layout = Layout::read(&reference("tiny-sentence")).unwrap();
    assert_eq!(layout.pooling, Pooling::Mean);
    assert_eq!(layout.max_tokens, Some(256));
    assert!(!layout.lower_case);
    assert_eq!((layout.query.as_str(), layout.document.as_str()), ("", ""));
}

#[test]
fn what_would_change_the_vectors_is_an_error_that_names_it() {
    type Change = fn(&mut Value);
    let cases: &[(&str, Change, &str)] = &[
        (
            "modules.json",
            |file| file[2]["type"] = json!("sentence_transformers.models.Dense"),
            "the module sentence_transformers.models.Dense is not computed here",
        ),
        (
            "modules.json",
            |file| file[0]["type"] = json!("mine.Transformer"),
            "the module mine.Transformer is not computed here",
        ),
        (
            "modules.json",
            |file| file[1]["path"] = json!("../elsewhere"),
            "is in \"../elsewhere\", which is not a plain name",
        ),
        (
            "modules.json",
            |file| file.as_array_mut().unwrap().truncate(1),
            "there is no Pooling after the Transformer",
        ),
        ("modules.json", |file| *file = json!({}), "modules.json"),
        (
            "1_Pooling/config.json",
            |file| file["pooling_mode"] = json!("max"),
            "the pooling max is not computed here",
        ),
        (
            "1_Pooling/config.json",
            |file| file["pooling_mode"] = json!(["mean", "cls"]),
            "the pooling mean with cls is not computed here",
        ),
        (
            "1_Pooling/config.json",
            |file| file["embedding_dimension"] = json!(64),
            "the pooling expects rows of 64 numbers, but the model has 32",
        ),
        (
            "1_Pooling/config.json",
            |file| file["weights"] = json!(1),
            "unknown field `weights`",
        ),
        (
            "1_Pooling/config.json",
            |file| file["include_prompt"] = json!(false),
            "include_prompt is false",
        ),
        (
            "2_Normalize/config.json",
            |file| file["module_input_name"] = json!("token_embeddings"),
            "module_input_name is \"token_embeddings\"",
        ),
        (
            "sentence_bert_config.json",
            |file| file["transformer_task"] = json!("fill-mask"),
            "transformer_task is \"fill-mask\"",
        ),
        (
            "sentence_bert_config.json",
            |file| file["modality_config"]["image"] = json!({}),
            "modality_config is",
        ),
        (
            "sentence_bert_config.json",
            |file| file["query_length"] = json!(32),
            "query_length is 32",
        ),
        (
            "sentence_bert_config.json",
            |file| file["max_seq_length"] = json!(-1),
            "max_seq_length is -1: expected a number of tokens",
        ),
        (
            "config_sentence_transformers.json",
            |file| file["similarity_fn_name"] = json!("dot"),
            "similarity_fn_name is dot: expected cosine",
        ),
        (
            "config_sentence_transformers.json",
            |file| file["model_type"] = json!("SparseEncoder"),
            "model_type is SparseEncoder",
        ),
        (
            "config_sentence_transformers.json",
            |file| file["truncate_dim"] = json!(16),
            "truncate_dim is 16",
        ),
        (
            "config_sentence_transformers.json",
            |file| file["prompts"]["query"] = json!("x".repeat(20_000)),
            "a prompt has 20000 bytes",
        ),
        (
            "config_sentence_transformers.json",
            |file| file["dense"] = json!(true),
            "unknown field `dense`",
        ),
        (
            "config.json",
            |file| file["model_type"] = json!("deberta-v2"),
            "model_type is \"deberta-v2\": expected bert, mpnet",
        ),
        (
            "config.json",
            |file| file["relative_attention_num_buckets"] = json!(64),
            "relative_attention_num_buckets is 64: expected 32",
        ),
        (
            "config.json",
            |file| file["hidden_act"] = json!("silu"),
            "unknown variant `silu`",
        ),
        (
            "config.json",
            |file| file["max_position_embeddings"] = json!(2),
            "pad_token_id is 1, but there are 318 tokens and 2 positions",
        ),
        (
            "config.json",
            |file| file["is_decoder"] = json!(true),
            "is_decoder is true: expected false",
        ),
        (
            "config.json",
            |file| file["quantization_config"] = json!({"load_in_8bit": true}),
            "a quantised checkpoint cannot be read",
        ),
        (
            "config.json",
            |file| file["num_attention_heads"] = json!(8),
            "tensor encoder.relative_attention_bias.weight has shape [32, 4]: expected [32, 8]",
        ),
    ];
    for (file, change, expected) in cases {
        let dir = copy_of("tiny-mpnet");
        edit(&dir.path().join(file), change);
        let refused = SentenceEncoder::load(dir.path(), EncoderBackend::Auto).err();
        let said = refused.expect(expected).to_string();
        assert!(said.contains(expected), "{said}, not {expected}");
        assert!(!said.contains('\n'), "{said}");
        let name = file.rsplit('/').next().unwrap();
        assert!(said.contains(name), "{said} does not name {name}");
    }
}

#[test]
fn a_file_that_is_missing_is_named() {
    for missing in [
        "1_Pooling/config.json",
        "config.json",
        "tokenizer.json",
        "model.safetensors",
    ] {
        let dir = copy_of("tiny-mpnet");
        fs::remove_file(dir.path().join(missing)).unwrap();
        let refused = SentenceEncoder::load(dir.path(), EncoderBackend::Auto).err();
        let said = refused.expect(missing).to_string();
        assert!(said.contains(missing), "{said}");
    }
}

#[test]
fn a_length_without_room_for_a_word_is_refused() {
    let dir = copy_of("tiny-mpnet");
    let path = dir.path().join("sentence_bert_config.json");
    edit(&path, |file| file["max_seq_length"] = json!(2));
    let refused = SentenceEncoder::load(dir.path(), EncoderBackend::Auto).err();
    let said = refused.unwrap().to_string();
    assert!(
        said.contains("cutting texts to 2 tokens") && said.contains("it adds 2 special tokens")
    );
}
