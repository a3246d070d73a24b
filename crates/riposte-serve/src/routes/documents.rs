//! The collections and their documents.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};

use super::{InPath, QueryString, answered};
use crate::answers::{CollectionInfo, DocumentAnswer};
use crate::questions::{Address, name};
use crate::refusal::Refusal;
use crate::respond::ErrorBody;
use crate::server::{Lane, Server, json};

/// The collections that can be asked.
#[utoipa::path(
    get,
    path = "/api/collections",
    responses(
        (status = 200, body = Vec<CollectionInfo>),
        (status = "4XX", body = ErrorBody),
        (status = "5XX", body = ErrorBody),
    )
)]
pub(super) async fn collections(
    State(server): State<Arc<Server>>,
    QueryString(fields): QueryString,
) -> Result<Response, Refusal> {
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
    responses(
        (status = 200, body = DocumentAnswer),
        (status = "4XX", body = ErrorBody),
        (status = "5XX", body = ErrorBody),
    )
)]
pub(super) async fn document(
    State(server): State<Arc<Server>>,
    InPath(path): InPath<(String, String)>,
    QueryString(fields): QueryString,
) -> Result<Response, Refusal> {
    fields.finish()?;
    let address = address(path)?;
    let answer = answered(
        &server,
        Lane::Quick,
        "document",
        address,
        |desk, address, call| json(&desk.document(address, call)?),
    );
    Ok(answer.await)
}

/// Checks what stands in a path.
pub(super) fn address((collection, id): (String, String)) -> Result<Address, Refusal> {
    Ok(Address {
        collection: name("collection", collection)?,
        id: name("id", id)?,
    })
}
