//! NomicBERT (Nussbaum et al. 2024, <https://arxiv.org/abs/2402.01613>), with the names of settings of its publisher's code and of transformers.

use std::path::Path;

use candle_transformers::models::nomic_bert::{Config, NomicBertModel};
use riposte_nn::checkpoint::{Checkpoint, ExpectedTensor};
use riposte_nn::transformer::text::CheckpointConfig;
use serde_json::json;

use super::{ConfigReader, TextCheckpoint};

pub(super) const KIND: &str = "nomic_bert";

const HIDDEN: &[&str] = &["hidden_size", "n_embd"];
const HEADS: &[&str] = &["num_attention_heads", "n_head"];

/// Variants that the published models do not have.
const OFF: [&str; 8] = [
    "qkv_proj_bias",
    "mlp_fc1_bias",
    "mlp_fc2_bias",
    "prenorm",
    "parallel_block",
    "use_rms_norm",
    "causal",
    "rotary_emb_interleaved",
];

pub(super) fn open(file: &CheckpointConfig, dir: &Path) -> riposte_nn::Result<TextCheckpoint> {
    let settings = ConfigReader(file);
    refuse(&settings)?;
    let hidden = settings.size(HIDDEN, 768)?;
    let mut angle = settings.number(&["rotary_emb_base"], 1000.0)?;
    if let Some(parameters) = settings.find(&["rope_parameters"]) {
        angle = settings.angle(parameters, angle)?;
    }
    let config = Config {
        vocab_size: settings.size(&["vocab_size"], 30528)?,
        n_embd: hidden,
        n_head: settings.heads(HEADS, hidden)?,
        n_layer: settings.size(&["num_hidden_layers", "n_layer"], 12)?,
        n_inner: settings.size(&["intermediate_size", "n_inner"], 3072)?,
        n_positions: settings.size(&["max_position_embeddings", "n_positions"], 2048)?,
        type_vocab_size: settings.size(&["type_vocab_size"], 2)?,
        layer_norm_epsilon: settings.number(&["layer_norm_eps", "layer_norm_epsilon"], 1e-12)?,
        rotary_emb_base: angle,
        ..Config::default()
    };
    let expected = expected_tensors(&config);
    let (checkpoint, prefix) = Checkpoint::open_with(dir, &expected, &["", "nomic_bert."])?;
    Ok(TextCheckpoint {
        vocabulary: config.vocab_size,
        hidden,
        max_tokens: config.n_positions,
        expected,
        checkpoint: checkpoint.into(),
        prefix,
        expected_prefix: "",
        make: Box::new(move |tensors, max_tokens| {
            // the table of angles is as long as the longest text
            let config = Config {
                n_positions: max_tokens,
                ..config.clone()
            };
            let model = NomicBertModel::load(tensors, &config)?;
            Ok(Box::new(move |ids| model.forward(ids, None, None)))
        }),
    })
}

/// Refuses variants of the publisher's code that are not computed here.
fn refuse(settings: &ConfigReader) -> riposte_nn::Result<()> {
    settings.must_be("activation_function", &[json!("swiglu")])?;
    settings.must_be("hidden_act", &[json!("silu")])?;
    settings.must_be("rotary_emb_fraction", &[json!(1.0), json!(1)])?;
    for name in OFF {
        settings.must_be(name, &[json!(false)])?;
    }
    settings.must_be("scale_attn_weights", &[json!(true)])?;
    // a mixture of experts (nomic-embed-text-v2-moe)
    settings.must_be("num_experts", &[json!(0)])?;
    let hidden = settings.size(HIDDEN, 768)?;
    let heads = settings.heads(HEADS, hidden)?;
    settings.must_be("head_dim", &[json!(hidden / heads)])
}

fn expected_tensors(config: &Config) -> Vec<ExpectedTensor> {
    let (hidden, inner) = (config.n_embd, config.n_inner);
    let mut all = vec![
        (
            "embeddings.word_embeddings.weight".to_owned(),
            vec![config.vocab_size, hidden],
        ),
        (
            "embeddings.token_type_embeddings.weight".to_owned(),
            vec![config.type_vocab_size, hidden],
        ),
        ("emb_ln.weight".to_owned(), vec![hidden]),
        ("emb_ln.bias".to_owned(), vec![hidden]),
    ];
    for layer in 0..config.n_layer {
        let mut add = |name: &str, shape: &[usize]| {
            all.push((format!("encoder.layers.{layer}.{name}"), shape.to_vec()));
        };
        add("attn.Wqkv.weight", &[3 * hidden, hidden]);
        add("attn.out_proj.weight", &[hidden, hidden]);
        add("mlp.fc11.weight", &[inner, hidden]);
        add("mlp.fc12.weight", &[inner, hidden]);
        add("mlp.fc2.weight", &[hidden, inner]);
        for norm in ["norm1", "norm2"] {
            add(&format!("{norm}.weight"), &[hidden]);
            add(&format!("{norm}.bias"), &[hidden]);
        }
    }
    all
}
