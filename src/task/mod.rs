//! One recipe a task, readable top to bottom.

pub mod approach;
pub mod comparative;
pub mod controversial;
pub mod images;
pub mod likeness;
pub mod text_approach;
pub mod texts;
