//! A client of ChatNoir, the search engine for ClueWeb and Common Crawl (<https://www.chatnoir.eu/docs>).

mod answer;
mod key;

use std::collections::HashSet;
use std::io::Read;
use std::time::Duration;
use std::{env, thread};

use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ureq::Agent;
use ureq::http::{HeaderMap, StatusCode, Uri, header};

pub use answer::{ChatNoirAnswer, ChatNoirHit, ChatNoirMeta, Uuid};
pub use key::ChatNoirKey;

use crate::events::{Event, OnEvent};
use crate::limits::{
    MAX_CHATNOIR_BYTES, MAX_CHATNOIR_ERROR_BYTES, MAX_CHATNOIR_MESSAGE, MAX_CHATNOIR_PAUSE,
    MAX_CHATNOIR_TIME, MAX_CHATNOIR_TRIES,
};
use crate::web::{self, is_unreachable};

/// The environment variable with the address of another instance.
const VARIABLE: &str = "CHATNOIR_URL";

const ADDRESS: &str = "https://www.chatnoir.eu";

/// The path of the search below the address.
const SEARCH: &str = "/api/v1/_search";

/// Number of results on a page. Teams of the lab have requested as many at a time.
const PAGE: usize = 100;

/// The pause before the second try. It doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// Limits for requests to the service and for its answers.
#[derive(Clone, Copy, Debug)]
pub struct ChatNoirLimits {
    /// Maximum time for a request and its answer.
    pub timeout: Duration,
    /// Maximum number of times that a request is sent, if its failure may be temporary.
    pub tries: u32,
    /// The pause before the second try. It doubles with each further one.
    pub pause: Duration,
    /// Maximum size of an answer, in bytes.
    pub answer_bytes: u64,
}

impl Default for ChatNoirLimits {
    fn default() -> Self {
        ChatNoirLimits {
            timeout: MAX_CHATNOIR_TIME,
            tries: MAX_CHATNOIR_TRIES,
            pause: FIRST_PAUSE,
            answer_bytes: MAX_CHATNOIR_BYTES,
        }
    }
}

/// A query. The key is not part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatNoirQuery {
    /// In ChatNoir's syntax: AND, OR, -, quotation marks and `site:` have a meaning.
    pub text: String,
    /// The names of the indexes, such as `cw12`.
    pub index: Vec<String>,
    /// Maximum number of results.
    pub most: usize,
}

/// A request for one page of results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageRequest {
    pub query: String,
    pub index: Vec<String>,
    /// Number of results on the previous pages.
    pub from: usize,
    /// Maximum number of results.
    pub size: usize,
}

/// The results of a query, of all pages together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChatNoirResults {
    /// In the order of the service, each result once.
    pub hits: Vec<ChatNoirHit>,
    /// Number of results that could not be read.
    pub broken: usize,
}

/// A client.
pub struct ChatNoir {
    agent: Agent,
    /// Without a slash at the end.
    pub(crate) address: String,
    key: Option<ChatNoirKey>,
    limits: ChatNoirLimits,
}

impl ChatNoir {
    /// The address in the environment variable `CHATNOIR_URL`, or else the address of the public service.
    ///
    /// # Errors
    /// The variable is not valid UTF-8.
    pub fn default_address() -> Result<String> {
        match env::var(VARIABLE) {
            Ok(address) if !address.trim().is_empty() => Ok(address.trim().to_owned()),
            Err(env::VarError::NotUnicode(_)) => bail!("{VARIABLE} is not valid UTF-8"),
            _ => Ok(ADDRESS.to_owned()),
        }
    }

    /// A client of the instance at `address`, such as `https://www.chatnoir.eu`. The key is needed only to send requests.
    ///
    /// # Errors
    /// The address neither begins with `https://` nor belongs to this machine, so others could read the key on its way; or the certificates that
    /// `SSL_CERT_FILE` names cannot be read.
    pub fn new(address: &str, key: Option<ChatNoirKey>, limits: ChatNoirLimits) -> Result<Self> {
        let address = address.trim_end_matches('/');
        // the message does not quote the address, which may contain a password
        check_address(address)
            .with_context(|| format!("the address of ChatNoir ({VARIABLE}) is wrong"))?;
        let agent = web::agent()?
            .timeout_global(Some(limits.timeout))
            .build()
            .new_agent();
        Ok(ChatNoir {
            agent,
            address: address.to_owned(),
            key,
            limits,
        })
    }

    /// Fetches the pages of a query until there are no more results. `page` returns the answer to a request, from the service or from the stored
    /// answers.
    ///
    /// # Errors
    /// Those of `page`, or another index was searched than the requested one.
    pub fn find(
        query: &ChatNoirQuery,
        mut page: impl FnMut(&PageRequest) -> Result<ChatNoirAnswer>,
    ) -> Result<ChatNoirResults> {
        let mut found = ChatNoirResults::default();
        let mut seen = HashSet::new();
        let mut from = 0;
        while from < query.most {
            let request = PageRequest {
                query: query.text.clone(),
                index: query.index.clone(),
                from,
                size: PAGE.min(query.most - from),
            };
            let answer = page(&request)?;
            answer.check_indexes(&query.index)?;
            from += answer.len();
            found.broken += answer.broken;
            let (total, before) = (answer.meta.total_results, found.hits.len());
            let new = answer.hits.into_iter().filter(|hit| {
                let name = hit.trec_id.clone();
                let name = name.or_else(|| hit.uuid.map(|uuid| uuid.to_string()));
                name.is_none_or(|name| seen.insert(name))
            });
            found.hits.extend(new);
            // a server that ignores `from` would send the first page forever
            let is_last = total.is_some_and(|total| from as u64 >= total);
            if is_last || found.hits.len() == before {
                break;
            }
        }
        found.hits.truncate(query.most);
        Ok(found)
    }

    /// Requests one page, and tries again if the failure may be temporary: the quota is used up, the server has an error, or the connection breaks.
    /// `on_event` receives a note before each pause.
    ///
    /// # Errors
    /// There is no key, the service refuses it or the request, cannot be reached, is too slow, or answers with something other than results. No
    /// message contains the key.
    pub fn ask(&self, request: &PageRequest, on_event: &mut OnEvent) -> Result<ChatNoirAnswer> {
        let key = self.key.as_ref().context(
            "ChatNoir requires a key (www.chatnoir.eu/apikey): set CHATNOIR_API_KEY, or name a file that contains it with --key-file",
        )?;
        let mut pause = self.limits.pause;
        let mut tried = 1;
        loop {
            let Failure {
                error,
                may_pass,
                wait,
            } = match self.send(request, key) {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let what = key.hidden_in(&format!("{error:#}"));
            if !may_pass || tried >= self.limits.tries {
                ensure!(tried > 1, what);
                bail!("{what} (tried {tried} times)");
            }
            let wait = wait.unwrap_or(pause).min(MAX_CHATNOIR_PAUSE);
            on_event(Event::note(format!(
                "{what}: trying again in {} s",
                wait.as_secs_f64().ceil()
            )));
            thread::sleep(wait);
            pause *= 2;
            tried += 1;
        }
    }

    /// Sends a request once.
    fn send(&self, request: &PageRequest, key: &ChatNoirKey) -> Result<ChatNoirAnswer, Failure> {
        #[derive(Serialize)]
        struct Body<'a> {
            // a request can carry the key in two places: the server of 2020 to 2022 accepts it here, too, and no log of addresses shows the body
            apikey: &'a str,
            #[serde(flatten)]
            request: &'a PageRequest,
        }
        let apikey = key.secret();
        let body = serde_json::to_vec(&Body { apikey, request });
        let body = body.map_err(|error| Failure::lasting(error.into()))?;
        let sent = self
            .agent
            .post(format!("{}{SEARCH}", self.address))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json")
            .header(header::ACCEPT_ENCODING, "identity")
            .send(&body);
        let response = sent.map_err(|error| self.of_transfer(error))?;
        let (head, body) = response.into_parts();
        let is_answer = head.status == StatusCode::OK;
        let most = self.limits.answer_bytes;
        let limit = if is_answer {
            most
        } else {
            MAX_CHATNOIR_ERROR_BYTES
        };
        let mut bytes = Vec::new();
        let read = body.into_reader().take(limit + 1).read_to_end(&mut bytes);
        if !is_answer {
            // `bytes` has as much of the server's explanation as arrived
            return Err(self.of_status(head.status, &head.headers, &bytes));
        }
        // this is checked before the error of the transfer, because an endless answer may be slow, too
        if bytes.len() as u64 > limit {
            let error = anyhow!("ChatNoir's answer has more than {limit} bytes");
            return Err(Failure::lasting(error));
        }
        read.map_err(|error| self.of_transfer(error.into()))?;
        ChatNoirAnswer::parse(&bytes).map_err(|error| {
            // a connection that is closed too early looks like the end of an answer without an announced length
            let json = error.downcast_ref::<serde_json::Error>();
            Failure {
                may_pass: json.is_some_and(serde_json::Error::is_eof),
                ..Failure::lasting(error.context("ChatNoir's answer cannot be read"))
            }
        })
    }

    /// The failure of a connection.
    fn of_transfer(&self, error: ureq::Error) -> Failure {
        let cannot_reach = format!("cannot reach {}", self.address);
        if is_unreachable(&error) {
            return Failure::lasting(Error::new(error).context(cannot_reach));
        }
        let error = match error {
            ureq::Error::Timeout(_) => anyhow!(
                "ChatNoir has not answered within {} s",
                self.limits.timeout.as_secs_f64()
            ),
            error => Error::new(error).context("the connection to ChatNoir broke off"),
        };
        Failure {
            may_pass: true,
            ..Failure::lasting(error)
        }
    }

    /// The failure for a status other than 200. `body` is the beginning of the server's answer.
    fn of_status(&self, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Failure {
        let may_pass = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let error = match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => "ChatNoir refuses the key",
            _ if may_pass => "ChatNoir cannot answer now",
            _ if status.is_redirection() => "ChatNoir has another address",
            StatusCode::NOT_FOUND => "ChatNoir's API was not found",
            _ => "ChatNoir refuses the request",
        };
        let mut error = format!("{error}: {status}");
        if let Some(place) = text(header::LOCATION).filter(|_| status.is_redirection()) {
            error.push_str(&format!(", {place} (set {VARIABLE})"));
        }
        if status == StatusCode::NOT_FOUND {
            error.push_str(&format!(" at {}", self.address));
        }
        if let Some(words) = self.words(body) {
            error.push_str(&format!(": {words}"));
        }
        let seconds = text(header::RETRY_AFTER).and_then(|text| text.trim().parse().ok());
        Failure {
            error: anyhow!(error),
            may_pass,
            wait: seconds.map(Duration::from_secs),
        }
    }

    /// The server's message in an error, `{"code": 401, "error": …, "message": …}`. The message is a text, or an object with the parameters.
    fn words(&self, body: &[u8]) -> Option<String> {
        let said: Value = serde_json::from_slice(body).ok()?;
        let words = match said.get("message")? {
            Value::String(words) => words.clone(),
            other => other.to_string(),
        };
        // the key is hidden before the text is shortened, so that no part of it remains
        let words = match &self.key {
            Some(key) => key.hidden_from(&words),
            None => words,
        };
        Some(words.chars().take(MAX_CHATNOIR_MESSAGE).collect())
    }
}

/// Why a request was not answered.
struct Failure {
    error: Error,
    /// Whether the same request may succeed later.
    may_pass: bool,
    /// How long the server asks to wait.
    wait: Option<Duration>,
}

impl Failure {
    fn lasting(error: Error) -> Self {
        Failure {
            error,
            may_pass: false,
            wait: None,
        }
    }
}

/// Checks that nobody else can read what is sent to an address.
fn check_address(address: &str) -> Result<()> {
    let uri: Uri = address.parse()?;
    let host = uri.host().unwrap_or_default();
    let is_here = ["localhost", "127.0.0.1", "[::1]"].contains(&host);
    match uri.scheme_str() {
        Some("https") => {}
        Some("http") if is_here => {}
        _ => bail!("it must begin with https://, because the key is sent there"),
    }
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    ensure!(
        !authority.contains('@'),
        "it must not contain a user's name"
    );
    ensure!(uri.query().is_none(), "it must not contain a question mark");
    Ok(())
}
