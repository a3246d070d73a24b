//! The HTTP half of a search server for arguments and images: everything between a socket and a [`Desk`], which answers.
//!
//! The crate knows no index, no model and no collection. It reads requests and checks them, decides who may ask, runs the calls of the desk on threads of
//! their own behind a bounded queue, keeps answers, and ends without breaking off what is in progress.
//!
//! ```
//! use std::net::TcpListener;
//! use std::sync::Arc;
//!
//! use riposte_serve::{Desk, ShutdownReport, ServeError, ServerSettings, Switch, run};
//!
//! /// Serves on this machine only, until `switch` is turned, for example on Ctrl-C.
//! fn start(desk: Arc<dyn Desk>, switch: &Switch) -> Result<ShutdownReport, ServeError> {
//!     let listener = TcpListener::bind("127.0.0.1:8080")?;
//!     let settings = ServerSettings {
//!         log: Arc::new(|record| eprintln!("{record}")),
//!         ..ServerSettings::default()
//!     };
//!     if let Some(warning) = settings.warning(listener.local_addr()?) {
//!         eprintln!("{warning}");
//!     }
//!     run(listener, desk, settings, switch)
//! }
//! ```
//!
//! | what | where |
//! |---|---|
//! | what answers, and what it is told | [`Desk`], [`Call`], [`questions`] |
//! | what it answers | [`answers`], [`Refusal`] |
//! | how a server is set up, and what it says | [`ServerSettings`], [`LogRecord`] |
//! | how it runs | [`run`], [`serve`], [`Switch`] |
//! | what a request may have at most | [`limits`] |
//! | the routes, those of the page for browsers among them | [`openapi`] |
//! | tools for language models | `mcp` |
//!
//! What comes in may be hostile. No text of a request becomes a part of a path, and the crate opens no file but two of the system that tell the memory and the
//! file handles of its own process.

#![warn(missing_docs)]

pub mod answers;
mod budget;
mod cache;
mod connections;
mod desk;
mod guard;
pub mod limits;
mod log;
pub mod mcp;
mod metrics;
mod page;
mod patient;
mod pool;
mod process;
pub mod questions;
mod refusal;
mod respond;
mod routes;
mod server;
mod settings;
mod shared;

#[doc(inline)]
pub use connections::{ServeError, ShutdownReport, Switch, run, serve};
#[doc(inline)]
pub use desk::{Call, Desk};
#[doc(inline)]
pub use log::LogRecord;
#[doc(inline)]
pub use refusal::Refusal;
#[doc(inline)]
pub use settings::{Log, ServerSettings, SettingsError, Warning};

/// The description of the routes, as the server gives it at `/api/openapi.json`: OpenAPI 3.1.
///
/// # Errors
/// It cannot be written as JSON.
pub fn openapi() -> Result<String, serde_json::Error> {
    routes::openapi()
}
