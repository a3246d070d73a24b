#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod address;
pub mod answer;
mod debate;
pub mod escape;
mod items;
pub mod limits;
pub mod presence;
mod stance;
mod tree;
pub mod words;

#[doc(inline)]
pub use address::WebAddress;
#[doc(inline)]
pub use debate::{CLAIM, DebateView};
#[doc(inline)]
pub use items::{Links, MarkedSpan, Picture, ResultItem, divided};
#[doc(inline)]
pub use stance::StanceBar;
#[doc(inline)]
pub use tree::ExplanationRow;

/// The style sheet of a page: the rules of all pages, then its own.
pub fn style(own: &str) -> String {
    [include_str!("base.css"), own].concat()
}
