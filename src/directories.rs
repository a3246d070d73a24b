//! Where riposte's cache, its models and its data sets are, unless the user has chosen other places.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use etcetera::BaseStrategy;

/// The environment variable that names the cache directory.
pub const CACHE_VARIABLE: &str = "RIPOSTE_CACHE";

/// The environment variable that names the models directory.
pub const MODELS_VARIABLE: &str = "RIPOSTE_MODELS";

/// The environment variable that names the directory of the data sets.
pub const DATASETS_VARIABLE: &str = "RIPOSTE_DATASETS";

/// The environment variable that names a catalogue of data sets, which replaces riposte's own.
pub const CATALOGUE_VARIABLE: &str = "RIPOSTE_DATASETS_CATALOGUE";

/// The name of the SQLite file in a directory that riposte has made for a collection.
pub const WORKSPACE_FILE: &str = "workspace.sqlite";

/// The cache directory: the chosen one, or riposte in the user's cache directory. `None` if the user has none.
pub fn cache_directory(chosen: Option<&Path>) -> Option<PathBuf> {
    if let Some(dir) = chosen {
        return Some(dir.to_owned());
    }
    let cache = match etcetera::choose_base_strategy() {
        Ok(strategy) => Some(strategy.cache_dir()),
        // a user without a home directory, as in a container, can have set this variable
        Err(_) => std::env::var_os("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .filter(|dir| dir.is_absolute()),
    };
    cache.map(|dir| dir.join("riposte"))
}

/// The models directory: the chosen one, else the value of `RIPOSTE_MODELS`, else `riposte/models` in the user's data directory. It need not exist.
///
/// # Errors
/// None of these is known, because the user has no home directory either.
pub fn models_directory(chosen: Option<&Path>) -> Result<PathBuf> {
    match chosen {
        Some(dir) => Ok(dir.to_owned()),
        None => default_directory((MODELS_VARIABLE, "models"), user_data),
    }
}

/// The directory of the data sets: the chosen one, else the value of `RIPOSTE_DATASETS`, else `riposte/datasets` in the user's data directory. It need
/// not exist.
///
/// # Errors
/// None of these is known, because the user has no home directory either.
pub fn datasets_directory(chosen: Option<&Path>) -> Result<PathBuf> {
    match chosen {
        Some(dir) => Ok(dir.to_owned()),
        None => default_directory((DATASETS_VARIABLE, "datasets"), user_data),
    }
}

/// The value of `variable` or, if it is not set, `name` in riposte's part of the user's data directory.
fn default_directory(
    (variable, name): (&str, &str),
    data: impl FnOnce(&str) -> (Option<OsString>, Result<PathBuf>),
) -> Result<PathBuf> {
    let (value, data) = data(variable);
    match value.filter(|v| !v.is_empty()) {
        Some(dir) => Ok(dir.into()),
        None => data
            .map(|data| data.join("riposte").join(name))
            .with_context(|| format!("no {name} directory: set {variable}")),
    }
}

/// The value of a variable, and the user's data directory.
fn user_data(variable: &str) -> (Option<OsString>, Result<PathBuf>) {
    let strategy = etcetera::choose_base_strategy();
    let data = strategy.map(|strategy| strategy.data_dir());
    (std::env::var_os(variable), data.map_err(Into::into))
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn the_variable_takes_precedence_unless_it_is_empty() {
        let dir = |v: Option<&str>| {
            let data = |_: &str| (v.map(OsString::from), Ok(PathBuf::from("/data")));
            default_directory(("RIPOSTE_MODELS", "models"), data).unwrap()
        };
        assert_eq!(dir(Some("/m")), Path::new("/m"));
        assert_eq!(dir(Some("")), Path::new("/data/riposte/models"));
        assert_eq!(dir(None), Path::new("/data/riposte/models"));
        let homeless = |_: &str| (None, Err(anyhow!("no home")));
        let error = default_directory(("RIPOSTE_MODELS", "models"), homeless).unwrap_err();
        assert!(format!("{error:#}").contains("RIPOSTE_MODELS"));
    }
}
