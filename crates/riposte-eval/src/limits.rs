//! What is read at most. docs/limits.md of the repository has the reason for each number, and what happens beyond it.

/// Maximum size of a run, a file of judgements or a list of ids, after decompression. The largest ones of the lab have a tenth of it.
pub const MAX_RUN_BYTES: u64 = 256 << 20;

/// Maximum size of a file of topics. BEIR has files of several hundred thousand queries.
pub const MAX_TOPICS_BYTES: u64 = 64 << 20;

/// Maximum length of a line of such a file. The JSON of ranx is one long line; its reader bounds what it keeps.
pub const MAX_LINE_BYTES: usize = 16 << 20;

/// Maximum number of lines: what is kept of a line, and messages about it, can take more memory than the line.
pub const MAX_LINES: usize = 2_000_000;

/// After this number of faults the rest of a file is not read.
pub const MAX_FAULTS: usize = 100;

/// Maximum number of documents in a file in ranx's JSON, as of lines in other files. A document can take six bytes of the file, and far more in memory.
pub const MAX_RANX_DOCUMENTS: usize = 2_000_000;

/// Maximum rank in a run without scores: 32-bit floats, as which evaluators read scores, distinguish all whole numbers up to it.
pub const MAX_RANK: u32 = 1 << 24;

/// Maximum size of a run that TIRA accepts, in bytes.
pub const MAX_TIRA_BYTES: usize = 75 << 20;

/// Maximum grade in nDCG with exponential gains, 2^grade - 1: 2^1024 is no finite number, and a topic has a sum of them.
pub const MAX_EXPONENT: f64 = 1000.0;

/// Maximum grade in nDCG with other gains. Their sums are far below the largest float.
pub const MAX_GRADE: f64 = 1e15;

/// RBP and SDCG count so many results, and RBP's weights sum to 1 over them, as in cwl_eval.
pub const MAX_COUNTED_RESULTS: usize = 1000;

/// The number of results that NRBP counts, and the largest cutoff. Ideal rankings are computed document by document, so their length needs a bound.
pub const MAX_DIVERSITY_CUTOFF: usize = 1000;

/// The number of runs that can be compared with each other: a letter names each.
pub const MAX_COMPARED: usize = 26;
