//! What computes the encoders: the backend, its device, and the numbers.

use anyhow::{Result, ensure};
use riposte_nn::conv::{Numeric, NumericMode};
use riposte_nn::transformer::EncoderBackend;

/// How models compute, as the user chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compute {
    /// The numbers of the networks that the packed backend and the convolution runtime compute.
    pub numeric: NumericMode,
    /// What computes the encoders: CLIP, and the encoders of texts.
    pub backend: BackendMode,
}

/// What computes a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Runtime {
    /// Packed matrices.
    Packed,
    /// candle.
    Candle,
    /// rten, for ONNX files.
    Rten,
}

impl From<EncoderBackend> for Runtime {
    fn from(backend: EncoderBackend) -> Runtime {
        match backend {
            EncoderBackend::Given(_) => Runtime::Candle,
            EncoderBackend::Auto | EncoderBackend::Float => Runtime::Packed,
        }
    }
}

/// Names what computes a model, as the option of the command line does, and the numbers.
pub(crate) fn describe(runtime: Runtime, numeric: Numeric) -> String {
    format!("{runtime} {numeric}")
}

/// What computes encoders. The names are those on the command line.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    strum::Display,
    strum::EnumString,
    strum::VariantNames,
)]
#[strum(serialize_all = "lowercase")]
pub enum BackendMode {
    /// candle if there is a GPU for it, otherwise packed matrices, which are faster on a CPU.
    #[default]
    Auto,
    /// Packed matrices on the CPU.
    Packed,
    /// candle on the GPU or, if there is none, on the CPU. It computes in floats.
    Candle,
}

impl Compute {
    /// The backend of an encoder of texts.
    pub fn backend(self) -> EncoderBackend {
        self.backend.or(EncoderBackend::of(self.numeric))
    }
}

impl BackendMode {
    /// Checks that a model is computed by what the user chose.
    ///
    /// # Errors
    /// Something else computes it. [`BackendMode::Auto`] leaves the choice to the model.
    pub(crate) fn check(self, runtime: Runtime) -> Result<()> {
        let chosen = match self {
            BackendMode::Auto => return Ok(()),
            BackendMode::Packed => Runtime::Packed,
            BackendMode::Candle => Runtime::Candle,
        };
        ensure!(
            runtime == chosen,
            "--backend {self}: only {runtime} computes this model (--backend auto chooses it)"
        );
        Ok(())
    }

    /// candle if this mode chooses it on this machine, otherwise the given one.
    pub fn or(self, packed: EncoderBackend) -> EncoderBackend {
        match self {
            BackendMode::Packed => packed,
            BackendMode::Auto if !riposte_candle::has_gpu() => packed,
            BackendMode::Auto | BackendMode::Candle => {
                EncoderBackend::Given(riposte_candle::layers)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packed_backend_keeps_its_numbers_and_candle_has_its_own() {
        let backend = |numeric, backend| Compute { numeric, backend }.backend();
        let (auto, float) = (NumericMode::Auto, NumericMode::Float);
        assert!(matches!(
            backend(auto, BackendMode::Packed),
            EncoderBackend::Auto
        ));
        assert!(matches!(
            backend(float, BackendMode::Packed),
            EncoderBackend::Float
        ));
        for numeric in [auto, float] {
            let given = backend(numeric, BackendMode::Candle);
            assert!(matches!(given, EncoderBackend::Given(_)));
            let chosen = backend(numeric, BackendMode::Auto);
            let is_given = matches!(chosen, EncoderBackend::Given(_));
            assert_eq!(is_given, riposte_candle::has_gpu());
        }
    }
}
