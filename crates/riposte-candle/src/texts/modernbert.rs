//! ModernBERT (Warner et al. 2024, <https://arxiv.org/abs/2412.13663>).

use std::path::Path;

use candle_core::{DType, Tensor};
use candle_transformers::models::modernbert::{Config, ModernBert};
use riposte_nn::checkpoint::{Checkpoint, ExpectedTensor};
use riposte_nn::transformer::text::CheckpointConfig;
use serde_json::{Value, json};

use super::{ConfigReader, TextCheckpoint};

pub(super) const KIND: &str = "modernbert";

/// Every layer whose number is a multiple of this attends to the whole text, the others to a window.
const EVERY: usize = 3;

pub(super) fn open(file: &CheckpointConfig, dir: &Path) -> riposte_nn::Result<TextCheckpoint> {
    let settings = ConfigReader(file);
    refuse(&settings)?;
    let hidden = settings.size(&["hidden_size"], 768)?;
    let layers = settings.size(&["num_hidden_layers"], 22)?;
    let every = every(&settings, layers)?;
    let [global, local] = angles(&settings)?;
    let config = Config {
        vocab_size: settings.size(&["vocab_size"], 50368)?,
        hidden_size: hidden,
        num_hidden_layers: layers,
        num_attention_heads: settings.heads(&["num_attention_heads"], hidden)?,
        intermediate_size: settings.size(&["intermediate_size"], 1152)?,
        max_position_embeddings: settings.size(&["max_position_embeddings"], 8192)?,
        layer_norm_eps: settings.number(&["norm_eps"], 1e-5)?,
        // not used: texts are not padded
        pad_token_id: 0,
        global_attn_every_n_layers: every,
        global_rope_theta: global,
        local_attention: settings.size(&["local_attention"], 128)?,
        local_rope_theta: local,
        classifier_config: None,
    };
    let expected = expected_tensors(&config);
    // a checkpoint of the encoder alone has no prefix, one of the masked language model has
    let (checkpoint, prefix) = Checkpoint::open_with(dir, &expected, &["", "model."])?;
    Ok(TextCheckpoint {
        vocabulary: config.vocab_size,
        hidden,
        max_tokens: config.max_position_embeddings,
        expected,
        checkpoint: checkpoint.into(),
        prefix,
        expected_prefix: "model.",
        make: Box::new(move |tensors, max_tokens| {
            // the table of angles is as long as the longest text
            let config = Config {
                max_position_embeddings: max_tokens,
                ..config.clone()
            };
            let model = ModernBert::load(tensors, &config)?;
            Ok(Box::new(move |ids| {
                let mask = Tensor::ones(ids.shape(), DType::F32, ids.device())?;
                model.forward(ids, &mask)
            }))
        }),
    })
}

/// Refuses what candle-transformers does not compute.
fn refuse(settings: &ConfigReader) -> riposte_nn::Result<()> {
    settings.must_be("hidden_activation", &[json!("gelu")])?;
    for name in ["attention_bias", "mlp_bias", "norm_bias"] {
        settings.must_be(name, &[json!(false)])?;
    }
    Ok(())
}

/// How often a layer attends to the whole text: `global_attn_every_n_layers`, or a list of all layers in newer files.
fn every(settings: &ConfigReader, layers: usize) -> riposte_nn::Result<usize> {
    let every = settings.size(&["global_attn_every_n_layers"], EVERY)?;
    let Some(list) = settings.find(&["layer_types"]) else {
        return Ok(every);
    };
    let pattern = |every: usize| -> Value {
        let kind = |layer: usize| match layer.is_multiple_of(every) {
            true => "full_attention",
            false => "sliding_attention",
        };
        (0..layers).map(kind).collect()
    };
    // the second layer that attends to the whole text says how often; a file with a list may lack the number
    let is_whole = |kind: &Value| kind == "full_attention";
    let second = list
        .as_array()
        .and_then(|list| list.iter().skip(1).position(is_whole));
    let every = second.map_or(layers, |position| position + 1);
    match *list == pattern(every) {
        true => Ok(every),
        false => Err(settings.error(
            "layer_types is not regular: expected full_attention for every n-th layer, from the first, and sliding_attention for the others",
        )),
    }
}

/// The bases of the angles for layers that attend to the whole text, and for the others.
fn angles(settings: &ConfigReader) -> riposte_nn::Result<[f64; 2]> {
    let mut angles = [
        settings.number(&["global_rope_theta"], 160_000.0)?,
        settings.number(&["local_rope_theta"], 10_000.0)?,
    ];
    if let Some(parameters) = settings.find(&["rope_parameters"]) {
        for (angle, kind) in angles
            .iter_mut()
            .zip(["full_attention", "sliding_attention"])
        {
            if let Some(of_kind) = parameters.get(kind) {
                *angle = settings.angle(of_kind, *angle)?;
            }
        }
    }
    Ok(angles)
}

fn expected_tensors(config: &Config) -> Vec<ExpectedTensor> {
    let (hidden, inner) = (config.hidden_size, config.intermediate_size);
    let mut all = vec![
        (
            "embeddings.tok_embeddings.weight".to_owned(),
            vec![config.vocab_size, hidden],
        ),
        ("embeddings.norm.weight".to_owned(), vec![hidden]),
        ("final_norm.weight".to_owned(), vec![hidden]),
    ];
    for layer in 0..config.num_hidden_layers {
        let mut add = |name: &str, shape: &[usize]| {
            all.push((format!("layers.{layer}.{name}.weight"), shape.to_vec()));
        };
        // the embeddings have been normalised before the first layer
        if layer > 0 {
            add("attn_norm", &[hidden]);
        }
        add("attn.Wqkv", &[3 * hidden, hidden]);
        add("attn.Wo", &[hidden, hidden]);
        add("mlp_norm", &[hidden]);
        add("mlp.Wi", &[2 * inner, hidden]);
        add("mlp.Wo", &[hidden, inner]);
    }
    all
}
