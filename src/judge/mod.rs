//! Is a run valid, how good is it, and does riposte still have the figures that are expected of it?

mod document_ids;
pub mod evaluate;
pub mod export;
pub mod leaderboards;
pub mod reproduce;
pub mod verify;
