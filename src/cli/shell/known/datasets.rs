//! The names of data sets.

use anyhow::Result;

use super::Values;
use riposte::datasets::DatasetCatalogue;

pub(super) fn values() -> Result<Vec<Values>> {
    let catalogue = DatasetCatalogue::embedded()?;
    let names = || catalogue.entries().iter().map(|of| of.name.clone());
    let of = |command, arg| Values {
        command: Some(command),
        arg,
        values: names().collect(),
    };
    Ok(vec![
        of("get", "names"),
        of("info", "name"),
        of("remove", "name"),
    ])
}
