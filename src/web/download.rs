//! Downloads a file from a web address into `<file>.part`, and continues where an earlier attempt ended.

use std::collections::BTreeSet;
use std::path::Path;
use std::{io, thread};

use anyhow::{Context, Result, bail, ensure};
use ureq::http::{HeaderMap, Response, StatusCode, Uri, header};
use ureq::{Agent, Body, Timeout};

use super::hub::Access;
use super::part::{Origin, Part};
use super::progress::Transfer;
use super::{agent, is_broken, is_unreachable};
use crate::disk::is_hex;
use crate::limits::{MAX_ATTEMPTS, MAX_REDIRECTS, MAX_STALL_TIME, RETRY_PAUSE};

/// What is known of a file before it is downloaded.
pub(crate) struct Expected {
    /// Its size; `None` if the catalogue does not fix it.
    pub bytes: Option<u64>,
    /// Whether the catalogue has a checksum of it.
    pub is_pinned: bool,
    /// The largest size that is accepted if the catalogue does not fix it.
    pub most: u64,
}

/// What the publisher's headers say about a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PublisherInfo {
    pub checksum: Option<Checksum>,
    pub bytes: Option<u64>,
    /// The commit to which the address was resolved.
    pub revision: Option<String>,
}

/// A checksum as the Hugging Face hub sends it, lower-case hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Checksum {
    /// The sha256 of a file in large file storage.
    Sha256(String),
    /// The id that git gives to the content of any other file: the sha1 of `blob <bytes>\0` and the content.
    GitBlob(String),
}

impl PublisherInfo {
    /// Adds what the headers of one response say, if no earlier response of the redirect chain said it: the Hugging Face hub
    /// describes the file in its own response and then redirects to a store that knows nothing about it. `X-Linked-Etag` is the
    /// sha256 of a file in large file storage; of other files, it or `ETag` is the git id. An `ETag` without `X-Repo-Commit` comes from
    /// another server and may mean anything.
    fn update(&mut self, headers: &HeaderMap) {
        let text = |name: &str| headers.get(name)?.to_str().ok();
        let commit = text("x-repo-commit");
        let etag = text("x-linked-etag").or(commit.and(text("etag")));
        let bytes = || text("x-linked-size").and_then(|n| n.parse().ok());
        self.checksum = self.checksum.take().or_else(|| etag.and_then(checksum));
        self.bytes = self.bytes.or_else(bytes);
        self.revision = self.revision.take().or(commit.map(str::to_owned));
    }
}

/// How many bytes of the part are the beginning of the file at `url`. `before`: where the part came from.
fn usable_beginning(part: &Part, before: &Origin, url: &str, expected: &Expected) -> Result<u64> {
    // without an ETag, only a checksum in the catalogue can show that the two parts are of different versions
    if before.from != url || (before.version.is_none() && !expected.is_pinned) {
        return Ok(0);
    }
    let had = part.length()?;
    // what is longer than the file is not its beginning
    let is_longer = expected.bytes.is_some_and(|bytes| had > bytes);
    Ok(if is_longer { 0 } else { had })
}

fn checksum(etag: &str) -> Option<Checksum> {
    let id = etag.trim().trim_start_matches("W/").trim_matches('"');
    match id.len() {
        64 if is_hex(id) => Some(Checksum::Sha256(id.to_owned())),
        40 if is_hex(id) => Some(Checksum::GitBlob(id.to_owned())),
        _ => None,
    }
}

/// An HTTP client. It follows redirects itself, to read the headers of each response, and remembers hosts that it could not reach, so
/// that ten files on a blocked host cost one timeout.
pub struct Web {
    agent: Agent,
    unreachable: BTreeSet<String>,
    access: Access,
}

impl Web {
    /// Errors: those of [`agent`].
    pub fn new() -> Result<Web> {
        let agent = agent()?
            .timeout_recv_response(Some(MAX_STALL_TIME))
            .timeout_per_read(Some(MAX_STALL_TIME))
            .build()
            .new_agent();
        Ok(Web {
            agent,
            unreachable: BTreeSet::new(),
            access: Access::of_environment(),
        })
    }

    /// Downloads `url` to `part`, which may contain the beginning of the file from an earlier download. Afterwards `part` has the
    /// announced size; its content is not checked here.
    ///
    /// Errors: the host cannot be reached, the server refuses, the size is wrong, or the transfer breaks off.
    pub(crate) fn download(
        &mut self,
        url: &str,
        expected: &Expected,
        part: &Path,
        transfer: &mut Transfer,
    ) -> Result<PublisherInfo> {
        let mut part = Part::open(part)?;
        let mut was_retried = false;
        for _ in 0..MAX_ATTEMPTS {
            let before = part.origin();
            let had = usable_beginning(&part, &before, url, expected)?;
            let opened = self.open(url, had, before.version.as_deref());
            if !was_retried && opened.as_ref().is_err_and(is_tried_again) {
                was_retried = true;
                thread::sleep(RETRY_PAUSE);
                continue;
            }
            let (answer, publisher) = opened?;
            let from = match answer.status() {
                StatusCode::OK => 0,
                StatusCode::PARTIAL_CONTENT if range_start(answer.headers()) == Some(had) => had,
                // the part is at least as long as the file, so it is not the beginning of the file
                StatusCode::RANGE_NOT_SATISFIABLE if had > 0 => {
                    part.keep(0)?;
                    continue;
                }
                status => match self.access.advice(url, status) {
                    Some(advice) => bail!("the server answers {status}: {advice}"),
                    None => bail!("the server answers {status}"),
                },
            };
            let rest = content_length(answer.headers());
            let announced = rest.map(|n| from.saturating_add(n));
            let must = expected.bytes.or(publisher.bytes).or(announced);
            // a size that only a server announces is not trusted
            let most = must.map_or(expected.most, |must| must.min(expected.most));
            let most = expected.bytes.unwrap_or(most);
            if let (Some(must), Some(announced)) = (must, announced) {
                ensure!(
                    announced == must,
                    "the server announces {announced} bytes, must be {must}"
                );
            }
            let etag = answer.headers().get(header::ETAG);
            let origin = Origin {
                from: url.to_owned(),
                version: etag.and_then(|e| e.to_str().ok()).map(str::to_owned),
            };
            part.go_on(from, &origin)?;

            transfer.begin(from, must.unwrap_or(0));
            let body = answer.into_body().into_reader();
            let ended = part.append(body, most - from.min(most), Some(MAX_STALL_TIME), transfer)?;
            let now = part.length()?;
            ensure!(now <= most, "the server sends more than {most} bytes");
            // what is all there is complete, however its transfer has ended
            if must.map_or(ended.is_ok(), |must| now == must) {
                part.finish()?;
                return Ok(publisher);
            }
            if now == from {
                let is_broken = ended.as_ref().err().is_none_or(|e| is_broken(e.kind()));
                if is_broken && !was_retried {
                    was_retried = true;
                    thread::sleep(RETRY_PAUSE);
                    continue;
                }
                let why = ended
                    .err()
                    .map_or("it ended early".into(), |e: io::Error| e.to_string());
                bail!(
                    "the transfer broke off after {now} bytes ({why}); the next fetch continues there"
                );
            }
        }
        bail!(
            "the transfer broke off {MAX_ATTEMPTS} times; the next fetch continues where it stopped"
        );
    }

    /// Requests `url` from byte `had` on, and follows redirects. The response may have any other status.
    fn open(
        &mut self,
        url: &str,
        had: u64,
        etag: Option<&str>,
    ) -> Result<(Response<Body>, PublisherInfo)> {
        let mut publisher = PublisherInfo::default();
        let mut url: Uri = url
            .parse()
            .with_context(|| format!("{url} is not an address"))?;
        for _ in 0..=MAX_REDIRECTS {
            let host = url.authority().map(|a| a.to_string()).unwrap_or_default();
            if self.unreachable.contains(&host) {
                bail!("{host} could not be reached before");
            }
            // a compressed response would have another length and other ranges
            let mut request = self
                .agent
                .get(&url)
                .header(header::ACCEPT_ENCODING, "identity");
            if had > 0 {
                request = request.header(header::RANGE, format!("bytes={had}-"));
                if let Some(etag) = etag.filter(|e| !e.starts_with("W/")) {
                    request = request.header(header::IF_RANGE, etag);
                }
            }
            if let Some(token) = self.access.authorization(&url)? {
                request = request.header(header::AUTHORIZATION, token);
            }
            let answer = match request.call() {
                Ok(answer) => answer,
                Err(error) => {
                    if is_unreachable(&error) {
                        self.unreachable.insert(host.clone());
                    }
                    return Err(error).with_context(|| format!("cannot reach {host}"));
                }
            };
            publisher.update(answer.headers());
            let location = answer.headers().get(header::LOCATION);
            let Some(location) = location.filter(|_| answer.status().is_redirection()) else {
                return Ok((answer, publisher));
            };
            url = redirected(&url, location.to_str().unwrap_or_default())?;
        }
        bail!("more than {MAX_REDIRECTS} redirects")
    }
}

/// Whether a request failed in a way that may be over: its connection broke, or the answer was missed, which also happens to a machine that is
/// suspended.
fn is_tried_again(error: &anyhow::Error) -> bool {
    match error.downcast_ref() {
        Some(ureq::Error::Io(error)) => is_broken(error.kind()),
        Some(ureq::Error::Timeout(when)) => *when == Timeout::RecvResponse,
        _ => false,
    }
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    let length = headers.get(header::CONTENT_LENGTH)?;
    length.to_str().ok()?.trim().parse().ok()
}

/// The first byte of a partial response: the 5 of `Content-Range: bytes 5-9/10`.
fn range_start(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(header::CONTENT_RANGE)?.to_str().ok()?;
    let (start, _) = range.trim().strip_prefix("bytes ")?.split_once('-')?;
    start.parse().ok()
}

/// The target of a redirect: a whole address, or a path on the same host. Errors: it leads from https to http.
fn redirected(from: &Uri, location: &str) -> Result<Uri> {
    let whole = match (from.scheme_str(), from.authority()) {
        (Some(scheme), Some(host)) if location.starts_with('/') && !location.starts_with("//") => {
            format!("{scheme}://{host}{location}")
        }
        _ => location.to_owned(),
    };
    let to: Uri = whole
        .parse()
        .with_context(|| format!("a redirect to {location:?}"))?;
    ensure!(
        to.scheme_str() == Some("https") || (to.scheme_str() == from.scheme_str()),
        "a redirect from {from} to {location:?}"
    );
    Ok(to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ureq::http::HeaderValue;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |&(name, value)| {
            (
                ureq::http::HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn the_hub_describes_the_file_before_it_redirects() {
        const SHA256: &str = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db";
        let mut publisher = PublisherInfo::default();
        publisher.update(&headers(&[
            ("x-repo-commit", "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"),
            (
                "x-linked-etag",
                "\"53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db\"",
            ),
            ("x-linked-size", "90868376"),
        ]));
        // the store's own ETag does not replace it
        publisher.update(&headers(&[(
            "etag",
            "\"0123456789abcdef0123456789abcdef01234567\"",
        )]));
        assert_eq!(
            publisher.checksum,
            Some(Checksum::Sha256(SHA256.to_owned()))
        );
        assert_eq!(publisher.bytes, Some(90868376));
        assert!(
            publisher
                .revision
                .is_some_and(|r| r.starts_with("1110a243"))
        );
    }

    #[test]
    fn an_etag_is_a_checksum_only_in_the_hubs_response() {
        let id = "W/\"0123456789abcdef0123456789abcdef01234567\"";
        let mut stranger = PublisherInfo::default();
        stranger.update(&headers(&[("etag", id)]));
        assert_eq!(stranger.checksum, None);
        let mut hub = PublisherInfo::default();
        hub.update(&headers(&[("etag", id), ("x-repo-commit", "main")]));
        let git = Checksum::GitBlob("0123456789abcdef0123456789abcdef01234567".into());
        assert_eq!(hub.checksum, Some(git));
        // an S3 store's is an md5
        assert_eq!(checksum("\"9e107d9d372bb6826bd81d3542a419d6\""), None);
    }

    #[test]
    fn a_redirect_may_be_a_path_but_not_lead_from_https_to_http() {
        let from: Uri = "https://hub.example/a?b".parse().unwrap();
        let to = |location: &str| redirected(&from, location).map(|u| u.to_string());
        assert_eq!(to("/c?d").unwrap(), "https://hub.example/c?d");
        assert_eq!(
            to("https://store.example/x").unwrap(),
            "https://store.example/x"
        );
        for bad in [
            "http://hub.example/a",
            "//other.example/",
            "file:///etc",
            "",
            "c",
        ] {
            assert!(to(bad).is_err(), "{bad:?}");
        }
    }
}
