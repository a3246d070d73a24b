//! The checksum of stored values.

use rusqlite::types::ValueRef;
use sha2::{Digest, Sha256};

/// A hash over values of SQLite, in order. It detects damage, not forgery, so 64 bits suffice.
#[derive(Clone, Default)]
pub(crate) struct ValueHash(Sha256);

impl ValueHash {
    pub fn add(&mut self, value: ValueRef) {
        let (tag, number) = match value {
            ValueRef::Null => (0u8, [0; 8]),
            ValueRef::Integer(number) => (1, number.to_le_bytes()),
            ValueRef::Real(number) => (2, number.to_bits().to_le_bytes()),
            ValueRef::Text(bytes) => (3, (bytes.len() as u64).to_le_bytes()),
            ValueRef::Blob(bytes) => (4, (bytes.len() as u64).to_le_bytes()),
        };
        self.0.update([tag]);
        self.0.update(number);
        if let ValueRef::Text(bytes) | ValueRef::Blob(bytes) = value {
            self.0.update(bytes);
        }
    }

    /// Adds these values, and returns the checksum of all values.
    pub fn with(mut self, values: &[ValueRef]) -> i64 {
        values.iter().for_each(|value| self.add(*value));
        self.finish()
    }

    /// The first 8 bytes of the SHA-256, little-endian.
    pub fn finish(self) -> i64 {
        let digest = self.0.finalize();
        i64::from_le_bytes(std::array::from_fn(|at| digest[at]))
    }
}

/// The checksum of a row with these values.
pub(crate) fn checksum_of(values: &[ValueRef]) -> i64 {
    ValueHash::default().with(values)
}
