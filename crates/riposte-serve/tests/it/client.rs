//! A client that sends exactly what a test says.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

use crate::stub::{PATIENCE, Running};

/// A response.
#[derive(Clone, Debug)]
pub struct Response {
    pub status: u16,
    /// With names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"));
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The sentence that says what is wrong.
    pub fn error(&self) -> String {
        let json = self.json();
        json["error"].as_str().unwrap().to_owned()
    }

    /// Reads what a server sent until it closed the connection. `None` if that is no whole response.
    pub fn parse(bytes: &[u8]) -> Option<Response> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
        let head = std::str::from_utf8(&bytes[..end]).ok()?;
        let mut lines = head.split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let headers = lines.filter_map(|line| {
            let (name, value) = line.split_once(": ")?;
            Some((name.to_ascii_lowercase(), value.to_owned()))
        });
        let response = Response {
            status,
            headers: headers.collect(),
            body: bytes[end + 4..].to_vec(),
        };
        // the answer to HEAD has only the length of a body
        let length = response.header("content-length");
        let length = length.map(|length| length.parse::<usize>()).transpose();
        let is_whole = match length.ok()? {
            Some(length) => [0, length].contains(&response.body.len()),
            None => true,
        };
        is_whole.then_some(response)
    }
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// All that the server sends until it closes the connection.
pub fn read_all(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    // a reset is an end, too
    while let Ok(count @ 1..) = stream.read(&mut part) {
        bytes.extend_from_slice(&part[..count]);
    }
    bytes
}

impl Running {
    /// Sends these bytes, and reads until the server closes the connection.
    pub fn raw(&self, bytes: &[u8]) -> Option<Response> {
        let mut stream = connect(self.address);
        // the server may close before it has read all
        let _ = stream.write_all(bytes);
        Response::parse(&read_all(&mut stream))
    }

    /// Sends a request with these headers, besides `Host` and `Connection`.
    pub fn send(&self, line: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let mut request = format!("{line} HTTP/1.1\r\nconnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            request += &format!("host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() {
            request += &format!("content-length: {}\r\n", body.len());
        }
        request += "\r\n";
        request += body;
        self.raw(request.as_bytes()).unwrap()
    }

    pub fn get(&self, path: &str) -> Response {
        self.send(&format!("GET {path}"), &[], "")
    }

    pub fn post(&self, path: &str, body: &str) -> Response {
        let json = [("content-type", "application/json")];
        self.send(&format!("POST {path}"), &json, body)
    }
}
