//! What a configuration contributes to the metadata of a run.

use std::path::Path;

use clap::ArgMatches;
use sha2::{Digest, Sha256};

use super::Configuration;
use riposte::disk::hex;
use riposte::files::metadata::{RecordedConfigFile, UserMetadata};

pub(super) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

impl Configuration {
    /// The fields of a run's metadata that come from this configuration. `command` is the typed command.
    pub fn metadata(&self, command: &ArgMatches) -> UserMetadata {
        let name = self.path.file_name().unwrap_or_default();
        let mut options = self.used(command);
        if let Some(cache) = options.get_mut("cache") {
            // the path of a directory could reveal the user
            let name = Path::new(cache).file_name().unwrap_or_default();
            *cache = name.to_string_lossy().into_owned();
        }
        UserMetadata {
            actor: self.contents.actor.clone(),
            implementation: self.contents.implementation.clone(),
            data: self.contents.data.clone(),
            command: Vec::new(),
            file: Some(RecordedConfigFile {
                name: name.to_string_lossy().into_owned(),
                sha256: self.sha256.clone(),
                options,
            }),
        }
    }
}
