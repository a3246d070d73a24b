//! A server whose answers a test defines.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

/// An answer of the server.
#[derive(Clone)]
pub enum Reply {
    Status {
        status: u16,
        headers: Vec<(String, String)>,
        body: String,
    },
    /// An answer with status 200 whose headers declare this length instead of the body's length.
    Body {
        body: String,
        announced: Option<usize>,
    },
    /// JSON that never ends.
    Endless,
    /// No answer until the client disconnects.
    Silence,
}

impl Reply {
    pub fn json(body: Value) -> Reply {
        Reply::status(200, &[], &body.to_string())
    }

    pub fn status(status: u16, headers: &[(&str, &str)], body: &str) -> Reply {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Reply::Status {
            status,
            headers: headers.iter().map(owned).collect(),
            body: body.to_owned(),
        }
    }
}

/// Gives the reply to a request, by its number (from 0) and its JSON.
type Handler = dyn Fn(usize, &Value) -> Reply + Send;

struct State {
    handler: Box<Handler>,
    /// The JSON of each request, with its method and path in `path`.
    requests: Vec<Value>,
}

pub struct Server {
    pub address: String,
    state: Arc<Mutex<State>>,
}

impl Server {
    pub fn start(handler: impl Fn(usize, &Value) -> Reply + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State {
            handler: Box::new(handler),
            requests: Vec::new(),
        }));
        let shared = state.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = shared.clone();
                // a client can disconnect early
                thread::spawn(move || answer(stream, &shared).ok());
            }
        });
        Server { address, state }
    }

    /// Changes the handler for further requests.
    pub fn answer_by(&self, handler: impl Fn(usize, &Value) -> Reply + Send + 'static) {
        self.state.lock().unwrap().handler = Box::new(handler);
    }

    /// The number of requests since they were last taken.
    pub fn count(&self) -> usize {
        self.state.lock().unwrap().requests.len()
    }

    /// Takes the requests since they were last taken.
    pub fn requests(&self) -> Vec<Value> {
        std::mem::take(&mut self.state.lock().unwrap().requests)
    }
}

fn answer(mut stream: TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let (mut length, mut line) = (0, String::new());
    while reader.read_line(&mut line)? > 2 {
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut request: Value = serde_json::from_slice(&body).unwrap();
    let path = first.rsplit_once(' ').map_or("", |(path, _)| path);
    request["path"] = json!(path);
    let reply = {
        let mut state = state.lock().unwrap();
        let reply = (state.handler)(state.requests.len(), &request);
        state.requests.push(request);
        reply
    };
    match reply {
        Reply::Status {
            status,
            headers,
            body,
        } => {
            let length = body.len();
            write!(
                stream,
                "HTTP/1.1 {status} x\r\nConnection: close\r\nContent-Length: {length}\r\n"
            )?;
            for (name, value) in headers {
                write!(stream, "{name}: {value}\r\n")?;
            }
            write!(stream, "\r\n{body}")
        }
        Reply::Body { body, announced } => {
            write!(stream, "HTTP/1.1 200 OK\r\nConnection: close\r\n")?;
            if let Some(length) = announced {
                write!(stream, "Content-Length: {length}\r\n")?;
            }
            write!(stream, "\r\n{body}")
        }
        Reply::Endless => {
            write!(stream, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n[")?;
            loop {
                stream.write_all(&b"1, ".repeat(1000))?;
            }
        }
        Reply::Silence => {
            stream.read_to_end(&mut Vec::new())?;
            Ok(())
        }
    }
}
