//! What can go wrong, by what was being done.

use crate::stopped::Stopped;

/// What can go wrong. A message is complete: it names the file, and often what would mend it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A collection, a file of topics, a run, judgements or a picture cannot be read.
    #[error("{0}")]
    Input(Cause),
    /// There is no such approach, its recipe is wrong, or it is for another task.
    #[error("{0}")]
    Approach(Cause),
    /// A model that is needed is missing or damaged, or cannot be loaded.
    #[error("{0}")]
    Model(Cause),
    /// A ranking failed: there is nothing to rank, a file that was given to it cannot be read, a store or an index is damaged or cannot be written, or a
    /// model failed.
    #[error("{0}")]
    Computation(Cause),
    /// A file cannot be written.
    #[error("{0}")]
    Output(Cause),
    /// The receiver of the events has stopped the work. What was computed before is stored; the same call continues from there.
    #[error("stopped before the end; the same call continues from there")]
    Stopped,
}

/// The messages of an error and of what caused it, in one line.
pub struct Cause(anyhow::Error);

/// The messages, because this is what Rust prints if `main` returns the error.
impl std::fmt::Debug for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#}", self.0)
    }
}

impl Error {
    pub(super) fn input(error: anyhow::Error) -> Error {
        Error::Input(Cause(error))
    }

    pub(super) fn approach(error: anyhow::Error) -> Error {
        Error::Approach(Cause(error))
    }

    pub(super) fn model(error: anyhow::Error) -> Error {
        Error::Model(Cause(error))
    }

    pub(super) fn output(error: anyhow::Error) -> Error {
        Error::Output(Cause(error))
    }

    /// The error of a computation that could be stopped.
    pub(super) fn computation(error: anyhow::Error) -> Error {
        match error.is::<Stopped>() {
            true => Error::Stopped,
            false => Error::Computation(Cause(error)),
        }
    }
}
