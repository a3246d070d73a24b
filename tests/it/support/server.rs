//! A web server on the loopback interface, whose answers can break off, stall or never end.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The server's answer to requests for a path.
#[derive(Clone, Default)]
pub struct Page {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    /// The number of bytes of the body after which the connection is closed, and the number of requests for which this happens.
    pub cut: Option<(usize, usize)>,
    /// The number of bytes of the body after which the server sends nothing more, and the number of requests for which this happens.
    pub stall: Option<(usize, usize)>,
    /// The number of bytes of the body after which the server pauses, and for how long.
    pub pause: Option<(usize, Duration)>,
    /// The number of requests for which the connection is reset before anything is answered.
    pub resets: usize,
    /// Whether the body is sent again and again, without saying how long it is.
    pub endless: bool,
    /// What the header Authorization must say; the answer to other requests is 401.
    pub authorization: Option<&'static str>,
}

/// A server of pages on the loopback interface. It records each request as `path`, as `path offset` if the request has a range, or as
/// `path reset`.
pub struct Server {
    pub address: String,
    pages: Arc<Mutex<BTreeMap<String, Page>>>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let pages = Arc::new(Mutex::new(BTreeMap::new()));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (shown, heard) = (pages.clone(), requests.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (shown, heard) = (shown.clone(), heard.clone());
                // a client can disconnect early
                thread::spawn(move || answer(stream, &shown, &heard).ok());
            }
        });
        Server {
            address,
            pages,
            requests,
        }
    }

    pub fn page(&self, path: &str, page: Page) -> String {
        self.pages.lock().unwrap().insert(path.to_owned(), page);
        format!("{}{path}", self.address)
    }

    pub fn file(&self, path: &str, body: &[u8]) -> String {
        let body = body.to_vec();
        let status = 200;
        self.page(
            path,
            Page {
                status,
                body,
                ..Page::default()
            },
        )
    }

    pub fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }
}

fn answer(
    mut stream: TcpStream,
    pages: &Mutex<BTreeMap<String, Page>>,
    requests: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    // byte by byte, so that the rest of the request is still unread if the connection is reset: then the system says so to the client
    let mut first = Vec::new();
    let mut byte = [0];
    while byte != *b"\n" && stream.read(&mut byte)? > 0 {
        first.extend(byte);
    }
    let first = String::from_utf8_lossy(&first);
    let path = first.split(' ').nth(1).unwrap_or("").to_owned();
    if let Some(page) = pages.lock().unwrap().get_mut(&path)
        && page.resets > 0
    {
        page.resets -= 1;
        requests.lock().unwrap().push(format!("{path} reset"));
        return Ok(());
    }
    let head = BufReader::new(stream.try_clone()?).lines();
    let (mut from, mut condition, mut authorization) = (None, None, None);
    for line in head {
        let line = line?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(": ").unwrap_or((&line, ""));
        match name.to_ascii_lowercase().as_str() {
            "range" => {
                from = value
                    .strip_prefix("bytes=")
                    .map(|r| r.trim_end_matches('-').to_owned())
            }
            "if-range" => condition = Some(value.to_owned()),
            "authorization" => authorization = Some(value.to_owned()),
            _ => {}
        }
    }
    requests.lock().unwrap().push(match &from {
        Some(from) => format!("{path} {from}"),
        None => path.clone(),
    });
    let is_open = |page: &Page| {
        let must = page.authorization;
        must.is_none() || must == authorization.as_deref()
    };
    let mut page = pages.lock().unwrap().get(&path).cloned().unwrap_or(Page {
        status: 404,
        ..Page::default()
    });
    if !is_open(&page) {
        page = Page {
            status: 401,
            ..Page::default()
        };
    }
    // a store would refuse the token of another server
    let is_refused = path.starts_with("/cdn/") && authorization.is_some();
    if is_refused {
        page.status = 400;
    }
    let etag = page.headers.iter().find(|(n, _)| *n == "ETag");
    let same = condition.is_none() || condition.as_ref() == etag.map(|(_, v)| v);
    let from: usize = from.filter(|_| same).map_or(0, |f| f.parse().unwrap());
    let mut status = page.status.to_string();
    if page.status == 200 && from > 0 {
        status = "206".into();
        let range = format!("bytes {from}-{}/{}", page.body.len() - 1, page.body.len());
        page.headers.push(("Content-Range", range));
    }
    if from > page.body.len() {
        status = "416".into();
    }
    let body = page.body.get(from..).unwrap_or_default();
    let mut end = body.len();
    if let Some((after, times)) = page.cut
        && times > 0
    {
        end = after.min(end);
        pages.lock().unwrap().get_mut(&path).unwrap().cut = Some((after, times - 1));
    }
    let mut stalls = false;
    if let Some((after, times)) = page.stall
        && times > 0
    {
        (end, stalls) = (after.min(end), true);
        pages.lock().unwrap().get_mut(&path).unwrap().stall = Some((after, times - 1));
    }
    write!(stream, "HTTP/1.1 {status} x\r\nConnection: close\r\n")?;
    if !page.endless {
        write!(stream, "Content-Length: {}\r\n", body.len())?;
    }
    for (name, value) in &page.headers {
        write!(stream, "{name}: {value}\r\n")?;
    }
    stream.write_all(b"\r\n")?;
    let (before, after) = match page.pause {
        Some((at, _)) => body[..end].split_at(at.min(end)),
        None => (&body[..end], &b""[..]),
    };
    stream.write_all(before)?;
    if let Some((_, pause)) = page.pause {
        thread::sleep(pause);
    }
    stream.write_all(after)?;
    if page.endless {
        loop {
            stream.write_all(body)?;
        }
    }
    if stalls {
        // until the client is gone
        stream.read_to_end(&mut Vec::new())?;
    }
    Ok(())
}
