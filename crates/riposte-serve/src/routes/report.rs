//! The answer to a question as a file to keep.

use axum::extract::State;

use super::{Answered, QueryString, ServerState};
use crate::questions::DebateQuestion;
use crate::respond::{Failures, about, saved_report};
use crate::server::{Lane, encoded};

/// The report of an answer: one HTML page that needs no other file, as `riposte ask -o` writes it.
#[utoipa::path(
    get,
    path = "/report",
    params(
        ("q" = String, Query, description = "the question, at most 1,000 characters"),
        ("collection" = Option<String>, Query, description = "by default the only collection, or the first"),
        ("number" = Option<usize>, Query, minimum = 1, maximum = 100, description = "the number of documents of each list, by default 5"),
        ("approach" = Option<String>, Query, description = "the name of an approach"),
        ("claim" = Option<String>, Query, description = "what the question shall be understood as"),
    ),
    responses((status = 200, body = String, content_type = "text/html", description = "a file to save"), Failures)
)]
pub(super) async fn report(
    State(server): ServerState,
    QueryString(fields): QueryString,
) -> Answered {
    let debate = DebateQuestion::read(fields)?;
    let question = Some(debate.question.clone());
    let answer = server.kept(Lane::Models, "report", debate, |desk, debate, call| {
        let page = desk.report(debate, call)?;
        encoded("text/html; charset=utf-8", page.into())
    });
    Ok(about(question, answer.await.map(saved_report)))
}
