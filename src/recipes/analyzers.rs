//! Reads the analyzers in recipes. Their `tags` can name only the splitters that this file knows.

use serde::de::{Deserialize, Deserializer, Error};

use crate::index::analyzer::Analyzer;
use crate::systems::tagged::SPLITTERS;

/// Reads the analyzer of a recipe.
pub(crate) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Analyzer, D::Error> {
    let analyzer = Analyzer::deserialize(deserializer)?;
    analyzer.knowing(&SPLITTERS).map_err(D::Error::custom)
}

/// Reads an analyzer that a recipe can leave out.
pub(crate) fn read_some<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Analyzer>, D::Error> {
    read(deserializer).map(Some)
}
