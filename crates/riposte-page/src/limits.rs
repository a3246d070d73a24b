//! What a page shows at most.

/// The levels of an explanation. One has about ten, and each is a few calls on the stack.
pub const MAX_TREE_DEPTH: usize = 40;
