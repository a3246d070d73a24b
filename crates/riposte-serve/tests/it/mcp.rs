//! A client of the Model Context Protocol, which writes and reads lines of JSON.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use riposte_serve::{ServerSettings, mcp};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split,
};

use crate::schema::faults;
use crate::stub::{PATIENCE, SCORE, Stub};

struct Client {
    output: WriteHalf<DuplexStream>,
    input: BufReader<ReadHalf<DuplexStream>>,
    stub: Arc<Stub>,
    next: u64,
}

impl Client {
    async fn send(&mut self, message: Value) {
        let line = format!("{message}\n");
        self.output.write_all(line.as_bytes()).await.unwrap();
    }

    async fn receive(&mut self) -> Value {
        let mut line = String::new();
        let read = tokio::time::timeout(PATIENCE, self.input.read_line(&mut line));
        read.await.expect("there is no answer").unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Sends a request and returns the whole answer.
    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        let answer = self.receive().await;
        assert_eq!(answer["id"], id);
        answer
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        self.ask("tools/call", params).await["result"].clone()
    }

    /// The sentence that a failed call tells the model.
    async fn fault(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        assert_eq!(result["isError"], true, "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }
}

async fn until(is_so: impl Fn() -> bool) {
    let so = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, so)
        .await
        .expect("it does not come");
}

/// Runs a test with a client that has said hello.
fn with_client(settings: ServerSettings, test: impl AsyncFnOnce(&mut Client)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let stub: Arc<Stub> = Arc::default();
        let (ours, theirs) = duplex(1 << 20);
        let (input, output) = split(theirs);
        let serves = tokio::spawn(mcp::serve(Arc::clone(&stub) as _, settings, input, output));
        let (input, output) = split(ours);
        let mut client = Client {
            output,
            input: BufReader::new(input),
            stub,
            next: 0,
        };
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let answer = client.ask("initialize", hello).await;
        assert_eq!(answer["result"]["serverInfo"]["name"], "riposte");
        assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
        client
            .send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        test(&mut client).await;
        client.stub.release();
        // the end of the input is the end of the server
        drop(client);
        let served = tokio::time::timeout(PATIENCE, serves).await;
        served.expect("the server does not end").unwrap().unwrap();
    });
}

#[test]
fn each_tool_takes_what_its_schema_has_and_answers_as_the_routes_do() {
    with_client(ServerSettings::default(), async |client| {
        let list = client.ask("tools/list", json!({})).await;
        let tools = list["result"]["tools"].as_array().unwrap();
        let names: Vec<&Value> = tools.iter().map(|tool| &tool["name"]).collect();
        assert_eq!(
            names,
            [
                "search_arguments",
                "search_images",
                "read_document",
                "stance"
            ]
        );
        for (tool, arguments) in tools.iter().zip([
            json!({"question": "Close zoos?", "collection": "debates", "hits": 2, "side": "con"}),
            json!({"question": "Close zoos?", "collection": "debates", "hits": 2, "side": "pro"}),
            json!({"collection": "debates", "id": "1"}),
            json!({"topic": "zoos", "texts": ["a", "b"]}),
        ]) {
            let schema = &tool["inputSchema"];
            assert_eq!(faults(schema, &arguments), Vec::<String>::new());
            assert_ne!(
                faults(schema, &json!({"questions": 1})),
                Vec::<String>::new()
            );
            let properties = tool["inputSchema"]["properties"].as_object().unwrap();
            let optional = ["objects"];
            let known = properties
                .keys()
                .filter(|name| !optional.contains(&name.as_str()));
            assert!(known.eq(arguments.as_object().unwrap().keys()), "{tool}");
            let result = client.call(tool["name"].as_str().unwrap(), arguments).await;
            assert_eq!(result["isError"], false, "{result}");
            // for clients that read only texts
            let text = result["content"][0]["text"].as_str().unwrap();
            let read: Value = serde_json::from_str(text).unwrap();
            assert_eq!(read, result["structuredContent"]);
        }
        let found = client
            .call("search_images", json!({"question": "Close zoos?"}))
            .await;
        let found = &found["structuredContent"];
        assert_eq!(
            (&found["kind"], &found["results"][0]["score"]),
            (&json!("images"), &json!(SCORE))
        );
        let objects = json!({"objects": ["cats", "dogs"], "texts": ["a"]});
        let stances = client.call("stance", objects).await;
        assert_eq!(
            stances["structuredContent"]["stances"][0]["stance"],
            "FIRST"
        );
    });
}

#[test]
fn a_model_is_told_what_is_wrong() {
    with_client(ServerSettings::default(), async |client| {
        for (tool, arguments, words) in [
            ("search_arguments", json!({}), "`question` is missing"),
            (
                "search_arguments",
                json!({"question": "x", "hits": 0}),
                "`hits` must be from 1",
            ),
            (
                "search_arguments",
                json!({"question": ["x"]}),
                "must be a text or a number",
            ),
            (
                "search_arguments",
                json!({"question": "x", "kind": "images", "x": 1}),
                "no field",
            ),
            (
                "search_arguments",
                json!({"question": "x", "collection": "none"}),
                "no collection",
            ),
            (
                "search_arguments",
                json!({"question": "x".repeat(1001)}),
                "more than 1000",
            ),
            (
                "search_arguments",
                json!({"question": "german"}),
                "looks German",
            ),
            (
                "search_arguments",
                json!({"question": "fail"}),
                "its log says why",
            ),
            (
                "search_images",
                json!({"question": "panic"}),
                "its log says why",
            ),
            (
                "read_document",
                json!({"collection": "debates"}),
                "`id` is empty",
            ),
            (
                "read_document",
                json!({"collection": "debates", "id": "../x"}),
                "no document",
            ),
            (
                "stance",
                json!({"texts": ["a"]}),
                "either `topic` or `objects`",
            ),
        ] {
            let fault = client.fault(tool, arguments).await;
            assert!(fault.contains(words), "{tool}: {fault}");
            assert!(!fault.contains("/secret"));
        }
        let params = json!({"name": "shell", "arguments": {}});
        let unknown = client.ask("tools/call", params).await;
        assert!(
            unknown["error"]["message"]
                .as_str()
                .unwrap()
                .contains("no tool")
        );
    });
}

#[test]
fn a_call_that_is_cancelled_or_late_is_stopped() {
    let settings = ServerSettings {
        deadline: Duration::from_millis(500),
        ..ServerSettings::default()
    };
    with_client(settings, async |client| {
        let fault = client
            .fault("search_arguments", json!({"question": "wait"}))
            .await;
        assert!(fault.contains("no answer in time"), "{fault}");
        until(|| client.stub.stopped.load(SeqCst) == client.stub.begun.load(SeqCst)).await;
    });
    with_client(ServerSettings::default(), async |client| {
        let params = json!({"name": "search_arguments", "arguments": {"question": "wait"}});
        let call = json!({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": params});
        client.send(call).await;
        until(|| client.stub.begun.load(SeqCst) == 1).await;
        let cancelled = json!({"requestId": 77, "reason": "no longer wanted"});
        let method = "notifications/cancelled";
        client
            .send(json!({"jsonrpc": "2.0", "method": method, "params": cancelled}))
            .await;
        until(|| client.stub.stopped.load(SeqCst) == 1).await;
        let document = json!({"collection": "debates", "id": "1"});
        let found = client.call("read_document", document).await;
        assert_eq!(found["structuredContent"]["text"], "A text.");
    });
}
