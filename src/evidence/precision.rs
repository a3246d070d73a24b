//! What the user chooses about models: what computes them, the numbers, and the script that OCR reads. And what is recorded of it.

use riposte_nn::conv::Numeric;

use crate::device::{Compute, Runtime};

/// How models compute.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Precision {
    /// What computes the models and, except for CLIP, in which numbers.
    pub compute: Compute,
    /// The numbers of CLIP, if the packed backend computes it.
    pub clip: Numeric,
    /// The script that OCR reads.
    pub script: Script,
}

/// The script of the texts that are read. Producers have its name in lower case.
///
/// PP-OCRv4's recogniser knows 6,624 characters, of which 6,280 are Chinese and 171 occur in Latin texts. With only the latter, its output layer has
/// a fortieth of the columns, and no letter of a Latin text is taken for a Chinese character or for its full-width form.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    strum::Display,
    strum::EnumString,
    strum::VariantNames,
)]
#[strum(serialize_all = "lowercase")]
pub enum Script {
    /// Latin letters, digits, punctuation and signs.
    #[default]
    Latin,
    /// All characters that the recogniser knows.
    All,
}

/// What computed a channel of a document, and in which numbers. It is stored beside the producer. If only the backend changes, the channel is not
/// computed again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelBackend {
    /// The runtime of each network.
    pub name: String,
    pub numeric: Numeric,
}

impl ChannelBackend {
    /// The backend of an encoder ([`riposte_nn::transformer`]).
    pub(crate) fn of_transformer(by: Runtime, numeric: Numeric) -> ChannelBackend {
        let runtime = match by {
            // the name in stores before there was a choice
            Runtime::Packed => "transformer",
            Runtime::Candle => "candle",
            Runtime::Rten => "rten",
        };
        let name = format!("{runtime} {numeric}");
        ChannelBackend { name, numeric }
    }
}
