//! Questions to models.

use axum::extract::{Request, State};
use serde::Serialize;

use super::{Answered, QueryString, ServerState, answered};
use crate::answers::{Answer, Explained, Quality, Reply, SearchAnswer, StanceAnswer};
use crate::desk::{Call, Desk};
use crate::questions::{
    CachedRequest, Conversation, ConversationBody, DebateBody, DebateQuestion, DocumentKind,
    Explain, QualityBody, QualityQuestion, Search, StanceBody, StanceQuestion,
};
use crate::refusal::Refusal;
use crate::respond::{Failures, body};
use crate::server::{Lane, Server, json};

/// The JSON of what the desk answers with models.
async fn answered_as_json<R: CachedRequest, A: Serialize>(
    server: &Server,
    route: &str,
    request: R,
    ask: impl FnOnce(&(dyn Desk + 'static), &R, &Call) -> Result<A, Refusal> + Send + 'static,
) -> Answered {
    answered(
        server,
        Lane::Models,
        route,
        request,
        |desk, request, call| json(&ask(desk, request, call)?),
    )
    .await
}

/// Ranks documents for a question. Order and scores are those of a run with this one topic.
#[utoipa::path(
    get,
    path = "/api/search",
    params(
        ("q" = String, Query, description = "the question, at most 1,000 characters"),
        ("collection" = Option<String>, Query, description = "by default the only collection, or the first"),
        ("kind" = Option<DocumentKind>, Query, description = "what to find; by default what the collection has"),
        ("hits" = Option<usize>, Query, minimum = 1, maximum = 10_000, description = "the number of results, by default 10"),
        ("approach" = Option<String>, Query, description = "the name of an approach"),
        ("claim" = Option<String>, Query, description = "what the question shall be understood as"),
        ("side" = Option<String>, Query, description = "pro, con or undecided: only results of this side"),
        ("portal" = Option<String>, Query, description = "only arguments of this portal"),
        ("minimum" = Option<f64>, Query, minimum = 0, maximum = 1, description = "only results with at least this |P(pro) - P(con)|"),
    ),
    responses((status = 200, body = SearchAnswer), Failures)
)]
pub(super) async fn search(
    State(server): ServerState,
    QueryString(fields): QueryString,
) -> Answered {
    let search = Search::read(fields, "q")?;
    answered_as_json(&server, "search", search, Desk::search).await
}

/// Explains the score of a document.
#[utoipa::path(
    get,
    path = "/api/explain",
    params(
        ("q" = String, Query, description = "the question, at most 1,000 characters"),
        ("collection" = Option<String>, Query, description = "by default the only collection, or the first"),
        ("id" = String, Query, description = "the id of the document"),
        ("approach" = Option<String>, Query, description = "the name of an approach"),
        ("claim" = Option<String>, Query, description = "what the question shall be understood as"),
    ),
    responses((status = 200, body = Explained), Failures)
)]
pub(super) async fn explain(
    State(server): ServerState,
    QueryString(fields): QueryString,
) -> Answered {
    let explain = Explain::read(fields)?;
    answered_as_json(&server, "explain", explain, Desk::explain).await
}

/// Says which side each text takes towards a topic, or which of two objects it prefers.
#[utoipa::path(
    post,
    path = "/api/stance",
    request_body = StanceBody,
    responses((status = 200, body = Vec<StanceAnswer>, description = "the stances, in the order of the texts"), Failures)
)]
pub(super) async fn stance(State(server): ServerState, request: Request) -> Answered {
    let stance: StanceQuestion = body::<StanceBody>(&server, request).await?.try_into()?;
    answered_as_json(&server, "stance", stance, Desk::stance).await
}

/// Says how good each text is as an argument on a topic.
#[utoipa::path(
    post,
    path = "/api/quality",
    request_body = QualityBody,
    responses((status = 200, body = Vec<Quality>, description = "the qualities, in the order of the texts"), Failures)
)]
pub(super) async fn quality(State(server): ServerState, request: Request) -> Answered {
    let quality: QualityQuestion = body::<QualityBody>(&server, request).await?.try_into()?;
    answered_as_json(&server, "quality", quality, Desk::quality).await
}

/// Answers a question with what speaks for and against its claim, as `riposte ask --json` does.
#[utoipa::path(
    get,
    path = "/api/debate",
    params(
        ("q" = String, Query, description = "the question, at most 1,000 characters"),
        ("collection" = Option<String>, Query, description = "by default the only collection, or the first"),
        ("number" = Option<usize>, Query, minimum = 1, maximum = 100, description = "the number of documents of each list, by default 5"),
        ("approach" = Option<String>, Query, description = "the name of an approach"),
        ("claim" = Option<String>, Query, description = "what the question shall be understood as"),
    ),
    responses((status = 200, body = Answer), Failures)
)]
pub(super) async fn debate(
    State(server): ServerState,
    QueryString(fields): QueryString,
) -> Answered {
    let debate = DebateQuestion::read(fields)?;
    answered_as_json(&server, "debate", debate, Desk::debate).await
}

/// The same with a body instead of a query string.
#[utoipa::path(
    post,
    path = "/api/debate",
    request_body = DebateBody,
    responses((status = 200, body = Answer), Failures)
)]
pub(super) async fn post_debate(State(server): ServerState, request: Request) -> Answered {
    let debate: DebateQuestion = body::<DebateBody>(&server, request).await?.try_into()?;
    answered_as_json(&server, "debate", debate, Desk::debate).await
}

/// Answers the last message of a debate: the contract of debating systems at Touché 2025.
#[utoipa::path(
    post,
    path = "/",
    request_body = ConversationBody,
    responses((status = 200, body = Reply), Failures)
)]
pub(super) async fn reply(State(server): ServerState, request: Request) -> Answered {
    let conversation = body::<ConversationBody>(&server, request).await?;
    let conversation: Conversation = conversation.try_into()?;
    answered_as_json(&server, "reply", conversation, Desk::reply).await
}
