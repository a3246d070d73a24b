//! One binary for all integration tests: each of them links the whole of riposte.

mod clip;
mod collection_tools;
mod judge;
mod models;
mod ocr;
mod page;
mod sentence;
mod sentiment;
