//! What can a program call? The types at the root of the crate, which the command line uses too.

pub(crate) mod approach;
pub(crate) mod ask;
pub(crate) mod collection;
mod error;
pub(crate) mod evaluate;
pub(crate) mod picture_text;
pub(crate) mod ranking;
pub(crate) mod request;
pub(crate) mod stance;

pub use approach::Approach;
pub use ask::{Answer, Argument, Image, Side, Text};
pub use collection::Collection;
pub use error::Error;
pub use evaluate::{Evaluated, evaluate};
pub use picture_text::{PictureReader, PictureText};
pub use ranking::{RankedDocument, Ranking};
pub use request::Request;
pub use stance::{ObjectStances, StanceDetector};
