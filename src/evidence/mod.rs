//! What can be said about one document, independently of any topic.
//!
//! Computing evidence takes most of riposte's time. So it is computed once per document and stored (`store`), and all code that
//! knows a topic reads it from there. The text tasks use only the sentence encoder and VADER.

#[cfg(feature = "full")]
pub mod channel;
#[cfg(feature = "full")]
pub mod clip;
#[cfg(feature = "full")]
mod clock;
#[cfg(feature = "full")]
mod content;
#[cfg(feature = "full")]
mod document;
#[cfg(feature = "full")]
pub mod extract;
#[cfg(feature = "full")]
mod guarded;
#[cfg(feature = "full")]
pub mod image_text;
#[cfg(feature = "full")]
pub mod ocr;
#[cfg(feature = "full")]
mod onnx_towers;
#[cfg(feature = "full")]
pub mod page;
#[cfg(feature = "full")]
pub mod picture;
#[cfg(feature = "full")]
mod pixels;
pub mod precision;
pub mod sentence;
pub mod sentiment;
#[cfg(feature = "full")]
pub mod store;
#[cfg(feature = "full")]
pub mod table;

#[cfg(feature = "full")]
pub use channel::{Channel, Channels};
#[cfg(feature = "full")]
use content::read_part;
#[cfg(feature = "full")]
pub use content::{
    AfinnValence, Backend, Evidence, PageEvidence, PartValue, TextPart, ocr_text, texts,
};
#[cfg(feature = "full")]
pub(crate) use guarded::guarded;
