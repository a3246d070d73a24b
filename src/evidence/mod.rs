//! What can be said about one document, independently of any topic.
//!
//! Computing evidence takes most of riposte's time. So it is computed once per document and stored (`store`), and all code that
//! knows a topic reads it from there. The text tasks use only the sentence encoder and VADER.

pub mod channel;
pub mod clip;
mod clock;
pub mod document;
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
mod text_parts;

pub use channel::{Channel, Channels};
pub use document_evidence::{ChannelValue, Evidence};
pub(crate) use guarded::guarded;
pub use ocr::ocr_text;
pub use page::PageEvidence;
pub use sentence::SentenceVector;
pub use sentiment::{AfinnValence, VaderValence};
use text_parts::read_part;
pub use text_parts::{PartValue, TextPart, texts};
