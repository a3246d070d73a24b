//! Packed weights of models, kept so that a start reads them and need not pack and quantise them again: in the directory of their model or, if
//! riposte cannot write there, in the cache. If neither is possible, each start packs them, as in a container without a home.

use std::fs;
use std::path::PathBuf;

use riposte_nn::conv::int8_instructions;
use riposte_nn::transformer::kept::{Keep, LAYOUT};
use twox_hash::XxHash64;

use super::CheckedModel;
use crate::directories::{CACHE_VARIABLE, cache_directory};
use crate::disk::{hex, parent, regular, replace};

/// The subdirectory of the cache.
pub(crate) const PACKED: &str = "packed";

/// How the names of the files end.
pub(crate) const PACKED_FILE: &str = ".packed";

/// Longer files are not read. XLM-RoBERTa large has 2.2 GB of weights in floats, and packed a quarter of that.
const MOST_BYTES: u64 = 1 << 32;

/// The packed weights of one encoder.
///
/// The file begins with a line that names the weights, the instructions and the layout, and with the checksum of all that follows. The files of the
/// model itself are compared with their checksums whenever they have changed ([`super::Models::find`]), and the name contains that checksum.
pub(crate) struct KeptWeights {
    /// The first line of the file.
    name: String,
    /// Where the file may be.
    places: Vec<PathBuf>,
}

impl KeptWeights {
    /// Those of an encoder that `model` is a part of. `kind` distinguishes it from others over the same files, and `producer` names the weights.
    /// Machines that compute in floats have no use for it.
    pub fn of(model: &CheckedModel, kind: &str, producer: &str) -> KeptWeights {
        let instructions = int8_instructions().unwrap_or("floats");
        let file = format!(
            "{kind}-{}{PACKED_FILE}",
            instructions.to_lowercase().replace(' ', "-")
        );
        let chosen = std::env::var_os(CACHE_VARIABLE).map(PathBuf::from);
        let cache =
            cache_directory(chosen.as_deref()).map(|cache| cache.join(PACKED).join(&model.name));
        KeptWeights {
            name: format!("layout {LAYOUT}, {instructions}, {producer}\n"),
            places: [Some(model.dir.clone()), cache]
                .into_iter()
                .flatten()
                .map(|dir| dir.join(&file))
                .collect(),
        }
    }
}

impl Keep for KeptWeights {
    fn get(&self) -> Option<Vec<u8>> {
        let read = |place: &PathBuf| {
            let mut bytes = regular::read(place, MOST_BYTES).ok()?;
            let rest = bytes.strip_prefix(self.name.as_bytes())?;
            let (checksum, content) = rest.split_at_checked(CHECKSUM)?;
            let whole = *checksum == *checksum_of(content).as_bytes();
            let start = bytes.len() - content.len();
            // moving the bytes within their allocation takes less time than copying them into a new one, whose pages the system has to clear first
            bytes.drain(..start);
            whole.then_some(bytes)
        };
        self.places.iter().find_map(read)
    }

    fn put(&self, bytes: &[u8]) {
        let file = [self.name.as_bytes(), checksum_of(bytes).as_bytes(), bytes].concat();
        for place in &self.places {
            if fs::create_dir_all(parent(place))
                .and_then(|()| replace(place, &file))
                .is_ok()
            {
                return;
            }
        }
    }
}

/// The length of a checksum.
const CHECKSUM: usize = 16;

/// The XXH64 of these bytes, in hexadecimal. It detects damage, not forgery, and takes a tenth of the time of a sha256, which would be a fifth of a
/// start.
fn checksum_of(bytes: &[u8]) -> String {
    hex(&XxHash64::oneshot(0, bytes).to_be_bytes())
}
