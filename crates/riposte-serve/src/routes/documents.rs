//! The collections and their documents.

use axum::extract::State;
use axum::response::IntoResponse;

use super::{Answered, InPath, QueryString, ServerState, answered};
use crate::answers::{CollectionInfo, DocumentAnswer};
use crate::questions::{Address, name};
use crate::refusal::Refusal;
use crate::respond::Failures;
use crate::server::{Lane, json};

/// The collections that can be asked.
#[utoipa::path(
    get,
    path = "/api/collections",
    responses((status = 200, body = Vec<CollectionInfo>), Failures)
)]
pub(super) async fn collections(
    State(server): ServerState,
    QueryString(fields): QueryString,
) -> Answered {
    fields.finish()?;
    let answer = server.call(Lane::Quick, |desk, call| json(&desk.collections(call)?));
    Ok(answer.await?.into_response())
}

/// A document.
#[utoipa::path(
    get,
    path = "/api/documents/{collection}/{id}",
    params(
        ("collection" = String, Path, description = "the name of the collection"),
        ("id" = String, Path, description = "the id of the document"),
    ),
    responses((status = 200, body = DocumentAnswer), Failures)
)]
pub(super) async fn document(
    State(server): ServerState,
    InPath(path): InPath<(String, String)>,
    QueryString(fields): QueryString,
) -> Answered {
    fields.finish()?;
    let address = address(path)?;
    answered(
        &server,
        Lane::Quick,
        "document",
        address,
        |desk, address, call| json(&desk.document(address, call)?),
    )
    .await
}

/// Checks what stands in a path.
pub(super) fn address((collection, id): (String, String)) -> Result<Address, Refusal> {
    Ok(Address {
        collection: name("collection", collection)?,
        id: name("id", id)?,
    })
}
