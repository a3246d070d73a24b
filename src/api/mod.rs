//! What can a program call? The types at the root of the crate, which the command line uses too.

pub mod approach;
pub mod ask;
pub mod collection;
mod error;
pub mod evaluate;
pub mod picture_text;
pub mod ranking;
pub mod request;
pub mod stance;

pub use approach::Approach;
pub use ask::{About, Answer, Argument, Image, Side, Text};
pub use collection::Collection;
pub use error::Error;
pub use evaluate::{Evaluated, evaluate};
pub use picture_text::{PictureReader, PictureText};
pub use ranking::{RankedDocument, Ranking};
pub use request::Request;
pub use stance::{ObjectStances, StanceDetector};
