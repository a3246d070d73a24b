//! What the user chooses about models: the numbers that they compute in, and the script that OCR reads.

use riposte_nn::conv::{Numeric, NumericMode};

/// How models compute.
#[derive(Clone, Copy, Debug, Default)]
pub struct Precision {
    /// The numbers that networks other than CLIP may be computed in.
    pub numeric: NumericMode,
    /// The numbers of CLIP.
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
