//! What can a program call? The types at the root of the crate, which the command line uses too.

#[cfg(feature = "texts")]
pub mod approach;
#[cfg(feature = "full")]
pub mod ask;
#[cfg(feature = "texts")]
pub mod collection;
mod error;
pub mod evaluate;
#[cfg(feature = "full")]
pub mod picture_text;
#[cfg(feature = "texts")]
pub mod ranking;
#[cfg(feature = "texts")]
pub mod request;
#[cfg(feature = "texts")]
pub mod stance;

#[cfg(feature = "texts")]
pub use approach::Approach;
#[cfg(feature = "full")]
pub use ask::{About, Answer, Argument, Image, Side, Text};
#[cfg(feature = "texts")]
pub use collection::Collection;
pub use error::Error;
pub use evaluate::{Evaluated, evaluate};
#[cfg(feature = "full")]
pub use picture_text::{PictureReader, PictureText};
#[cfg(feature = "texts")]
pub use ranking::{RankedDocument, Ranking};
#[cfg(feature = "texts")]
pub use request::Request;
#[cfg(feature = "texts")]
pub use stance::{ObjectStances, StanceDetector};
