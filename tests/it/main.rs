//! One binary for all integration tests: each of them links the whole of riposte.

mod arguments;
mod clip;
mod collection_tools;
mod cross;
mod evaluate;
mod floors;
mod golden_texts;
mod images;
mod index_files;
mod judge;
mod measures;
mod models;
mod object_stance;
mod ocr;
mod page;
mod pair;
mod passages;
mod picture;
mod quality;
mod report;
mod search;
mod sentence;
mod sentiment;
mod support;
mod texts;
mod verify;
