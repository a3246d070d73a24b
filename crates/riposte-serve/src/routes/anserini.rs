//! The routes of Anserini's REST server, with its answers and its status codes, so that clients of this server or of pyserini's can ask here.

use axum::extract::State;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::documents::address;
use super::{Answered, InPath, QueryString, ServerState, answered};
use crate::limits::MAX_HITS;
use crate::questions::{QueryFields, WordSearch, name, sentence};
use crate::refusal::Refusal;
use crate::respond::Failures;
use crate::server::{Lane, json};

/// The message for a wrong path.
pub(super) const ROUTES: &str = "Expected route /v1/{index}/search or /v1/{index}/doc/{docid}";

/// The message for a wrong method.
pub(super) const METHODS: &str = "Only GET is supported";

/// The number of candidates if a request names none.
const HITS: usize = 10;

#[derive(Serialize, ToSchema)]
pub(super) struct SearchResponse {
    api: &'static str,
    index: String,
    query: QueryText,
    candidates: Vec<Candidate>,
}

#[derive(Serialize, ToSchema)]
struct QueryText {
    text: String,
}

#[derive(Serialize, ToSchema)]
struct Candidate {
    docid: String,
    score: f64,
    /// From 1.
    rank: usize,
    /// The fields of the document, its only field, or the text that is stored.
    doc: Value,
}

#[derive(Serialize, ToSchema)]
pub(super) struct DocumentResponse {
    api: &'static str,
    index: String,
    docid: String,
    /// The fields of the document, its only field, or the text that is stored.
    doc: Value,
}

/// The only version of this interface.
const API: &str = "v1";

/// Ranks the documents of a collection by words alone, as Anserini's server does.
#[utoipa::path(
    get,
    path = "/v1/{index}/search",
    params(
        ("index" = String, Path, description = "the name of a collection"),
        ("query" = String, Query, description = "the query, at most 1,000 characters"),
        ("hits" = Option<usize>, Query, minimum = 1, maximum = 10_000, description = "the number of candidates, by default 10"),
        ("parse" = Option<bool>, Query, description = "whether a document that is stored as JSON is returned as such, by default true"),
    ),
    responses((status = 200, body = SearchResponse), Failures)
)]
pub(super) async fn search(
    State(server): ServerState,
    InPath(index): InPath<String>,
    QueryString(mut fields): QueryString,
) -> Answered {
    let query = fields.take("query");
    let query = query.ok_or_else(|| Refusal::bad("Parameter 'query' is required"))?;
    sentence("query", &query)?;
    let hits = hits(&mut fields)?;
    let parse = parse(&mut fields)?;
    let search = WordSearch {
        collection: name("index", index)?,
        query,
        hits,
    };
    let request = (search, parse);
    answered(
        &server,
        Lane::Quick,
        "words",
        request,
        |desk, request, call| {
            let (search, parse) = request;
            let found = desk.words(search, call).map_err(as_anserini)?;
            let candidates = (1..).zip(found).map(|(rank, hit)| Candidate {
                rank,
                score: hit.score,
                doc: shown(hit.stored, *parse),
                docid: hit.id,
            });
            json(&SearchResponse {
                api: API,
                index: search.collection.clone(),
                query: QueryText {
                    text: search.query.clone(),
                },
                candidates: candidates.collect(),
            })
        },
    )
    .await
}

/// A document, as Anserini's server returns it.
#[utoipa::path(
    get,
    path = "/v1/{index}/doc/{docid}",
    params(
        ("index" = String, Path, description = "the name of a collection"),
        ("docid" = String, Path, description = "the id of the document"),
        ("parse" = Option<bool>, Query, description = "whether a document that is stored as JSON is returned as such, by default true"),
    ),
    responses((status = 200, body = DocumentResponse), Failures)
)]
pub(super) async fn document(
    State(server): ServerState,
    InPath(path): InPath<(String, String)>,
    QueryString(mut fields): QueryString,
) -> Answered {
    let request = (address(path)?, parse(&mut fields)?);
    answered(
        &server,
        Lane::Quick,
        "stored",
        request,
        |desk, request, call| {
            let (address, parse) = request;
            let stored = desk.stored(address, call).map_err(as_anserini)?;
            json(&DocumentResponse {
                api: API,
                index: address.collection.clone(),
                docid: address.id.clone(),
                doc: shown(stored, *parse),
            })
        },
    )
    .await
}

/// The number of candidates, with Anserini's messages. It has no upper bound there.
fn hits(fields: &mut QueryFields) -> Result<usize, Refusal> {
    let Some(hits) = fields.take("hits") else {
        return Ok(HITS);
    };
    match hits.trim().parse::<i64>() {
        Err(_) => Err(Refusal::bad("Parameter 'hits' must be an integer")),
        Ok(..=0) => Err(Refusal::bad("Parameter 'hits' must be positive")),
        Ok(hits) => {
            let hits = usize::try_from(hits).ok().filter(|hits| *hits <= MAX_HITS);
            let too_many = || Refusal::bad(format!("Parameter 'hits' must be at most {MAX_HITS}"));
            hits.ok_or_else(too_many)
        }
    }
}

fn parse(fields: &mut QueryFields) -> Result<bool, Refusal> {
    match fields.take("parse") {
        None => Ok(true),
        Some(value) if value.eq_ignore_ascii_case("true") => Ok(true),
        Some(value) if value.eq_ignore_ascii_case("false") => Ok(false),
        Some(_) => Err(Refusal::bad("Parameter 'parse' must be 'true' or 'false'")),
    }
}

/// Anserini answers 400 for an index that it cannot open, and has sentences of its own.
fn as_anserini(refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::UnknownCollection(index) => Refusal::bad(format!("Unable to open index: {index}")),
        Refusal::UnknownDocument(id) => Refusal::Http(404, format!("Document not found: {id}")),
        other => other,
    }
}

/// A stored document as Anserini shows it: a JSON object without its id and with all simple values as texts; if only one field is left, its value alone.
fn shown(stored: String, parse: bool) -> Value {
    let parsed = parse.then(|| serde_json::from_str(&stored));
    match parsed {
        Some(Ok(Value::Object(fields))) => without_id(fields),
        Some(Ok(other)) => other,
        Some(Err(_)) | None => Value::String(stored),
    }
}

fn without_id(fields: Map<String, Value>) -> Value {
    let fields = fields.into_iter();
    let fields = fields.filter(|(name, _)| !["id", "_id", "docid"].contains(&name.as_str()));
    let mut fields: Vec<(String, Value)> =
        fields.map(|(name, value)| (name, as_text(value))).collect();
    match fields.len() {
        1 => fields.pop().map_or(Value::Null, |(_, value)| value),
        _ => Value::Object(fields.into_iter().collect()),
    }
}

fn as_text(value: Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Value::String(value.to_string()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_stored_document_is_shown_as_anserini_shows_it() {
        let show = |stored: &str| shown(stored.to_owned(), true);
        assert_eq!(show(r#"{"id":"1","contents":"Zoos."}"#), json!("Zoos."));
        let fields = r#"{"_id":"1","title":"a","year":2021,"url":null,"tags":["x"]}"#;
        let expected = json!({"title": "a", "year": "2021", "url": "null", "tags": ["x"]});
        assert_eq!(show(fields), expected);
        assert_eq!(show("no JSON {"), json!("no JSON {"));
        assert_eq!(show("[1]"), json!([1]));
        let stored = r#"{"id":"1"}"#;
        assert_eq!(show(stored), json!({}));
        assert_eq!(shown(stored.to_owned(), false), json!(stored));
    }
}
