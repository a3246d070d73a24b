//! The Hugging Face hub: where it is, and the token of a user who may see more than everybody.

use std::env;

use anyhow::{Context, Result, anyhow, bail};
use ureq::http::{HeaderValue, StatusCode, Uri};

/// The variable with another address of the hub, such as that of a mirror, and the one with a token. huggingface_hub reads the same.
const ENDPOINT_VARIABLE: &str = "HF_ENDPOINT";
const TOKEN_VARIABLE: &str = "HF_TOKEN";

const ENDPOINT: &str = "https://huggingface.co";

/// The address of the hub, without a slash at its end.
///
/// # Errors
/// The variable has something else than a web address.
pub(crate) fn endpoint() -> Result<String> {
    let value = env::var(ENDPOINT_VARIABLE).unwrap_or_default();
    let value = value.trim().trim_end_matches('/');
    if value.is_empty() {
        return Ok(ENDPOINT.to_owned());
    }
    let address: Option<Uri> = value.parse().ok();
    let is_web = |uri: &Uri| matches!(uri.scheme_str(), Some("http" | "https"));
    if !address.as_ref().is_some_and(is_web) {
        bail!("{ENDPOINT_VARIABLE} is {value:?}, which is not a web address");
    }
    Ok(value.to_owned())
}

/// What a client sends to the hub, and to nobody else.
pub(super) struct Access {
    hub: Option<Uri>,
    /// `None` without a token; the error says that the variable has something else.
    token: Result<Option<HeaderValue>, &'static str>,
}

impl Access {
    pub fn of_environment() -> Access {
        Access {
            hub: endpoint().ok().and_then(|address| address.parse().ok()),
            token: bearer(&env::var(TOKEN_VARIABLE).unwrap_or_default()),
        }
    }

    /// The value of `Authorization` for a request, if there is a token and the request goes to the hub itself, and not to a store to which the hub
    /// has redirected it.
    ///
    /// # Errors
    /// The request goes to the hub, and the variable has something else than a token. The message does not show it.
    pub fn authorization(&self, url: &Uri) -> Result<Option<HeaderValue>> {
        if !self.is_hub(url) {
            return Ok(None);
        }
        self.token.clone().map_err(|why| anyhow!(why))
    }

    fn is_hub(&self, url: &Uri) -> bool {
        let place = |uri: &Uri| Some((uri.scheme_str()?.to_owned(), uri.authority()?.clone()));
        let hub = self.hub.as_ref().and_then(place);
        hub.is_some() && hub == place(url)
    }

    /// What a user can do about a response of the hub.
    pub fn advice(&self, url: &str, status: StatusCode) -> Option<String> {
        let is_refusal = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&status);
        let url: Uri = url
            .parse()
            .ok()
            .filter(|url| is_refusal && self.is_hub(url))?;
        Some(match &self.token {
            Ok(None) => format!(
                "the model does not exist, or it needs a token: accept its conditions on {}, and set {TOKEN_VARIABLE} to a token of yours",
                self.page(&url)
            ),
            _ => format!(
                "the token of {TOKEN_VARIABLE} does not open it: accept the conditions of the model on {}",
                self.page(&url)
            ),
        })
    }

    /// The page of the model to which an address belongs.
    fn page(&self, url: &Uri) -> String {
        let path = url.path().trim_start_matches('/');
        let path = path.strip_prefix("api/models/").unwrap_or(path);
        let name: Vec<&str> = path.split('/').take(2).collect();
        let hub = self
            .hub
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        format!("{}/{}", hub.trim_end_matches('/'), name.join("/"))
    }
}

/// The value of the header for a token.
fn bearer(token: &str) -> Result<Option<HeaderValue>, &'static str> {
    let token = token.trim();
    if token.is_empty() {
        return Ok(None);
    }
    let is_plain = token.bytes().all(|byte| byte.is_ascii_graphic());
    let value = HeaderValue::from_str(&format!("Bearer {token}")).context("a header");
    match value {
        Ok(mut value) if is_plain => {
            // so that no library shows it
            value.set_sensitive(true);
            Ok(Some(value))
        }
        _ => Err("HF_TOKEN has characters that no token has"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(token: &str) -> Access {
        Access {
            hub: Some("https://huggingface.co".parse().unwrap()),
            token: bearer(token),
        }
    }

    #[test]
    fn only_the_hub_gets_the_token_and_no_message_shows_it() {
        let with = access(" hf_secret\n");
        let sent = |url: &str| with.authorization(&url.parse().unwrap()).unwrap();
        let value = sent("https://huggingface.co/o/n/resolve/main/config.json").unwrap();
        assert_eq!(value.to_str().unwrap(), "Bearer hf_secret");
        assert!(!format!("{value:?}").contains("secret"));
        for other in [
            "http://huggingface.co/o/n",
            "https://huggingface.co:444/o/n",
            "https://cdn.huggingface.co/o/n",
            "https://huggingface.co.example.org/o/n",
        ] {
            assert_eq!(sent(other), None, "{other}");
        }
        let said = with.advice(
            "https://huggingface.co/api/models/o/n/revision/main",
            StatusCode::FORBIDDEN,
        );
        let said = said.unwrap();
        assert!(
            said.ends_with("on https://huggingface.co/o/n") && !said.contains("secret"),
            "{said}"
        );
        let wrong = access("hf_se\u{e9}cret");
        let error = wrong.authorization(&"https://huggingface.co/o".parse().unwrap());
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("HF_TOKEN") && !error.contains("cret"),
            "{error}"
        );
        let none = access("");
        assert_eq!(
            none.authorization(&"https://huggingface.co/o".parse().unwrap())
                .unwrap(),
            None
        );
        assert_eq!(
            none.advice("https://example.org/o/n", StatusCode::UNAUTHORIZED),
            None
        );
        assert_eq!(
            none.advice("https://huggingface.co/o/n", StatusCode::NOT_FOUND),
            None
        );
    }
}
