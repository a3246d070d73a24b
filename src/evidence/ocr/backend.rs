//! Which runtime computes a reader's networks, and in which numbers.

use std::fmt;

use riposte_nn::conv::Numeric;

/// The runtime that computes a part of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartRuntime {
    /// The convolution runtime, [`riposte_nn::conv`].
    Conv(Numeric),
    /// rten, in floats.
    Rten {
        /// Why the convolution runtime does not compute this part.
        because: String,
    },
}

/// What computes one network of a reader. Layers that neither part covers are computed by rten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkBackend {
    /// The network's part in reading: detector or recogniser.
    pub network: &'static str,
    /// Computes the network from its input on.
    pub convolutions: PartRuntime,
    /// Computes the softmax over labels at the end; `None` if the network has no such layer.
    pub output_layer: Option<PartRuntime>,
}

impl NetworkBackend {
    /// Int8 if either part has products in int8.
    pub fn numeric(&self) -> Numeric {
        let numerics = self.runtimes().map(|runtime| match runtime {
            PartRuntime::Conv(numeric) => *numeric,
            PartRuntime::Rten { .. } => Numeric::Float,
        });
        numerics.max().unwrap_or_default()
    }

    fn runtimes(&self) -> impl Iterator<Item = &PartRuntime> {
        std::iter::once(&self.convolutions).chain(&self.output_layer)
    }
}

impl fmt::Display for NetworkBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} (", self.network, self.numeric())?;
        match &self.convolutions {
            PartRuntime::Conv(_) => f.write_str("convolution runtime")?,
            PartRuntime::Rten { because } => write!(f, "rten, because {because}")?,
        }
        match (&self.convolutions, &self.output_layer) {
            (_, Some(PartRuntime::Rten { because })) => {
                write!(f, "; output layer by rten, because {because}")?;
            }
            (PartRuntime::Rten { .. }, Some(PartRuntime::Conv(_))) => {
                f.write_str("; output layer by the convolution runtime")?;
            }
            (_, None) | (PartRuntime::Conv(_), Some(PartRuntime::Conv(_))) => {}
        }
        f.write_str(")")
    }
}

/// The backends of a reader's networks in one line, with the reasons for those that are not computed by the convolution runtime.
pub fn describe(backends: &[NetworkBackend]) -> String {
    let listed = |text: fn(&NetworkBackend) -> String| {
        let texts: Vec<String> = backends.iter().map(text).collect();
        texts.join(", ")
    };
    let mut runtimes = backends.iter().flat_map(NetworkBackend::runtimes);
    if runtimes.all(|runtime| matches!(runtime, PartRuntime::Conv(_))) {
        let networks = listed(|backend| format!("{} {}", backend.network, backend.numeric()));
        format!("{networks} (convolution runtime)")
    } else {
        listed(NetworkBackend::to_string)
    }
}

/// The backends of a reader's networks in the form that is stored with the lines: without reasons.
pub fn name(backends: &[NetworkBackend]) -> String {
    let name = |backend: &NetworkBackend| {
        let runtime = match backend.convolutions {
            PartRuntime::Conv(_) => "conv",
            PartRuntime::Rten { .. } => "rten",
        };
        format!("{} {runtime} {}", backend.network, backend.numeric())
    };
    backends.iter().map(name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rten(because: &str) -> PartRuntime {
        PartRuntime::Rten {
            because: because.to_owned(),
        }
    }

    fn backend(
        network: &'static str,
        convolutions: PartRuntime,
        output: Option<PartRuntime>,
    ) -> NetworkBackend {
        NetworkBackend {
            network,
            convolutions,
            output_layer: output,
        }
    }

    #[test]
    fn networks_of_the_convolution_runtime_are_described_by_their_numbers() {
        let detector = backend("detector", PartRuntime::Conv(Numeric::Int8), None);
        // one layer in int8 makes a network int8
        let output = Some(PartRuntime::Conv(Numeric::Int8));
        let recogniser = backend("recogniser", PartRuntime::Conv(Numeric::Float), output);
        let both = [detector, recogniser];
        assert_eq!(
            describe(&both),
            "detector int8, recogniser int8 (convolution runtime)"
        );
        assert_eq!(name(&both), "detector conv int8, recogniser conv int8");
    }

    #[test]
    fn a_network_that_is_refused_is_described_with_the_reason() {
        let detector = backend("detector", PartRuntime::Conv(Numeric::Int8), None);
        let recogniser = backend("recogniser", rten("it is not an ONNX model"), None);
        let both = [detector, recogniser];
        assert_eq!(
            describe(&both),
            "detector int8 (convolution runtime), recogniser float (rten, because it is not an ONNX model)"
        );
        assert_eq!(name(&both), "detector conv int8, recogniser rten float");
    }

    #[test]
    fn an_output_layer_on_another_runtime_is_named() {
        let conv = PartRuntime::Conv(Numeric::Int8);
        let refused = backend("recogniser", conv.clone(), Some(rten("x is fused")));
        assert_eq!(
            describe(&[refused]),
            "recogniser int8 (convolution runtime; output layer by rten, because x is fused)"
        );
        let alone = backend("recogniser", rten("it is dilated"), Some(conv));
        assert_eq!(
            alone.to_string(),
            "recogniser int8 (rten, because it is dilated; output layer by the convolution runtime)"
        );
    }
}
