//! What riposte reads, waits for and keeps at most. Each number is written once, with its reason: the code uses these constants, and docs/limits.md is
//! made of them (`tests/it/limits.rs`). The crates have limits of their own, which are in the lists under names that tell them apart.

use std::fmt::Debug;

/// A limit, as docs/limits.md shows it.
pub struct Limit {
    /// The name of its constant. It ends with `_BYTES` if the value is a size.
    pub name: &'static str,
    /// A number, or a time.
    pub value: &'static dyn Debug,
    /// What it bounds.
    pub what: &'static str,
    /// The reason for the number.
    pub why: &'static str,
    /// What happens beyond it.
    pub beyond: &'static str,
}

/// Defines the limits of a subject and the list of them. The three lines above a constant say what it bounds, why, and what happens beyond it; without
/// one of them it does not compile.
macro_rules! limits {
    ($list:ident $(
        #[doc = $what:literal]
        #[doc = $why:literal]
        #[doc = $beyond:literal]
        pub const $name:ident: $kind:ty = $value:expr;
    )*) => {
        $(
            #[doc = $what]
            #[doc = $why]
            #[doc = $beyond]
            pub const $name: $kind = $value;
        )*

        /// These limits, in the order of the page.
        pub const $list: &[$crate::limits::Limit] = &[$($crate::limits::Limit {
            name: stringify!($name),
            value: &$name,
            what: $what,
            why: $why,
            beyond: $beyond,
        }),*];
    };
}

mod images;
mod server;
mod stores;
mod texts;

pub use images::*;
pub use server::*;
pub use stores::*;
pub use texts::*;

/// All limits, by the sections of the page.
pub const LIMITS: [&[Limit]; 4] = [IMAGES, TEXTS, SERVER, STORES];
