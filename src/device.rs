//! The device that computes the encoders.

use riposte_nn::transformer::Backend;

/// The backend on this machine: candle, if riposte was built with the feature `cuda` and the machine has a GPU for it; otherwise the given one.
pub(crate) fn backend(backend: Backend) -> Backend {
    if riposte_candle::has_gpu() {
        return Backend::Given(riposte_candle::layers);
    }
    backend
}
