//! Runs small neural networks on a CPU: convolutional networks from ONNX files ([`conv`]), BERT and CLIP from safetensors ([`transformer`]).
//!
//! ```
//! use riposte_nn::conv::{BufferPool, CompileExtent, FeatureMap, NumericMode, compile};
//! use onnx_writer::{GraphWriter, ints}; // from tests/onnx-writer in the repository
//!
//! // a network that finds edges from left to right: usually it comes from a file
//! let onnx = GraphWriter::default()
//!     .input("image", &[1, 1, -1, -1])
//!     .floats("weights", &[1, 1, 1, 3], &[-1.0, 0.0, 1.0])
//!     .node("Conv", &["image", "weights"], "edges", &[ints("kernel_shape", &[1, 3])])
//!     .node("Relu", &["edges"], "bright", &[])
//!     .output("bright", &[1, 1, -1, -1])
//!     .model();
//! riposte_nn::onnx::check(&onnx)?;
//! let network = compile(&onnx, NumericMode::Auto, None, CompileExtent::Trunk)?.parts?;
//! assert!(network.rest.is_empty()); // no operator is left to another runtime
//!
//! let mut pool = BufferPool::default();
//! let mut image = pool.image(1, 5, 1); // height, width, channels
//! image.data.copy_from_slice(&[0.0, 0.0, 1.0, 1.0, 0.0]);
//! let edges: Vec<FeatureMap> = network.trunk.run(vec![image], &mut pool)?;
//! assert_eq!([0, 1, 2].map(|x| edges[0].at(0, x, 0)), [1.0, 1.0, 0.0]);
//! # Ok::<(), riposte_nn::Error>(())
//! ```
//!
//! | what | where |
//! |---|---|
//! | convolutional networks, in floats or int8 | [`conv`]; [`onnx`] checks a file first |
//! | BERT, MPNet, XLM-RoBERTa, and the two towers of CLIP | [`transformer`] |
//! | texts as vectors, from checkpoints of sentence-transformers | [`sentence`] |
//! | their files | [`checkpoint`], [`tokens`] |
//! | matrix products | [`transformer::LinearLayer`]; [`conv::kernel`] for inner loops |
//!
//! The crate is small because it knows few operators. A convolutional network that has others is divided: [`conv::compile()`] says which tensors
//! another runtime must compute. All products use the widest vectors of the machine. Where it multiplies bytes (AMX, AVX-512 VNNI, AVX-VNNI), large
//! products are computed in int8, unless the caller asks for floats.
//!
//! Model files may be hostile: a damaged one is an [`Error`] that names what is wrong, and none makes a function panic or take memory that its size
//! does not explain.

#![warn(missing_docs)]

pub mod checkpoint;
pub mod conv;
mod error;
pub mod limits;
pub mod onnx;
pub mod sentence;
pub mod tokens;
pub mod towers;
pub mod transformer;

pub use error::{Error, Result};

/// Scales a vector to unit length, as `torch.nn.functional.normalize` does: a length below 1e-12 counts as 1e-12.
pub fn normalise(vector: &mut [f32]) {
    let squares = vector.iter().map(|v| f64::from(*v).powi(2));
    let length = squares.sum::<f64>().sqrt().max(1e-12);
    for value in vector {
        *value = (f64::from(*value) / length) as f32;
    }
}

/// Replaces each value by its hyperbolic tangent, rounded once from double precision. In single precision, versions of the C library differ in
/// the last bit (glibc 2.36 and 2.41), and so would runs on two Linux systems.
pub fn tanh(values: &mut [f32]) {
    for value in values {
        *value = f64::from(*value).tanh() as f32;
    }
}

/// The example of the README is compiled with the doc tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;

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
