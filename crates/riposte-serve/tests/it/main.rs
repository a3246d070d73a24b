//! A server on the loopback interface, in front of a desk that does what the question says.

mod anserini;
mod api;
mod attack;
mod browser;
mod client;
#[cfg(unix)]
mod crowd;
mod ending;
mod execution;
mod hostile;
mod html;
mod mcp;
mod page;
mod refused;
mod report;
mod run;
mod safety;
mod schema;
mod shared;
mod stub;
