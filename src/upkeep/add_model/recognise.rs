//! What a checkpoint is for, by what its files of settings say.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use riposte_nn::checkpoint::read_json;
use serde_json::{Map, Value};

use crate::disk::regular;
use crate::weights::ModelRole;

/// The ends of the names of architectures that are one tower of an image-text model, or another part of a model.
const PARTS: [&str; 4] = [
    "VisionModel",
    "TextModel",
    "VisionModelWithProjection",
    "TextModelWithProjection",
];

/// The role of the checkpoint in `dir`.
///
/// # Errors
/// It is none that riposte uses. The message names the file and the setting.
pub(super) fn role(dir: &Path) -> Result<ModelRole> {
    let has = |name: &str| regular::is_file(&dir.join(name));
    if has("modules.json")? {
        return of_modules(dir);
    }
    let is_hugging_face = has("config.json")? && has("model.safetensors")?;
    if has("open_clip_config.json")? && !is_hugging_face {
        return Ok(ModelRole::Clip);
    }
    let path = dir.join("config.json");
    let config: Map<String, Value> = read_json(&path)?;
    of_config(&config).with_context(|| path.display().to_string())
}

/// What sentence-transformers calls the modules.
fn of_modules(dir: &Path) -> Result<ModelRole> {
    let path = dir.join("modules.json");
    let modules: Vec<Map<String, Value>> = read_json(&path)?;
    let field = |module: &Map<String, Value>, name: &str| {
        let text = module.get(name).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let class = modules.first().map(|module| field(module, "type"));
    let class = class.unwrap_or_default();
    if class.ends_with("CLIPModel") {
        let part = modules.first().map(|module| field(module, "path"));
        bail!(
            "{}: the module {class} is a model of its own: add the directory {:?} instead",
            path.display(),
            part.unwrap_or_default()
        );
    }
    Ok(ModelRole::Sentence)
}

fn of_config(config: &Map<String, Value>) -> Result<ModelRole> {
    ensure!(
        config.get("quantization_config").is_none_or(Value::is_null),
        "quantization_config: the weights are quantised, and riposte reads only floats"
    );
    let kind = config.get("model_type").and_then(Value::as_str);
    let architecture = config
        .get("architectures")
        .and_then(|all| all.get(0)?.as_str());
    let architecture = architecture.unwrap_or_default();
    let has = |name: &str| config.contains_key(name);
    if (has("text_config") || has("text_config_dict"))
        && (has("vision_config") || has("vision_config_dict"))
    {
        return Ok(ModelRole::Clip);
    }
    if kind.is_some_and(|kind| kind.contains("clip"))
        && !PARTS.iter().any(|part| architecture.ends_with(part))
    {
        return Ok(ModelRole::Clip);
    }
    if architecture.ends_with("ForSequenceClassification") {
        return Ok(ModelRole::Cross);
    }
    if let Some((_, task)) = architecture.split_once("For") {
        bail!(
            "architectures: {architecture} is trained for {task}: riposte uses image-text models, sentence encoders and cross-encoders"
        );
    }
    match kind {
        Some("bert" | "mpnet" | "xlm-roberta" | "modernbert" | "nomic_bert") => {
            Ok(ModelRole::Sentence)
        }
        Some(kind) => bail!(
            "model_type: {kind} is neither an image-text model nor an encoder of sentences that riposte computes"
        ),
        None => bail!("model_type is missing, so it is unknown what the model is"),
    }
}

/// What a user should know about a model that riposte accepts.
pub(super) fn note(role: ModelRole, dir: &Path) -> Option<&'static str> {
    let has_modules = regular::is_file(&dir.join("modules.json")).unwrap_or(false);
    (role == ModelRole::Sentence && !has_modules).then_some(
        "there is no modules.json, so a vector is the mean of the tokens, of 256 at most: is the model trained for that?",
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_config_says_what_a_model_is_for_and_others_are_refused_by_a_setting() {
        let of = |config: Value| of_config(config.as_object().unwrap());
        for (config, role) in [
            (
                json!({"model_type": "clip", "architectures": ["CLIPModel"]}),
                ModelRole::Clip,
            ),
            (
                json!({"model_type": "siglip", "text_config": {}, "vision_config": {}}),
                ModelRole::Clip,
            ),
            (
                json!({"text_config_dict": {}, "vision_config_dict": {}}),
                ModelRole::Clip,
            ),
            (
                json!({"model_type": "bert", "architectures": ["BertForSequenceClassification"]}),
                ModelRole::Cross,
            ),
            (
                json!({"model_type": "bert", "architectures": ["BertModel"]}),
                ModelRole::Sentence,
            ),
            (json!({"model_type": "mpnet"}), ModelRole::Sentence),
        ] {
            assert_eq!(of(config.clone()).unwrap(), role, "{config}");
        }
        for (config, said) in [
            (
                json!({"model_type": "bert", "architectures": ["BertForMaskedLM"]}),
                "architectures: BertForMaskedLM is trained for MaskedLM",
            ),
            (
                json!({"model_type": "llama", "architectures": ["LlamaForCausalLM"]}),
                "LlamaForCausalLM",
            ),
            (
                json!({"model_type": "mobilenet_v2"}),
                "model_type: mobilenet_v2",
            ),
            (
                json!({"model_type": "clip_vision_model", "architectures": ["CLIPVisionModel"]}),
                "model_type: clip_vision_model",
            ),
            (
                json!({"model_type": "clip", "quantization_config": {"bits": 4}}),
                "quantization_config",
            ),
            (json!({}), "model_type is missing"),
        ] {
            let error = of(config.clone()).unwrap_err().to_string();
            assert!(error.contains(said), "{config}: {error}");
        }
    }
}
