//! Networks: what computes them. Knows nothing of images, pages or topics.

pub mod checkpoint;
pub mod conv;
pub mod lazy;
pub(crate) mod onnx;
#[cfg(test)]
#[allow(
    dead_code,
    reason = "the integration tests and fuzz-targets/ use the rest"
)]
pub(crate) mod onnx_writer;
pub mod tokens;
pub mod transformer;

/// Scales a vector to unit length, as `torch.nn.functional.normalize` does: a length below 1e-12 counts as 1e-12.
pub(crate) fn normalise(vector: &mut [f32]) {
    let squares = vector.iter().map(|v| f64::from(*v).powi(2));
    let length = squares.sum::<f64>().sqrt().max(1e-12);
    for value in vector {
        *value = (f64::from(*value) / length) as f32;
    }
}
