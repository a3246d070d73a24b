//! What can go wrong.

/// What can go wrong with a file of weights for the tagger; nothing else in this crate can fail. A message is complete: it also says what an
/// underlying library said.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file has no empty line, so it does not begin with lines of text.
    #[error("the weights of the tagger have no head")]
    NoHead,
    /// The part after the lines of text is not compressed with deflate, or is cut.
    #[error("cannot decompress the weights of the tagger: {0}")]
    Compressed(std::io::Error),
    /// The decompressed part is not what it should be.
    #[error("the weights of the tagger are damaged: {0}")]
    Damaged(String),
    /// Weights that do not fit the file.
    #[error("cannot write the weights of the tagger: {0}")]
    Unfit(&'static str),
    /// The compressed weights could not be written.
    #[error("cannot compress the weights of the tagger: {0}")]
    Uncompressed(std::io::Error),
}
