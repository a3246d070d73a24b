//! One binary for all integration tests: each of them links the whole of riposte.

mod clip;
mod collection_tools;
mod floors;
mod images;
mod judge;
mod measures;
mod models;
mod ocr;
mod page;
mod picture;
mod sentence;
mod sentiment;
mod verify;
