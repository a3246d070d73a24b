//! Reads the analyzers in recipes. Their `tags` can name only the splitters that this file knows.

use serde::de::{Deserialize, Deserializer, Error};

use crate::index::analyzer::{Analyzer, AnalyzerText};
use crate::systems::tagged::SPLITTERS;
use crate::wording::UnknownName;

/// Reads the analyzer of a recipe. An error says what an unknown name in it was probably meant to be.
pub(crate) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Analyzer, D::Error> {
    let written = AnalyzerText::deserialize(deserializer)?;
    let analyzer = written.read().and_then(|read| read.knowing(&SPLITTERS));
    analyzer.map_err(|error| {
        let unknown = error.downcast_ref::<UnknownName>();
        D::Error::custom(match unknown.and_then(UnknownName::meant) {
            Some(name) => format!("{error:#}: did you mean {name}?"),
            None => format!("{error:#}"),
        })
    })
}

/// Reads an analyzer that a recipe can leave out.
pub(crate) fn read_some<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Analyzer>, D::Error> {
    read(deserializer).map(Some)
}
