//! The state of the server, and the description of its routes.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use utoipa::OpenApi;

use super::{ServerState, anserini, answer, documents, page, report, run};
use crate::answers::{CollectionState, Health};
use crate::cache::Encoded;
use crate::refusal::Refusal;
use crate::respond::{ErrorBody, Failures};
use crate::server::{Lane, encoded, failed, json};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "riposte",
        description = "Arguments and images for and against a claim. Every route but /health and the style sheet of the page needs the token, if the server has one, as `Authorization: Bearer TOKEN` or `X-API-Key: TOKEN`, or in the cookie of the page.",
        license(name = "Apache-2.0 OR MIT", identifier = "Apache-2.0 OR MIT"),
    ),
    paths(
        answer::search,
        answer::explain,
        answer::stance,
        answer::quality,
        answer::debate,
        answer::post_debate,
        answer::reply,
        documents::collections,
        documents::document,
        anserini::search,
        anserini::document,
        page::page,
        page::why,
        page::document,
        run::run,
        report::report,
        page::picture,
        page::asset,
        health,
        metrics,
    ),
    components(schemas(ErrorBody))
)]
struct ApiDescription;

/// The description of the routes, as OpenAPI 3.1 has it.
///
/// # Errors
/// It cannot be written as JSON.
pub(crate) fn document() -> Result<String, serde_json::Error> {
    ApiDescription::openapi().to_json()
}

pub(super) async fn openapi_json() -> Result<Encoded, Refusal> {
    encoded("application/json", document().map_err(failed)?.into())
}

/// Anserini's server has its description here. Every JSON document is one of YAML.
pub(super) async fn openapi_yaml() -> Result<Encoded, Refusal> {
    let yaml = "application/yaml; charset=utf-8";
    encoded(yaml, document().map_err(failed)?.into())
}

/// Whether the server can answer. It needs no token.
#[utoipa::path(
    get,
    path = "/health",
    responses(
        (status = 200, body = Health),
        (status = 503, body = Health, description = "no collection is ready"),
        Failures,
    )
)]
pub(super) async fn health(State(server): ServerState) -> Result<Response, Refusal> {
    let health = server
        .call(Lane::Quick, |desk, call| desk.health(call))
        .await?;
    let states = health.collections.iter().map(|one| one.state);
    let status = match states
        .chain([health.state])
        .any(|state| state == CollectionState::Ready)
    {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    Ok((status, json(&health)?).into_response())
}

/// Counts and times, for Prometheus.
#[utoipa::path(
    get,
    path = "/metrics",
    responses((status = 200, body = String, content_type = "text/plain"), Failures)
)]
pub(super) async fn metrics(State(server): ServerState) -> Result<Encoded, Refusal> {
    encoded(
        "text/plain; version=0.0.4; charset=utf-8",
        server.metrics()?.into(),
    )
}
