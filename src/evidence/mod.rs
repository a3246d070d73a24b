//! What can be said about one document, independently of any topic.
//!
//! Computing evidence takes most of riposte's time. So it is computed once per document and stored (`store`), and all code that
//! knows a topic reads it from there. The text tasks use only the sentence encoder and VADER.

pub mod channel;
pub mod clip;
mod clock;
mod document;
mod document_evidence;
pub mod extract;
mod guarded;
pub mod image_text;
pub mod ocr;
mod onnx_towers;
pub mod page;
pub mod picture;
mod pixels;
pub mod precision;
pub mod sentence;
pub mod sentiment;
pub mod store;
pub mod table;

pub use channel::{Channel, Channels};
use document_evidence::read_part;
pub use document_evidence::{
    AfinnValence, ChannelBackend, Evidence, PageEvidence, PartValue, TextPart, ocr_text, texts,
};
pub(crate) use guarded::guarded;
