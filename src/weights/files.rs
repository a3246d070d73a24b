//! Which files of a checkpoint riposte reads, by their names, and why a checkpoint without them is refused.

use std::collections::BTreeSet;

use anyhow::{Result, bail};

/// The files of settings and tokens that a loader reads.
const SETTINGS: [&str; 11] = [
    "config.json",
    "config_sentence_transformers.json",
    "modules.json",
    "open_clip_config.json",
    "preprocessor_config.json",
    "sentence_bert_config.json",
    "sentence_roberta_config.json",
    "sentence_xlm-roberta_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
];

/// The files with weights. If a checkpoint has both, the first is read.
const WEIGHTS: &str = "model.safetensors";
const OPEN_CLIP: &str = "open_clip_model.safetensors";

/// The towers of an ONNX model, in its directory or in `onnx/`.
const TOWERS: [&str; 2] = ["vision_model.onnx", "text_model.onnx"];
const ONNX: &str = "onnx/";

/// The files of a model, by their paths in its directory.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    /// A few kilobytes or megabytes. They say what the model is.
    pub settings: Vec<String>,
    pub weights: Vec<String>,
}

/// Chooses the files that riposte reads from those of a checkpoint.
///
/// # Errors
/// There are no weights that riposte reads, or no settings. The message names the file that is missing or refused.
pub(super) fn choose(names: &BTreeSet<String>) -> Result<Chosen> {
    let weights = weights(names)?;
    let has_modules = names.contains("modules.json");
    // a model of OpenCLIP is known by its own configuration
    let other_layout = match weights.iter().any(|name| name == OPEN_CLIP) {
        true => "config.json",
        false => "open_clip_config.json",
    };
    let is_read = |name: &&String| {
        let (dir, file) = name.rsplit_once('/').unwrap_or(("", name));
        let is_module = has_modules && is_module(dir);
        SETTINGS.contains(&file) && (dir.is_empty() || is_module) && *name != other_layout
    };
    let settings: Vec<String> = names.iter().filter(is_read).cloned().collect();
    let is_config = |name: &String| name == "config.json" || name == "open_clip_config.json";
    if !has_modules && !settings.iter().any(is_config) {
        bail!("there is no config.json, which says what the model is");
    }
    Ok(Chosen { settings, weights })
}

/// Whether a directory of a checkpoint can have files that riposte reads.
pub(super) fn is_read_within(dir: &str) -> bool {
    is_module(dir) || dir == ONNX.trim_end_matches('/')
}

/// Whether a directory is one that `modules.json` can name, such as `1_Pooling`.
fn is_module(dir: &str) -> bool {
    let number = dir.split('_').next().unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) && !dir.contains('/')
}

fn weights(names: &BTreeSet<String>) -> Result<Vec<String>> {
    for name in [WEIGHTS, OPEN_CLIP] {
        if names.contains(name) {
            return Ok(vec![name.to_owned()]);
        }
    }
    let module = names.iter().find(|name| {
        let place = name.split_once('/');
        place.is_some_and(|(dir, file)| is_module(dir) && file == WEIGHTS)
    });
    if let Some(name) = module.filter(|_| names.contains("modules.json")) {
        return Ok(vec![name.clone()]);
    }
    for dir in ["", ONNX] {
        let towers = TOWERS.map(|tower| format!("{dir}{tower}"));
        if towers.iter().all(|tower| names.contains(tower)) {
            return Ok(towers.into());
        }
    }
    // what is in other directories may be another model
    let here = |name: &&String| !name.strip_prefix(ONNX).unwrap_or(name).contains('/');
    Err(refusal(&names.iter().filter(here).cloned().collect()))
}

/// Why there are no weights that riposte reads.
fn refusal(names: &BTreeSet<String>) -> anyhow::Error {
    let ending = |endings: &[&str]| {
        let has_ending = |name: &&String| endings.iter().any(|end| name.ends_with(end));
        names.iter().find(has_ending)
    };
    let why = if let Some(name) = ending(&[".safetensors.index.json"]) {
        format!(
            "{name}: the weights are in several files, and riposte reads one model.safetensors: in Python, load the model with transformers, and write it with save_pretrained(DIR, max_shard_size=\"1TB\")"
        )
    } else if let Some(name) = ending(&["adapter_model.safetensors", "adapter_config.json"]) {
        format!(
            "{name}: an adapter, which changes another model: merge it into that model with peft, and add the result"
        )
    } else if let Some(name) = ending(&[".gguf", ".ggml"]) {
        format!("{name}: riposte does not read GGUF, only model.safetensors with floats")
    } else if let Some(name) = ending(&[".bin", ".pt", ".pth", ".ckpt", ".pkl"]) {
        format!(
            "{name}: riposte reads no pickles, because loading one runs code: in Python, load the model with transformers, and write model.safetensors with save_pretrained(DIR)"
        )
    } else if let Some(name) = ending(&[".onnx"]) {
        onnx_refusal(name, names)
    } else if let Some(name) = ending(&[".h5", ".msgpack", ".mlmodel", ".mlpackage", ".tflite"]) {
        format!("{name}: riposte reads only model.safetensors, and towers as ONNX files")
    } else {
        "there is no model.safetensors, and there are no vision_model.onnx and text_model.onnx"
            .to_owned()
    };
    anyhow::anyhow!(why)
}

/// Why ONNX files are refused. `name` is one of them.
fn onnx_refusal(name: &str, names: &BTreeSet<String>) -> String {
    let has = |tower: &str| names.contains(tower) || names.contains(&format!("{ONNX}{tower}"));
    match TOWERS.map(has) {
        [true, false] => {
            "there is vision_model.onnx, but no text_model.onnx: riposte compares pictures with texts, so it needs both towers".to_owned()
        }
        [false, true] => "there is text_model.onnx, but no vision_model.onnx: riposte compares pictures with texts, so it needs both towers".to_owned(),
        _ => format!(
            "{name}: riposte reads ONNX models as two files, vision_model.onnx and text_model.onnx, because a ranking computes one of the towers alone"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &str) -> BTreeSet<String> {
        list.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_files_of_each_layout_are_chosen_and_no_others() {
        for (all, settings, weights) in [
            (
                "README.md config.json flax_model.msgpack merges.txt model.safetensors onnx/vision_model.onnx onnx/text_model.onnx preprocessor_config.json pytorch_model.bin tokenizer.json 1_Pooling/config.json",
                "config.json preprocessor_config.json tokenizer.json",
                "model.safetensors",
            ),
            (
                "1_Pooling/config.json 2_Normalize/config.json config.json data/config.json model.safetensors modules.json sentence_bert_config.json tokenizer.json",
                "1_Pooling/config.json 2_Normalize/config.json config.json modules.json sentence_bert_config.json tokenizer.json",
                "model.safetensors",
            ),
            (
                "0_Transformer/config.json 0_Transformer/model.safetensors 0_Transformer/tokenizer.json 1_Pooling/config.json modules.json",
                "0_Transformer/config.json 0_Transformer/tokenizer.json 1_Pooling/config.json modules.json",
                "0_Transformer/model.safetensors",
            ),
            (
                "config.json onnx/model.onnx onnx/text_model.onnx onnx/vision_model.onnx onnx/text_model_fp16.onnx tokenizer.json",
                "config.json tokenizer.json",
                "onnx/vision_model.onnx onnx/text_model.onnx",
            ),
            (
                "open_clip_config.json open_clip_model.safetensors tokenizer.json",
                "open_clip_config.json tokenizer.json",
                "open_clip_model.safetensors",
            ),
            (
                "config.json open_clip_config.json open_clip_model.safetensors",
                "open_clip_config.json",
                "open_clip_model.safetensors",
            ),
            (
                "config.json model.safetensors open_clip_config.json open_clip_model.safetensors",
                "config.json",
                "model.safetensors",
            ),
        ] {
            let chosen = choose(&names(all)).unwrap();
            assert_eq!(chosen.settings.join(" "), settings, "{all}");
            assert_eq!(chosen.weights.join(" "), weights, "{all}");
        }
    }

    #[test]
    fn a_refusal_names_the_file_and_the_mend() {
        for (all, said) in [
            (
                "config.json pytorch_model.bin",
                "pytorch_model.bin: riposte reads no pickles",
            ),
            ("config.json open_clip_pytorch_model.pt", "save_pretrained"),
            ("config.json a.ckpt", "a.ckpt"),
            (
                "model-00001-of-00002.safetensors model.safetensors.index.json pytorch_model.bin",
                "max_shard_size",
            ),
            ("config.json q4.gguf", "q4.gguf: riposte does not read GGUF"),
            ("adapter_config.json adapter_model.safetensors", "peft"),
            ("config.json tf_model.h5", "tf_model.h5"),
            (
                "config.json onnx/model.onnx",
                "onnx/model.onnx: riposte reads ONNX models as two files",
            ),
            ("config.json vision_model.onnx", "no text_model.onnx"),
            ("config.json onnx/text_model.onnx", "no vision_model.onnx"),
            ("config.json tokenizer.json", "no model.safetensors"),
            ("", "no model.safetensors"),
            ("model.safetensors tokenizer.json", "no config.json"),
        ] {
            let error = choose(&names(all)).unwrap_err().to_string();
            assert!(
                error.contains(said) && error.lines().count() == 1,
                "{all}: {error}"
            );
        }
    }
}
