//! Why a document has its place, in a sentence. Each sentence follows from the explanation that the ranking wrote, and from nothing else:
//! it names the largest numbers of that tree.

pub(crate) mod image;
pub(crate) mod text;
