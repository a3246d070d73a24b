//! How a server is set up.

use std::fmt::{self, Debug, Formatter};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::limits::{
    BODY_TIME, CACHE_BYTES, DEADLINE, GRACE, HEAD_TIME, MAX_ANSWERS_BYTES, MAX_CONNECTIONS,
    MAX_WAITING, QUICK_DEADLINE, TOKEN_BYTES, WRITE_TIME,
};
use crate::log::LogRecord;

/// Receives a record for each request that is over, and for each other failure. It is called on the threads of the network, so it should not block.
pub type Log = Arc<dyn Fn(&LogRecord<'_>) + Send + Sync>;

/// How a server is set up.
#[derive(Clone)]
pub struct ServerSettings {
    /// The number of calls that models may answer at once.
    pub threads: usize,
    /// The number of quick calls (by words alone, documents, pictures, health) that may be answered at once, beside the others.
    pub quick_threads: usize,
    /// The number of calls of either sort that may wait for a thread.
    pub waiting: usize,
    /// The time that a call may take, together with its wait.
    pub deadline: Duration,
    /// The same for quick calls.
    pub quick_deadline: Duration,
    /// The bytes that answers are kept in, to be given again.
    pub cache_bytes: usize,
    /// The bytes of all answers that are kept or being sent. What does not fit is refused until clients have taken their answers.
    pub answer_bytes: usize,
    /// The number of connections at once. A connection has a file handle of its own.
    pub connections: usize,
    /// The time for the first line and the headers of a request, and for the next request on a connection.
    pub head_time: Duration,
    /// The time for the body of a request.
    pub body_time: Duration,
    /// The time for a client to take an answer.
    pub write_time: Duration,
    /// The time for calls in progress when the server ends. What takes longer is stopped.
    pub grace: Duration,
    /// Names under which the server is reached, besides its address and localhost. They are for clients behind a proxy or in a network with names.
    pub names: Vec<String>,
    /// What clients must send: 16 to 256 letters, digits and `-._~`. `None` lets everybody in who reaches the address.
    pub token: Option<String>,
    /// Whether records have the questions.
    pub log_questions: bool,
    /// Receives the records.
    pub log: Log,
}

/// What is wrong with the settings.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SettingsError {
    /// The token can be guessed, or cannot be sent in a header.
    #[error(
        "the token must have {} to {} letters, digits and -._~",
        TOKEN_BYTES.start(),
        TOKEN_BYTES.end()
    )]
    Token,
    /// A name is empty or has a port.
    #[error("{0:?} is no name of a host; give it without a port")]
    Name(String),
}

impl Default for ServerSettings {
    /// For one user on a machine of two cores.
    fn default() -> ServerSettings {
        ServerSettings {
            threads: 1,
            quick_threads: 2,
            waiting: MAX_WAITING,
            deadline: DEADLINE,
            quick_deadline: QUICK_DEADLINE,
            cache_bytes: CACHE_BYTES,
            answer_bytes: MAX_ANSWERS_BYTES,
            connections: MAX_CONNECTIONS,
            head_time: HEAD_TIME,
            body_time: BODY_TIME,
            write_time: WRITE_TIME,
            grace: GRACE,
            names: Vec::new(),
            token: None,
            log_questions: false,
            log: Arc::new(|_| {}),
        }
    }
}

impl ServerSettings {
    /// # Errors
    /// The token or a name cannot be used.
    pub fn check(&self) -> Result<(), SettingsError> {
        if let Some(token) = &self.token {
            let fits = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
            if !TOKEN_BYTES.contains(&token.len()) || !token.chars().all(fits) {
                return Err(SettingsError::Token);
            }
        }
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
        let mut names = self.names.iter();
        match names.find(|name| name.is_empty() || !name.chars().all(fits)) {
            Some(name) => Err(SettingsError::Name(name.clone())),
            None => Ok(()),
        }
    }

    /// What is exposed if the server listens on `address`, for the user to read; `None` if only this machine can reach it.
    pub fn warning(&self, address: SocketAddr) -> Option<Warning> {
        let loopback = address.ip().to_canonical().is_loopback();
        (!loopback).then(|| Warning {
            address,
            has_token: self.token.is_some(),
        })
    }
}

impl Debug for ServerSettings {
    /// Leaves out the token, which must not get into a log.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSettings")
            .field("threads", &self.threads)
            .field("quick_threads", &self.quick_threads)
            .field("waiting", &self.waiting)
            .field("deadline", &self.deadline)
            .field("quick_deadline", &self.quick_deadline)
            .field("cache_bytes", &self.cache_bytes)
            .field("answer_bytes", &self.answer_bytes)
            .field("connections", &self.connections)
            .field("names", &self.names)
            .field("token", &self.token.is_some())
            .finish_non_exhaustive()
    }
}

/// Says what other machines can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Warning {
    address: SocketAddr,
    has_token: bool,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let address = self.address;
        let who = match self.has_token {
            true => "Whoever has the token",
            false => "Everybody who reaches it",
        };
        write!(
            f,
            "the server listens on {address}, so other machines of the network can reach it. {who} can read all documents and pictures of the collections \
             and keep this machine's processors busy. Connections are not encrypted: whoever is on the way reads questions, answers"
        )?;
        match self.has_token {
            true => write!(
                f,
                " and the token. A proxy with TLS in front of it prevents that"
            ),
            false => write!(f, ". Set a token, or listen on 127.0.0.1"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_says_what_is_exposed_and_only_off_loopback() {
        let settings = ServerSettings::default();
        let warning = |address: &str| settings.warning(address.parse().unwrap());
        assert_eq!(warning("127.0.0.1:80"), None);
        assert_eq!(warning("[::1]:80"), None);
        assert_eq!(warning("[::ffff:127.0.0.1]:80"), None);
        let text = warning("0.0.0.0:8080").unwrap().to_string();
        assert!(text.contains("0.0.0.0:8080") && text.contains("Everybody"));
        let token = Some("0123456789abcdef".to_owned());
        let settings = ServerSettings { token, ..settings };
        let text = settings.warning("[::]:80".parse().unwrap()).unwrap();
        assert!(text.to_string().contains("Whoever has the token"));
        assert!(!format!("{settings:?}").contains("0123456789abcdef"));
    }

    #[test]
    fn a_token_is_long_and_fits_into_a_header() {
        let with = |token: &str| {
            let token = Some(token.to_owned());
            let settings = ServerSettings {
                token,
                ..ServerSettings::default()
            };
            settings.check()
        };
        assert_eq!(with("0123456789abcde"), Err(SettingsError::Token));
        assert_eq!(with("0123456789abcdef; Path=/"), Err(SettingsError::Token));
        assert_eq!(with("0123456789abcdef"), Ok(()));
    }

    #[test]
    fn a_name_has_no_port() {
        let names = vec!["riposte.example:80".to_owned()];
        let settings = ServerSettings {
            names,
            ..ServerSettings::default()
        };
        assert!(settings.check().is_err());
    }
}
