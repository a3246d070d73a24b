//! How riposte speaks HTTP: proxies, certificates, how long it takes at most to connect, and how a file is downloaded. `weights/` downloads models
//! with it, `datasets/` collections, and `systems/chatnoir` asks a search engine; nothing else may use it (`tests/it/floors.rs`).

pub(crate) mod download;
pub(crate) mod hub;
pub(crate) mod part;
mod progress;

use std::env;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use ureq::config::ConfigBuilder;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::typestate::AgentScope;
use ureq::{Agent, Timeout};

use crate::disk::regular;
use crate::limits::{MAX_CERTIFICATES_BYTES, MAX_CONNECT_TIME};
pub(crate) use progress::Transfer;

/// Whether a text is the address of a file on the web.
pub(crate) fn is_web_address(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

/// The configuration of an HTTP client that follows no redirects and returns responses of any status.
///
/// Proxies are taken from the environment (`HTTPS_PROXY`, `NO_PROXY`). If `SSL_CERT_FILE` is set, its certificates replace the built-in
/// ones. Errors: that file cannot be read or contains no certificate.
pub(crate) fn agent() -> Result<ConfigBuilder<AgentScope>> {
    let roots = match env::var_os("SSL_CERT_FILE").filter(|v| !v.is_empty()) {
        Some(path) => roots(Path::new(&path))
            .with_context(|| format!("cannot use the certificates of SSL_CERT_FILE, {path:?}"))?,
        None => RootCerts::WebPki,
    };
    Ok(Agent::config_builder()
        .tls_config(TlsConfig::builder().root_certs(roots).build())
        .user_agent(concat!("riposte/", env!("CARGO_PKG_VERSION")))
        .max_redirects(0)
        .http_status_as_error(false)
        .timeout_resolve(Some(MAX_CONNECT_TIME))
        .timeout_connect(Some(MAX_CONNECT_TIME)))
}

/// Whether the host cannot be reached at all. If only one response was bad, others may still be available there.
pub(crate) fn is_unreachable(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => true,
        ureq::Error::Timeout(when) => matches!(when, Timeout::Resolve | Timeout::Connect),
        // a failed DNS look-up has no error kind of its own, so every kind counts that is not a broken connection
        ureq::Error::Io(error) => !is_broken(error.kind()),
        _ => false,
    }
}

/// Whether a connection broke that had been made.
fn is_broken(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
            | ErrorKind::UnexpectedEof
    )
}

/// Reads certificates from a PEM file.
fn roots(path: &Path) -> Result<RootCerts> {
    let pem = regular::read(path, MAX_CERTIFICATES_BYTES)?;
    let certificates: Vec<_> = parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    ensure!(!certificates.is_empty(), "no certificate in it");
    Ok(RootCerts::new_with_certs(&certificates))
}
