//! What answers the requests of a server: collections that stay open, behind the HTTP of the crate riposte-serve.
//!
//! Answers are those of the commands: a search is a run with this one topic, a debate is what `riposte ask` says, and a stance is what `riposte stance` says.

mod answers;
mod desk;
mod document;
mod explain;
mod opened;
mod read;
mod reply;
mod report;
mod search;
mod served;
mod watch;

pub use desk::{OnReopened, ServedCollections};
