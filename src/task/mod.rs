//! One recipe a task, readable top to bottom.

pub mod approach;
pub mod images;
