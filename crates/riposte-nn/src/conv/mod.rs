//! Convolutional networks from ONNX files, each image on one core.
//!
//! The OCR networks consist of small convolutions: depthwise ones, products of a few dozen channels at each pixel, and
//! elementwise operations between them. A general runtime computes each operator by itself, channel plane by channel plane, and
//! moves every feature map through memory each time. Here:
//!
//! - channels are innermost, so that all these operators run over contiguous vectors;
//! - batch normalisation, scales and activations are folded into the convolution before them and computed while its sums are in
//!   registers or in the cache;
//! - a depthwise convolution hands its output to the pointwise one after it a few rows at a time;
//! - maps that would not stay in the cache are computed some rows at a time, together with the maps that are computed from them;
//! - buffers are reused from layer to layer and from image to image.
//!
//! [`compile()`] translates as much of a graph as it knows into [`NetworkParts`]: its trunk, from the input on, and its head, up to the
//! output layer, which a [`Classifier`] computes. A general runtime computes what lies between.
//!
//! Where the machine multiplies bytes four at a time, and [`NumericMode::Auto`] allows it, products of 64 rows or more are computed in int8, which is
//! several times as fast and finds nearly as many words. Products over windows of several pixels are in int8 up to 1,440 rows.

mod aligned;
mod buffers;
mod classifier;
mod compile;
mod dense;
mod depthwise;
mod fold;
mod graph;
pub mod kernel;
mod lower;
mod parts;
pub(crate) mod quantised;
mod rows;
mod steps;
mod sums;
mod upscale;

pub use buffers::{Buffer, BufferPool, FeatureMap};
pub use classifier::Classifier;
pub use parts::{CompileExtent, Compiled, NetworkHead, NetworkParts, compile};
pub use quantised::int8_instructions;
pub use steps::ConvNet;

use strum::{Display, EnumString, IntoStaticStr, VariantNames};

/// `usual`, or `miri` under Miri, which is much slower. Tests get their sizes from it, and so do the sizes above which a map is computed in parts, so that
/// small maps are computed in parts under Miri, too.
const fn usual_or_miri(usual: usize, miri: usize) -> usize {
    if cfg!(miri) { miri } else { usual }
}

/// The name of the machine's instructions for floats, which this runtime and rten use.
pub fn float_instructions() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        if rten_simd::is_avx512_supported() {
            return "AVX-512";
        }
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c")
        {
            return "AVX2 and FMA";
        }
    }
    if cfg!(target_arch = "aarch64") {
        "NEON"
    } else {
        "no vector instructions"
    }
}

/// The numbers that a network's products are computed in.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Display,
    EnumString,
    IntoStaticStr,
    VariantNames,
)]
#[strum(serialize_all = "lowercase")]
pub enum Numeric {
    /// 32-bit floats throughout.
    #[default]
    Float,
    /// Products of at least one layer in 8-bit integers, the rest in floats.
    Int8,
}

impl Numeric {
    /// The name in tables and stores.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// Which numbers a network may be computed in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Display, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum NumericMode {
    /// Int8 for large products, where the machine has instructions for it.
    #[default]
    Auto,
    /// Floats, on every machine.
    Float,
}

#[cfg(test)]
mod tests {
    mod hostile;

    use proptest::test_runner::Config;

    use super::rows::{ByRows, MapRows, StepChain};
    use super::{BufferPool, FeatureMap};

    /// Numbers in [-1, 1) that look random and depend only on the seed.
    pub(super) fn numbers(count: usize, seed: u64) -> Vec<f32> {
        (0..count as u64)
            .map(|n| {
                let mixed = (n + 1)
                    .wrapping_mul(seed | 1)
                    .wrapping_mul(0x9e37_79b9_7f4a_7c15);
                (mixed >> 40) as f32 / (1 << 23) as f32 - 1.0
            })
            .collect()
    }

    /// A map of such numbers, without padding.
    pub(super) fn map(height: usize, width: usize, channels: usize) -> FeatureMap {
        let mut map = FeatureMap::filled(height, width, channels, 0.0);
        map.data
            .copy_from_slice(&numbers(height * width * channels, 9));
        map
    }

    /// The map that a step computes from another one.
    pub(super) fn alone(
        step: Box<dyn ByRows + '_>,
        input: &FeatureMap,
        pool: &mut BufferPool,
    ) -> FeatureMap {
        StepChain::of(step).run(&MapRows::of(input), pool).unwrap()
    }

    /// The configuration of a property test. Under Miri few cases, and no file of failures: Miri isolates tests from the file
    /// system.
    pub(super) fn cases() -> Config {
        if cfg!(miri) {
            Config {
                cases: 3,
                failure_persistence: None,
                ..Config::default()
            }
        } else {
            Config::default()
        }
    }
}
