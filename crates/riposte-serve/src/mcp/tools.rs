//! The tools, and what each asks the desk.

use std::pin::Pin;
use std::time::{Instant, SystemTime};

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use crate::limits::{MAX_HITS, MAX_QUESTION, MAX_TEXTS};
use crate::log::LogRecord;
use crate::questions::{
    Address, DocumentKind, QueryFields, Search, StanceBody, StanceQuestion, name,
};
use crate::refusal::Refusal;
use crate::server::{Lane, Server, failed, json as encode};

type ToolArguments = Map<String, Value>;
type ToolAnswer<'s> = Pin<Box<dyn Future<Output = Result<Value, Refusal>> + Send + 's>>;

const SEARCH_ARGUMENTS: &str = "search_arguments";
const SEARCH_IMAGES: &str = "search_images";
const READ_DOCUMENT: &str = "read_document";
const STANCE: &str = "stance";

pub(super) fn list() -> Vec<Tool> {
    let question = json!({"type": "string", "maxLength": MAX_QUESTION, "description": "a question, such as \"Should zoos be closed?\""});
    let collection = json!({"type": "string", "description": "the name of a collection; by default the only one, or the first"});
    let search = json!({
        "question": question,
        "collection": collection,
        "hits": {"type": "integer", "minimum": 1, "maximum": MAX_HITS, "description": "the number of results, by default 10"},
        "side": {"type": "string", "enum": ["pro", "con", "undecided"], "description": "only results on this side"},
    });
    let document = json!({
        "collection": {"type": "string", "description": "the collection of a result"},
        "id": {"type": "string", "description": "the id of a result"},
    });
    let stance = json!({
        "topic": {"type": "string", "maxLength": MAX_QUESTION, "description": "a question, a motion, a claim or a subject"},
        "objects": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2, "description": "two objects, instead of a topic"},
        "texts": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MAX_TEXTS},
    });
    vec![
        tool(
            SEARCH_ARGUMENTS,
            "Finds arguments for and against the claim of a question, best first, each with its side and the probabilities of its stance.",
            &search,
            &["question"],
        ),
        tool(
            SEARCH_IMAGES,
            "Finds images for and against the claim of a question, best first, each with the words in or around it and the page that shows it.",
            &search,
            &["question"],
        ),
        tool(
            READ_DOCUMENT,
            "Returns the whole text of a result, and where it comes from.",
            &document,
            &["collection", "id"],
        ),
        tool(
            STANCE,
            "Says for each text whether it is for or against the claim of a topic, or which of two objects it prefers, with probabilities.",
            &stance,
            &["texts"],
        ),
    ]
}

fn tool(name: &'static str, description: &'static str, fields: &Value, needed: &[&str]) -> Tool {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), fields.clone());
    schema.insert("required".to_owned(), json!(needed));
    schema.insert("additionalProperties".to_owned(), json!(false));
    let mut tool = Tool::new(name, description, schema);
    tool.annotations = Some(ToolAnnotations::from_raw(
        None,
        Some(true),
        Some(false),
        Some(true),
        Some(false),
    ));
    tool
}

/// The answer of a tool: a JSON object. `None` if there is no such tool.
pub(super) fn call<'s>(
    server: &'s Server,
    tool: &str,
    arguments: ToolArguments,
) -> Option<ToolAnswer<'s>> {
    let (tool, answer): (_, ToolAnswer<'s>) = match tool {
        SEARCH_ARGUMENTS => (
            SEARCH_ARGUMENTS,
            Box::pin(search(server, DocumentKind::Arguments, arguments)),
        ),
        SEARCH_IMAGES => (
            SEARCH_IMAGES,
            Box::pin(search(server, DocumentKind::Images, arguments)),
        ),
        READ_DOCUMENT => (READ_DOCUMENT, Box::pin(read_document(server, arguments))),
        STANCE => (STANCE, Box::pin(stance(server, arguments))),
        _ => return None,
    };
    Some(Box::pin(recorded(server, tool, answer)))
}

/// Writes the line of the log when there is an answer.
async fn recorded(
    server: &Server,
    tool: &'static str,
    answer: ToolAnswer<'_>,
) -> Result<Value, Refusal> {
    let begun = Instant::now();
    let answer = answer.await;
    server.record(&LogRecord {
        time: SystemTime::now(),
        method: "TOOL",
        route: tool,
        status: answer.as_ref().map_or_else(Refusal::status, |_| 200),
        elapsed: begun.elapsed(),
        question: None,
        reason: answer.as_ref().err().and_then(Refusal::reason),
    });
    answer
}

async fn search(
    server: &Server,
    kind: DocumentKind,
    arguments: ToolArguments,
) -> Result<Value, Refusal> {
    let mut search = Search::read(fields(arguments)?, "question")?;
    search.kind = Some(kind);
    let answer = server.kept(Lane::Models, "search", search, |desk, search, call| {
        encode(&desk.search(search, call)?)
    });
    serde_json::from_slice(&answer.await?.bytes).map_err(failed)
}

async fn read_document(server: &Server, arguments: ToolArguments) -> Result<Value, Refusal> {
    let mut fields = fields(arguments)?;
    let collection = fields.take("collection").unwrap_or_default();
    let id = fields.take("id").unwrap_or_default();
    fields.finish()?;
    let address = Address {
        collection: name("collection", collection)?,
        id: name("id", id)?,
    };
    let answer = server.kept(Lane::Quick, "document", address, |desk, address, call| {
        encode(&desk.document(address, call)?)
    });
    serde_json::from_slice(&answer.await?.bytes).map_err(failed)
}

async fn stance(server: &Server, arguments: ToolArguments) -> Result<Value, Refusal> {
    let body = serde_json::from_value::<StanceBody>(Value::Object(arguments));
    let body = body.map_err(|error| Refusal::bad(error.to_string()))?;
    let stance = StanceQuestion::try_from(body)?;
    let answer = server.kept(Lane::Models, "stance", stance, |desk, stance, call| {
        encode(&desk.stance(stance, call)?)
    });
    let stances: Value = serde_json::from_slice(&answer.await?.bytes).map_err(failed)?;
    // structured content is an object in all versions of the protocol
    Ok(json!({"stances": stances}))
}

/// The arguments as the fields of a query string, which have the same checks.
fn fields(arguments: ToolArguments) -> Result<QueryFields, Refusal> {
    let fields = arguments.into_iter().filter(|(_, value)| !value.is_null());
    let fields = fields.map(|(name, value)| {
        let value = match value {
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            _ => return Err(Refusal::bad(format!("`{name}` must be a text or a number"))),
        };
        Ok((name, value))
    });
    Ok(QueryFields::of(fields.collect::<Result<_, _>>()?))
}
