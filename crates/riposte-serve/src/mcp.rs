//! Tools for language models: the Model Context Protocol, on standard input and output or another pair of streams.
//!
//! The tools ask the same desk as the routes, with the same checks, threads, deadlines and kept answers. What the server refuses is told to the model as the
//! text of a failed call, so that it can ask again in another way.

mod tools;

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::connections::{ServeError, Switch};
use crate::desk::Desk;
use crate::server::Server;
use crate::settings::ServerSettings;

/// What a model is told of the tools together.
const INSTRUCTIONS: &str = "Finds arguments and images for and against a claim. Ask in whole questions such as \"Should zoos be closed?\". If `nothing_about_it` \
                            is true, the collection has nothing about the question, and what is listed is only the nearest.";

/// Serves on standard input and output, until the input ends or the switch is turned. It blocks the thread. Nothing else may write to standard output.
///
/// # Errors
/// The server cannot start, or the client does not speak the protocol.
pub fn serve_stdio(
    desk: Arc<dyn Desk>,
    settings: ServerSettings,
    switch: &Switch,
) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let streams = (tokio::io::stdin(), tokio::io::stdout());
    let served = runtime.block_on(async {
        tokio::select! {
            () = switch.ended() => Ok(()),
            served = serve(desk, settings, streams.0, streams.1) => served,
        }
    });
    // a thread that waits for input would not let the runtime end
    runtime.shutdown_background();
    served
}

/// Serves on two streams, until the input ends. Calls in progress are stopped if this future is dropped.
///
/// # Errors
/// The server cannot start, or the client does not speak the protocol.
pub async fn serve(
    desk: Arc<dyn Desk>,
    settings: ServerSettings,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), ServeError> {
    settings.check()?;
    let server = Server::new(desk, settings)?;
    let service = rmcp::serve_server(McpTools(server), (input, output)).await;
    let service = service.map_err(|error| ServeError::Protocol(error.to_string()))?;
    match service.waiting().await {
        Ok(_) => Ok(()),
        Err(error) => Err(ServeError::Protocol(error.to_string())),
    }
}

struct McpTools(Server);

impl ServerHandler for McpTools {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("riposte", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::list()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let Some(answer) = tools::call(&self.0, &request.name, arguments) else {
            let message = format!("there is no tool {:?}", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        // if the client cancels the request, this future is dropped, which stops the call
        let answer = tokio::select! {
            answer = answer => answer,
            () = context.ct.cancelled() => Err(crate::Refusal::Stopped),
        };
        let result = match answer {
            Ok(value) => CallToolResult::structured(value),
            Err(refusal) => CallToolResult::error(vec![ContentBlock::text(refusal.to_string())]),
        };
        Ok(result.into())
    }
}
