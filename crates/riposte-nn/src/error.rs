//! What can go wrong.

use std::error::Error as StdError;
use std::fmt::{self, Display, Formatter};
use std::io;

/// The result of a function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong in this crate. A message is complete: it also says what was being done, and what an underlying library said.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be opened or read.
    #[error("{}", ErrorChain(.0))]
    Io(io::Error),
    /// A file is damaged or of another kind, it contradicts itself, or it lacks something that the model needs.
    #[error("{0}")]
    Model(String),
    /// The network is none that this crate computes; another runtime may. Also a network that needs more memory than any of its kind.
    #[error("{0}")]
    Unsupported(String),
    /// What a model is to compute does not fit it: sizes, shapes, tokens.
    #[error("{0}")]
    Input(String),
    /// Code outside this crate has failed: the caller's [`TensorSource`](crate::transformer::TensorSource), or a library.
    #[error("{}", ErrorChain(&**.0))]
    Other(Box<dyn StdError + Send + Sync>),
    /// What was being done when another error happened.
    #[error("{doing}: {error}")]
    While {
        /// Often with the path of a file.
        doing: String,
        /// What went wrong.
        error: Box<Error>,
    },
}

impl Error {
    /// The error of another library, with all that it says about its causes.
    pub fn other(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        Error::Other(error.into())
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::Io(error)
    }
}

/// Displays an error and its causes.
pub(crate) struct ErrorChain<'a>(pub &'a (dyn StdError + 'static));

impl Display for ErrorChain<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

/// Says in an error what was being done when it happened.
pub(crate) trait While<T> {
    fn during<D: Into<String>>(self, doing: impl FnOnce() -> D) -> Result<T>;
}

impl<T, E: Into<Error>> While<T> for Result<T, E> {
    fn during<D: Into<String>>(self, doing: impl FnOnce() -> D) -> Result<T> {
        self.map_err(|error| Error::While {
            doing: doing().into(),
            error: Box::new(error.into()),
        })
    }
}

/// Returns an error of this kind, with a formatted message.
macro_rules! bail {
    ($kind:ident, $($message:tt)+) => {
        return Err($crate::Error::$kind(format!($($message)+)))
    };
}

/// Returns an error of this kind, with a formatted message, unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $kind:ident, $($message:tt)+) => {
        if !$condition {
            $crate::error::bail!($kind, $($message)+);
        }
    };
}

pub(crate) use bail;
pub(crate) use ensure;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_what_was_being_done_and_all_causes() {
        let inner = io::Error::other(Error::Input("it is too long".to_owned()));
        let error: Result<()> = Err(Error::other(inner));
        let error = error.during(|| "reading row 3").during(|| "embedding");
        assert_eq!(
            error.unwrap_err().to_string(),
            "embedding: reading row 3: it is too long"
        );
    }
}
