//! What is read at most. docs/limits.md of the repository has the reason for each number, and what happens beyond it.

/// How many tokens of a text all-MiniLM-L6-v2 reads (its `max_seq_length`).
pub const MAX_SENTENCE_TOKENS: usize = 256;

/// A feature map has at most this many numbers, and so have all maps together that a network needs at the same time: 512 MiB. The largest map of the
/// OCR networks has 14 million; a damaged model file can ask for any number.
pub const MAX_NUMBERS: usize = 1 << 27;

/// Larger sizes in a configuration mean a damaged file.
pub const MAX_SIZE: usize = 1 << 20;

/// More layers in a configuration mean a damaged file: the names of all their tensors would take gigabytes. Published encoders have up to 48.
pub const MAX_LAYERS: usize = 1 << 10;

/// Maximum depth of messages within messages, such as graphs in attributes of nodes in graphs.
pub const MAX_ONNX_DEPTH: usize = 64;

/// Greatest side of a kernel, stride, padding and upsampling that is compiled. Real networks stay far below; a damaged file
/// could otherwise ask for any amount of memory.
pub const MAX_EXTENT: usize = 64;

/// Greatest number of channels of a concatenation. Each can double the channels of the one before.
pub const MAX_CHANNELS: usize = 1 << 16;

/// Maximum size of a file of text, such as `tokenizer.json`. The tokenizer of all-MiniLM-L6-v2 has 0.5 MB; larger vocabularies need more.
pub const MAX_TEXT_BYTES: u64 = 64 << 20;

/// Longer prompts would be copied with each text, and leave no room for it.
pub const MAX_PROMPT_BYTES: usize = 16 << 10;
