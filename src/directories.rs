//! Where riposte's cache and its models are, unless the user has chosen other places.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use etcetera::BaseStrategy;

/// The environment variable that names the models directory.
pub const MODELS_VARIABLE: &str = "RIPOSTE_MODELS";

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
        None => default_directory(std::env::var_os(MODELS_VARIABLE), || {
            Ok(etcetera::choose_base_strategy()?.data_dir())
        }),
    }
}

fn default_directory(
    variable: Option<OsString>,
    data_dir: impl FnOnce() -> Result<PathBuf>,
) -> Result<PathBuf> {
    match variable.filter(|v| !v.is_empty()) {
        Some(dir) => Ok(dir.into()),
        None => data_dir()
            .map(|data| data.join("riposte").join("models"))
            .with_context(|| format!("no models directory: set {MODELS_VARIABLE}")),
    }
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn the_variable_takes_precedence_unless_it_is_empty() {
        let data = || Ok(PathBuf::from("/data"));
        let dir = |v: Option<&str>| default_directory(v.map(OsString::from), data).unwrap();
        assert_eq!(dir(Some("/m")), Path::new("/m"));
        assert_eq!(dir(Some("")), Path::new("/data/riposte/models"));
        assert_eq!(dir(None), Path::new("/data/riposte/models"));
        let homeless = default_directory(None, || bail!("no home")).unwrap_err();
        assert!(format!("{homeless:#}").contains("RIPOSTE_MODELS"));
    }
}
