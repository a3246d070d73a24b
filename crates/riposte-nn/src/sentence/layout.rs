//! The layout of sentence-transformers: which modules a model consists of, and how each is set.
//!
//! | file | what it says |
//! |---|---|
//! | `modules.json` | the modules: a transformer, a pooling, and possibly a normalisation |
//! | `sentence_bert_config.json`, `tokenizer_config.json` | how many tokens are read; whether texts become lower case |
//! | `1_Pooling/config.json` | how the rows of the tokens become one vector |
//! | `config_sentence_transformers.json` | the prompts, and how vectors are compared |
//!
//! What is absent has the value that sentence-transformers gives it. A module or a setting that is not known here could change the vectors, so it is
//! an error.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::Purpose;
use crate::checkpoint::{read_json, read_json_if_there};
use crate::error::{Error, Result, While, bail, ensure};
use crate::limits::{MAX_PROMPT_BYTES, MAX_SENTENCE_TOKENS};

/// How the rows of the last layer become one vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// Their mean (`mean`).
    Mean,
    /// The row of the first token (`cls`).
    First,
    /// The row of the last token (`lasttoken`).
    Last,
}

/// The layout of a checkpoint directory. Vectors always have unit length, because they are compared by cosine.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// The directory of the transformer, relative to that of the model; often it is the same.
    pub transformer: PathBuf,
    /// How the rows of the last layer become one vector.
    pub pooling: Pooling,
    /// The number of tokens of the longest text, special tokens and prompt included; `None` if only the transformer sets a limit.
    pub max_tokens: Option<usize>,
    /// Whether texts become lower case before the tokenizer reads them.
    pub lower_case: bool,
    /// What stands before each query.
    pub query: String,
    /// What stands before each document.
    pub document: String,
    /// The file of the pooling, and the length of rows that it expects.
    width: Option<(PathBuf, usize)>,
}

impl Layout {
    /// Reads the files of the layout in `dir`. A directory without `modules.json` has only the files of the transformer, as riposte keeps
    /// all-MiniLM-L6-v2; its layout is that of this model: the mean, 256 tokens, no prompts.
    ///
    /// # Errors
    /// A file is missing or damaged, or has something that is not computed here; the message names it.
    pub fn read(dir: &Path) -> Result<Layout> {
        let path = dir.join("modules.json");
        let Some(modules) = read_json_if_there::<Vec<Module>>(&path)? else {
            return Ok(Layout {
                transformer: PathBuf::new(),
                pooling: Pooling::Mean,
                max_tokens: Some(MAX_SENTENCE_TOKENS),
                lower_case: false,
                query: String::new(),
                document: String::new(),
                width: None,
            });
        };
        let (transformer, pooling) =
            modules_of(dir, &modules).during(|| format!("reading {}", path.display()))?;
        let settings = TransformerSettings::read(dir, &transformer)?;
        let path = dir.join(pooling).join("config.json");
        let file: PoolingFile = read_json(&path)?;
        let reading = || format!("reading {}", path.display());
        let pooling = file.pooling().during(reading)?;
        let prompts = SentenceTransformersFile::prompts_of(dir)?;
        file.check_prompts(&prompts).during(reading)?;
        let (query, document) = prompts;
        Ok(Layout {
            transformer,
            pooling,
            max_tokens: settings.max_tokens,
            lower_case: settings.lower_case,
            query,
            document,
            width: Some((path, file.embedding_dimension)),
        })
    }

    /// What stands before a text.
    pub fn prompt(&self, purpose: Purpose) -> &str {
        match purpose {
            Purpose::Query => &self.query,
            Purpose::Document => &self.document,
        }
    }

    /// The number of tokens of the longest text, of which the transformer takes at most `max_tokens`.
    pub(super) fn longest(&self, max_tokens: usize) -> usize {
        self.max_tokens
            .map_or(max_tokens, |own| own.min(max_tokens))
    }

    /// Refuses a pooling of rows of another length.
    pub(super) fn check_width(&self, hidden: usize) -> Result<()> {
        if let Some((path, width)) = &self.width {
            ensure!(
                *width == hidden,
                Model,
                "{}: the pooling expects rows of {width} numbers, but the model has {hidden} (hidden_size in config.json)",
                path.display()
            );
        }
        Ok(())
    }
}

/// An element of `modules.json`.
#[derive(Deserialize)]
struct Module {
    path: String,
    #[serde(rename = "type")]
    class: String,
}

/// The directories of the transformer and of the pooling.
fn modules_of(dir: &Path, modules: &[Module]) -> Result<(PathBuf, PathBuf)> {
    let mut expected = ["Transformer", "Pooling", "Normalize"].into_iter();
    let mut paths = Vec::new();
    for module in modules {
        let class = &module.class;
        let name = class.rsplit('.').next().unwrap_or_default();
        ensure!(
            class.starts_with("sentence_transformers.") && expected.next() == Some(name),
            Model,
            "the module {class} is not computed here: expected Transformer, Pooling and possibly Normalize, in this order"
        );
        // the path leads to a directory of the model, and not out of it
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        ensure!(
            module.path.chars().all(is_plain),
            Model,
            "the module {class} is in {:?}, which is not a plain name",
            module.path
        );
        paths.push(PathBuf::from(&module.path));
    }
    if let Some(normalise) = paths.get(2) {
        check_normalise(&dir.join(normalise).join("config.json"))?;
    }
    match <[PathBuf; 2]>::try_from(paths.into_iter().take(2).collect::<Vec<_>>()) {
        Ok([transformer, pooling]) => Ok((transformer, pooling)),
        Err(_) => bail!(Model, "there is no Pooling after the Transformer"),
    }
}

/// Refuses a normalisation of something else than the vector of a text.
fn check_normalise(path: &Path) -> Result<()> {
    const VECTOR: &str = "sentence_embedding";
    let settings: Map<String, Value> = read_json_if_there(path)?.unwrap_or_default();
    for (name, value) in settings {
        let is_known = ["module_input_name", "module_output_name"].contains(&name.as_str());
        ensure!(
            is_known && (value.is_null() || value == VECTOR),
            Model,
            "{}: {name} is {value}, which is not computed here",
            path.display()
        );
    }
    Ok(())
}

/// How the transformer reads a text.
#[derive(Default)]
struct TransformerSettings {
    max_tokens: Option<usize>,
    lower_case: bool,
}

/// The names of `sentence_bert_config.json`: sentence-transformers reads the first that exists, and old models have the others.
const SETTINGS: [&str; 3] = [
    "sentence_bert_config.json",
    "sentence_roberta_config.json",
    "sentence_xlm-roberta_config.json",
];

impl TransformerSettings {
    fn read(dir: &Path, transformer: &Path) -> Result<TransformerSettings> {
        let dir = dir.join(transformer);
        let mut found = Map::new();
        let mut path = dir.join(SETTINGS[0]);
        for name in SETTINGS {
            if let Some(settings) = read_json_if_there(&dir.join(name))? {
                found = settings;
                path = dir.join(name);
                break;
            }
        }
        let reading = || format!("reading {}", path.display());
        let mut settings = TransformerSettings::of(found).during(reading)?;
        if settings.max_tokens.is_none() {
            // newer models have the number there
            let path = dir.join("tokenizer_config.json");
            let tokenizer: Map<String, Value> = read_json_if_there(&path)?.unwrap_or_default();
            let reading = || format!("reading {}", path.display());
            settings.max_tokens = match tokenizer.get("model_max_length") {
                Some(value) => tokens("model_max_length", value).during(reading)?,
                None => None,
            };
        }
        Ok(settings)
    }

    fn of(settings: Map<String, Value>) -> Result<TransformerSettings> {
        let mut found = TransformerSettings::default();
        for (name, value) in &settings {
            let is_empty = match value {
                Value::Null => true,
                Value::Object(object) => object.is_empty(),
                _ => false,
            };
            match name.as_str() {
                "max_seq_length" => found.max_tokens = tokens(name, value)?,
                "do_lower_case" => {
                    let value = value.as_bool();
                    found.lower_case = value.ok_or_else(|| {
                        Error::Model("do_lower_case is neither true nor false".to_owned())
                    })?;
                }
                "transformer_task" if value == "feature-extraction" => {}
                "module_output_name" if value == "token_embeddings" => {}
                "modality_config" if is_last_layer(value) => {}
                // how a GPU pads, which changes nothing
                "unpad_inputs" => {}
                "query_expansion" if *value == Value::Bool(false) => {}
                _ if is_empty => {}
                _ => bail!(Model, "{name} is {value}, which is not computed here"),
            }
        }
        Ok(found)
    }
}

/// Whether a text becomes the rows of the last layer.
fn is_last_layer(modalities: &Value) -> bool {
    let text = Value::from_iter([
        ("method", "forward"),
        ("method_output_name", "last_hidden_state"),
    ]);
    *modalities == Value::from_iter([("text", text)])
}

/// A number of tokens; `None` if there is no limit, for which transformers writes a number of thirty digits.
fn tokens(name: &str, value: &Value) -> Result<Option<usize>> {
    if value.is_null() || value.as_f64().is_some_and(|value| value >= 1e9) {
        return Ok(None);
    }
    let count = value.as_u64().and_then(|count| usize::try_from(count).ok());
    match count.filter(|count| *count > 0) {
        Some(count) => Ok(Some(count)),
        None => bail!(Model, "{name} is {value}: expected a number of tokens"),
    }
}

/// `1_Pooling/config.json`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PoolingFile {
    #[serde(alias = "word_embedding_dimension")]
    embedding_dimension: usize,
    pooling_mode: Option<Modes>,
    #[serde(default)]
    pooling_mode_cls_token: bool,
    #[serde(default)]
    pooling_mode_max_tokens: bool,
    #[serde(default)]
    pooling_mode_mean_tokens: bool,
    #[serde(default)]
    pooling_mode_mean_sqrt_len_tokens: bool,
    #[serde(default)]
    pooling_mode_weightedmean_tokens: bool,
    #[serde(default)]
    pooling_mode_lasttoken: bool,
    include_prompt: Option<bool>,
}

/// `pooling_mode`: one, or several whose vectors would be joined.
#[derive(Deserialize)]
#[serde(untagged)]
enum Modes {
    One(String),
    Several(Vec<String>),
}

impl PoolingFile {
    /// Refuses prompts whose tokens would have to be left out of the mean.
    fn check_prompts(&self, (query, document): &(String, String)) -> Result<()> {
        ensure!(
            self.include_prompt != Some(false) || (query.is_empty() && document.is_empty()),
            Model,
            "include_prompt is false, but prompts cannot be left out of the pooling here"
        );
        Ok(())
    }

    fn pooling(&self) -> Result<Pooling> {
        let modes: Vec<&str> = match &self.pooling_mode {
            Some(Modes::One(mode)) => vec![mode],
            Some(Modes::Several(modes)) => modes.iter().map(String::as_str).collect(),
            None => [
                (self.pooling_mode_cls_token, "cls"),
                (self.pooling_mode_max_tokens, "max"),
                (self.pooling_mode_mean_tokens, "mean"),
                (
                    self.pooling_mode_mean_sqrt_len_tokens,
                    "mean_sqrt_len_tokens",
                ),
                (self.pooling_mode_weightedmean_tokens, "weightedmean"),
                (self.pooling_mode_lasttoken, "lasttoken"),
            ]
            .into_iter()
            .filter_map(|(is_on, mode)| is_on.then_some(mode))
            .collect(),
        };
        match modes.as_slice() {
            [] | ["mean"] => Ok(Pooling::Mean),
            ["cls"] => Ok(Pooling::First),
            ["lasttoken"] => Ok(Pooling::Last),
            modes => bail!(
                Model,
                "the pooling {} is not computed here: expected mean, cls or lasttoken",
                modes.join(" with ")
            ),
        }
    }
}

/// `config_sentence_transformers.json`.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct SentenceTransformersFile {
    /// The versions of the software that wrote the file.
    #[serde(rename = "__version__")]
    _version: Value,
    prompts: BTreeMap<String, Option<String>>,
    /// For texts that are neither queries nor documents.
    #[serde(rename = "default_prompt_name")]
    _default: Option<String>,
    similarity_fn_name: Option<String>,
    model_type: Option<String>,
    truncate_dim: Option<Value>,
}

impl SentenceTransformersFile {
    /// The prompts for queries and for documents of the model in `dir`.
    fn prompts_of(dir: &Path) -> Result<(String, String)> {
        let path = dir.join("config_sentence_transformers.json");
        let file: SentenceTransformersFile = read_json_if_there(&path)?.unwrap_or_default();
        file.prompts()
            .during(|| format!("reading {}", path.display()))
    }

    fn prompts(mut self) -> Result<(String, String)> {
        for (name, value, expected) in [
            ("similarity_fn_name", &self.similarity_fn_name, "cosine"),
            ("model_type", &self.model_type, "SentenceTransformer"),
        ] {
            if let Some(value) = value.as_ref().filter(|value| *value != expected) {
                bail!(Model, "{name} is {value}: expected {expected}");
            }
        }
        if let Some(value) = &self.truncate_dim {
            bail!(Model, "truncate_dim is {value}: vectors are not cut here");
        }
        let mut prompt = |names: &[&str]| {
            let found = names.iter().find_map(|name| self.prompts.remove(*name)?);
            found.unwrap_or_default()
        };
        let (query, document) = (
            prompt(&["query"]),
            prompt(&["document", "passage", "corpus"]),
        );
        for prompt in [&query, &document] {
            ensure!(
                prompt.len() <= MAX_PROMPT_BYTES,
                Model,
                "a prompt has {} bytes: expected {MAX_PROMPT_BYTES} at most",
                prompt.len()
            );
        }
        Ok((query, document))
    }
}
