//! Computes neural networks. This room knows nothing of images, pages or topics.

pub mod checkpoint;
pub mod conv;
pub mod lazy;
pub(crate) mod onnx;
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

/// Replaces each value by its hyperbolic tangent, rounded once from double precision. In single precision, versions of the C library differ in
/// the last bit (glibc 2.36 and 2.41), and so would runs on two Linux systems.
pub(crate) fn tanh(values: &mut [f32]) {
    for value in values {
        *value = f64::from(*value).tanh() as f32;
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[allow(
        dead_code,
        reason = "the integration tests and fuzz-targets/ use the rest"
    )]
    pub(crate) mod onnx_writer;

    /// The right values were computed with 60 decimal digits. The `tanhf` of glibc 2.36 gets the last bit of each of them wrong.
    #[test]
    fn the_hyperbolic_tangent_is_rounded_alike_whatever_the_c_library_has() {
        let right = [
            (0xbfbc_1b64, 0xbf66_4587),
            (0xbece_8a21, 0xbec4_0538),
            (0xbf36_7865, 0xbf1c_c726),
            (0x3f5a_906c, 0x3f31_6a8a),
            (0xbf80_7d77, 0xbf43_60e9),
            (0x3f06_8618, 0x3ef6_be5f),
        ];
        let mut values = right.map(|(x, _)| f32::from_bits(x));
        tanh(&mut values);
        assert_eq!(values.map(f32::to_bits), right.map(|(_, y)| y));
    }
}
