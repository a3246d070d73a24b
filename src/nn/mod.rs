//! Networks: what computes them. Knows nothing of images, pages or topics.

pub mod conv;
