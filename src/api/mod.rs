//! What can a program call? The types at the root of the crate, which the command line uses too.

mod approach;
pub mod ask;
mod collection;
mod error;
mod evaluate;
pub mod picture_text;
mod ranking;
pub mod request;
mod stance;

pub use approach::Approach;
pub use collection::Collection;
pub use error::Error;
pub use evaluate::{Evaluated, evaluate};
pub use picture_text::{PictureReader, PictureText};
pub use ranking::{RankedDocument, Ranking};
pub use request::Request;
pub use riposte_page::answer::{About, Answer, Argument, Image, Side, Text};
pub use stance::{ObjectStances, StanceDetector};
