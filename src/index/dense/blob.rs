//! The vectors of a document's passages as bytes.

use anyhow::{Result, ensure};
use half::f16;
use half::slice::HalfFloatSliceExt;

/// The vectors of a document's passages, one after another.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Blob {
    /// The number of components of a vector; 0 if there are no passages.
    pub dimension: usize,
    pub numbers: Vec<f16>,
}

/// Rounds the vectors of a document's passages to 16-bit floats.
///
/// # Errors
/// They differ in length, are empty, or have numbers that are not finite.
pub(super) fn blob(passages: &[Vec<f32>]) -> Result<Blob> {
    let dimension = passages.first().map_or(0, Vec::len);
    let mut blob = Blob {
        dimension,
        numbers: Vec::with_capacity(dimension * passages.len()),
    };
    for vector in passages {
        ensure!(
            vector.len() == dimension && dimension > 0,
            "vectors of {dimension} and of {} numbers",
            vector.len()
        );
        let start = blob.numbers.len();
        blob.numbers.resize(start + dimension, f16::ZERO);
        blob.numbers[start..].convert_from_f32_slice(vector);
    }
    ensure!(
        blob.numbers.iter().all(|number| number.is_finite()),
        "a vector has numbers that are not finite"
    );
    Ok(blob)
}

impl Blob {
    /// The number of components as a little-endian 32-bit number, then all components as little-endian 16-bit floats.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(4 + 2 * self.numbers.len());
        bytes.extend((self.dimension as u32).to_le_bytes());
        bytes.extend(self.numbers.iter().flat_map(|number| number.to_le_bytes()));
        bytes
    }

    /// The inverse of [`Blob::to_bytes`]; `None` if the bytes are something else.
    pub fn of_bytes(bytes: &[u8]) -> Option<Blob> {
        let (dimension, bytes) = bytes.split_first_chunk::<4>()?;
        let dimension = u32::from_le_bytes(*dimension) as usize;
        let (numbers, rest) = bytes.as_chunks::<2>();
        let is_whole = match dimension {
            0 => numbers.is_empty(),
            dimension => !numbers.is_empty() && numbers.len().is_multiple_of(dimension),
        };
        let blob = Blob {
            dimension,
            numbers: numbers.iter().map(|b| f16::from_le_bytes(*b)).collect(),
        };
        let is_finite = blob.numbers.iter().all(|number| number.is_finite());
        (is_whole && rest.is_empty() && is_finite).then_some(blob)
    }
}
