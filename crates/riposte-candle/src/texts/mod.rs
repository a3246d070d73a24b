//! Encoders of texts that riposte-nn does not compute: ModernBERT and NomicBERT, from candle-transformers. Their settings are checked before its
//! constructors see them, because these fill what is missing, and some of their constants are settings of the published code.

mod modernbert;
mod nomic_bert;

use std::path::Path;
use std::sync::Arc;

use candle_core::{Result, Tensor};
use candle_nn::VarBuilder;
use riposte_nn::checkpoint::{Checkpoint, ExpectedTensor};
use riposte_nn::sentence::{OpenedEncoder, OtherFamilies, TokenRows};
use riposte_nn::tokens::Encoding;
use riposte_nn::transformer::text::CheckpointConfig;
use riposte_nn::{Error, transformer};
use serde_json::Value;

use crate::device;
use crate::weights::CheckpointTensors;

/// The families that this module computes, for [`riposte_nn::sentence::SentenceEncoder::load_any`].
pub const OTHERS: OtherFamilies = OtherFamilies {
    kinds: &[modernbert::KIND, nomic_bert::KIND],
    open,
};

/// A model of candle-transformers that maps token ids (1, tokens) to rows (1, tokens, hidden).
type CandleModel = Box<dyn Fn(&Tensor) -> Result<Tensor> + Send + Sync>;

/// Makes a model from its tensors, for texts of at most this number of tokens.
type Make = dyn Fn(VarBuilder, usize) -> Result<CandleModel>;

/// A checkpoint of one of these families.
struct TextCheckpoint {
    vocabulary: usize,
    hidden: usize,
    max_tokens: usize,
    expected: Vec<ExpectedTensor>,
    checkpoint: Arc<Checkpoint>,
    /// What stands before the names of tensors in the file.
    prefix: &'static str,
    /// What candle-transformers expects before these names.
    expected_prefix: &'static str,
    make: Box<Make>,
}

/// Opens a checkpoint of one of these families: its `config.json` has been read.
///
/// # Errors
/// A setting would change what is computed, a size is out of range, or a tensor is missing or has another shape or number type.
fn open(config: &CheckpointConfig, dir: &Path) -> riposte_nn::Result<OpenedEncoder> {
    let model = match config.kind() {
        Some(modernbert::KIND) => modernbert::open(config, dir)?,
        _ => nomic_bert::open(config, dir)?,
    };
    Ok(OpenedEncoder {
        vocabulary: model.vocabulary,
        hidden: model.hidden,
        max_tokens: model.max_tokens.min(crate::limits::MAX_TOKENS),
        read: Box::new(move |max_tokens| model.read(max_tokens)),
    })
}

impl TextCheckpoint {
    fn read(&self, max_tokens: usize) -> riposte_nn::Result<TokenRows> {
        let device = device();
        let names = self.expected.iter().map(|(name, _)| {
            let asked = format!("{}{name}", self.expected_prefix);
            (asked, format!("{}{name}", self.prefix))
        });
        let tensors = CheckpointTensors::named(self.checkpoint.clone(), names.collect(), &device);
        let model = (self.make)(tensors, max_tokens).map_err(Error::other)?;
        let rows = move |text: &Encoding| -> Result<Vec<f32>> {
            let ids = Tensor::new(text.get_ids(), &device)?.unsqueeze(0)?;
            model(&ids)?.flatten_all()?.to_vec1()
        };
        Ok(Box::new(move |text| rows(text).map_err(Error::other)))
    }
}

/// Settings of a `config.json`, by name.
struct ConfigReader<'a>(&'a CheckpointConfig);

impl ConfigReader<'_> {
    fn error(&self, what: &str) -> Error {
        Error::Model(format!("{}: {what}", self.0.path().display()))
    }

    /// The first of these settings that is there.
    fn find(&self, names: &[&str]) -> Option<&Value> {
        let values = names.iter().filter_map(|name| self.0.value().get(name));
        values.into_iter().find(|value| !value.is_null())
    }

    /// A size, under one of these names.
    fn size(&self, names: &[&str], default: usize) -> riposte_nn::Result<usize> {
        let size = match self.find(names) {
            None => default,
            Some(value) => value
                .as_u64()
                .and_then(|size| usize::try_from(size).ok())
                .ok_or_else(|| self.error(&format!("{} is {value}: expected a size", names[0])))?,
        };
        transformer::check_size(names[0], size)
            .map_err(|error| self.error(&error.to_string()))
            .map(|()| size)
    }

    /// A number above 0, under one of these names.
    fn number(&self, names: &[&str], default: f64) -> riposte_nn::Result<f64> {
        self.find(names)
            .map_or(Ok(default), |value| self.positive(names[0], value))
    }

    fn positive(&self, name: &str, value: &Value) -> riposte_nn::Result<f64> {
        let number = value.as_f64().filter(|n| n.is_finite() && *n > 0.0);
        number.ok_or_else(|| self.error(&format!("{name} is {value}: expected a number")))
    }

    /// Refuses a setting that has another value than the one that is computed here.
    fn must_be(&self, name: &str, values: &[Value]) -> riposte_nn::Result<()> {
        match self.find(&[name]) {
            Some(value) if !values.contains(value) => {
                let expected: Vec<String> = values.iter().map(Value::to_string).collect();
                let expected = expected.join(" or ");
                Err(self.error(&format!("{name} is {value}: expected {expected}")))
            }
            _ => Ok(()),
        }
    }

    /// The number of heads, which divides the length of a row into even parts: the angles turn pairs.
    fn heads(&self, names: &[&str], hidden: usize) -> riposte_nn::Result<usize> {
        let heads = self.size(names, 12)?;
        if !hidden.is_multiple_of(2 * heads) {
            return Err(self.error(&format!(
                "rows of {hidden} numbers cannot be divided among {} {heads} into pairs",
                names[0]
            )));
        }
        Ok(heads)
    }

    /// The base of the angles in an object of `rope_parameters`.
    fn angle(&self, parameters: &Value, default: f64) -> riposte_nn::Result<f64> {
        if let Some(kind) = parameters
            .get("rope_type")
            .filter(|kind| *kind != "default")
        {
            return Err(self.error(&format!("rope_type is {kind}: expected \"default\"")));
        }
        let base = parameters.get("rope_theta");
        base.map_or(Ok(default), |base| self.positive("rope_theta", base))
    }
}
