//! Vectors as SQLite stores them.

use rusqlite::Error;
use rusqlite::types::Type;

/// The bytes of a vector.
pub(crate) fn blob_of(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// The reverse of [`blob_of`].
///
/// # Errors
/// The number of bytes is not divisible by 4.
pub(crate) fn vector_of(blob: &[u8]) -> rusqlite::Result<Vec<f32>> {
    let (numbers, rest) = blob.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(Error::InvalidColumnType(0, "vector".into(), Type::Blob));
    }
    Ok(numbers.iter().copied().map(f32::from_le_bytes).collect())
}
