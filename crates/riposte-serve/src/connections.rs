//! Accepts connections, serves them, and ends.

use std::convert::Infallible;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tower::ServiceExt;

use crate::desk::Desk;
use crate::guard::LocalAddress;
use crate::limits::{HEARING, MAX_HEAD_BYTES, MAX_HEADERS, MAX_HEARD, MOMENT, STOP_TIME};
use crate::patient::Patient;
use crate::routes;
use crate::server::Server;
use crate::settings::{ServerSettings, SettingsError};

/// The pause after an error of `accept`, such as too many open files, which would come again at once.
const PAUSE: Duration = Duration::from_millis(50);

/// The pause between two looks at the threads that end.
const GLANCE: Duration = Duration::from_millis(5);

/// Sent to a client that connects when there are too many connections and sends no request.
const REFUSED: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// It is set up wrongly.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The system refuses a thread or the listener.
    #[error("the server cannot start: {0}")]
    Io(#[from] io::Error),
    /// A client of the Model Context Protocol says something else.
    #[error("the client does not speak the protocol: {0}")]
    Protocol(String),
}

/// How a server has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShutdownReport {
    /// The number of connections that were cut off, because they took longer than the grace.
    pub cut: usize,
    /// The number of threads whose calls have not returned although they are stopped. They end with the process.
    pub running: usize,
}

/// Ends a server from any thread, for example from a handler of signals.
#[derive(Clone, Debug)]
pub struct Switch(watch::Sender<bool>);

impl Default for Switch {
    fn default() -> Switch {
        Switch(watch::Sender::new(false))
    }
}

impl Switch {
    /// Ends the servers that were started with this switch. A second call does nothing.
    pub fn end(&self) {
        self.0.send_replace(true);
    }

    pub(crate) async fn ended(&self) {
        let mut receiver = self.0.subscribe();
        // an error says that no sender is left, but there is one here
        let _ = receiver.wait_for(|ended| *ended).await;
    }
}

/// Serves until the switch is turned. It blocks the thread, which reads from the network; calls have threads of their own.
///
/// # Errors
/// The server cannot start.
pub fn run(
    listener: TcpListener,
    desk: Arc<dyn Desk>,
    settings: ServerSettings,
    switch: &Switch,
) -> Result<ShutdownReport, ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(serve(listener, desk, settings, switch.ended()))
}

/// Serves until `shutdown` is ready. Then it accepts no more connections, waits for the answers that are in progress, but no longer than the grace of the
/// settings, and stops what is left. If this future is dropped, all is stopped at once.
///
/// # Errors
/// The server cannot start.
pub async fn serve(
    listener: TcpListener,
    desk: Arc<dyn Desk>,
    settings: ServerSettings,
    shutdown: impl Future<Output = ()>,
) -> Result<ShutdownReport, ServeError> {
    settings.check()?;
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let grace = settings.grace;
    let server = Arc::new(Server::new(desk, settings)?);
    let router = routes::router(&server);
    let (ends, ending) = watch::channel(false);
    let heard = Arc::new(Semaphore::new(MAX_HEARD));
    let mut tasks = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            Some(_) = tasks.join_next() => {}
            accepted = listener.accept() => match accepted {
                Err(_) => tokio::time::sleep(PAUSE).await,
                Ok((stream, _)) => match Arc::clone(&server.places).try_acquire_owned() {
                    Err(_) => {
                        server.record_refused_connection();
                        match Arc::clone(&heard).try_acquire_owned() {
                            Err(_) => refuse(stream),
                            Ok(place) => {
                                tasks.spawn(turn_away(stream, place));
                            }
                        }
                    }
                    Ok(place) => {
                        let (server, router) = (Arc::clone(&server), router.clone());
                        tasks.spawn(connection(stream, place, server, router, ending.clone()));
                    }
                },
            },
        }
    }
    drop(listener);
    ends.send_replace(true);
    let all = async { while tasks.join_next().await.is_some() {} };
    let _ = timeout(grace, all).await;
    let cut = tasks.len();
    // their futures are dropped, and so their calls are stopped
    tasks.shutdown().await;
    server.close();
    let ended = async {
        while server.threads() > 0 {
            tokio::time::sleep(GLANCE).await;
        }
    };
    let _ = timeout(STOP_TIME, ended).await;
    let running = server.threads();
    Ok(ShutdownReport { cut, running })
}

/// Tells a client that there are too many connections: with a page, if a browser asks.
async fn turn_away(stream: TcpStream, place: OwnedSemaphorePermit) {
    match timeout(MOMENT, stream.peek(&mut [0])).await {
        Ok(Ok(1..)) => {
            let service =
                service_fn(async |request| Ok::<_, Infallible>(routes::turn_away(&request)));
            let connection = http1::Builder::new()
                .keep_alive(false)
                .header_read_timeout(None)
                .max_buf_size(MAX_HEAD_BYTES)
                .max_headers(MAX_HEADERS)
                .serve_connection(TokioIo::new(stream), service);
            let _ = timeout(HEARING, connection).await;
        }
        _ => refuse(stream),
    }
    drop(place);
}

/// Tells a client that there are too many connections, as far as the system takes it at once.
fn refuse(stream: TcpStream) {
    if let Ok(mut stream) = stream.into_std() {
        let _ = stream.write(REFUSED);
    }
}

async fn connection(
    stream: TcpStream,
    place: OwnedSemaphorePermit,
    server: Arc<Server>,
    router: Router,
    mut ending: watch::Receiver<bool>,
) {
    let Ok(local) = stream.local_addr() else {
        return;
    };
    // answers are written at once, so that waiting for more brings nothing
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| respond(request, local, router.clone()));
    let settings = &server.settings;
    let stream = TokioIo::new(Patient::new(stream, settings.write_time));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(settings.head_time)
        .max_buf_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEADERS)
        .serve_connection(stream, service);
    let mut connection = pin!(connection);
    // an error says that the client has broken off, or is cut off
    let ends = async { ending.wait_for(|ending| *ending).await.is_ok() };
    tokio::select! {
        _ = connection.as_mut() => {}
        _ = ends => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
    drop(place);
}

async fn respond(
    request: Request<Incoming>,
    local: SocketAddr,
    router: Router,
) -> Result<axum::response::Response, Infallible> {
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(LocalAddress(local));
    router.oneshot(request).await
}
