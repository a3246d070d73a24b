//! Compares answers with the description of the routes that the server gives.
//!
//! The keywords of JSON Schema that the description has are checked here. (A library for all of them brings forty crates, and changes how serde_json reads
//! numbers in every package that is built beside it.) Another keyword is an error, so that none is passed over.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::client::Response;

static DESCRIPTION: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(&riposte_serve::openapi().unwrap()).unwrap());

/// Asserts that a response is one that the description has for this route and method.
pub fn assert_described(route: &str, method: &str, response: &Response) {
    let responses = &DESCRIPTION["paths"][route][method]["responses"];
    let status = response.status.to_string();
    let range = format!("{}XX", &status[..1]);
    let described = [&status, &range].map(|status| &responses[status]);
    let described = described.into_iter().find(|described| !described.is_null());
    let described = described.unwrap_or_else(|| panic!("{method} {route} has no {status}"));
    let schema = &described["content"]["application/json"]["schema"];
    assert!(!schema.is_null(), "{method} {route} {status}: {described}");
    let body = response.json();
    let faults = faults(schema, &body);
    assert!(
        faults.is_empty(),
        "{method} {route} {status}: {faults:#?}\n{body:#}"
    );
}

/// What is wrong with a value.
pub fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    check(schema, value, "", &mut faults);
    faults
}

fn check(schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    let Some(schema) = schema.as_object() else {
        // true allows all
        assert_eq!(schema, true, "{at}");
        return;
    };
    for (keyword, said) in schema {
        let is_right = match keyword.as_str() {
            "$ref" => {
                let pointer = said.as_str().unwrap().strip_prefix('#').unwrap();
                check(DESCRIPTION.pointer(pointer).unwrap(), value, at, faults);
                true
            }
            "type" => match said {
                Value::Array(kinds) => kinds.iter().any(|kind| is_kind(kind, value)),
                kind => is_kind(kind, value),
            },
            "enum" => said.as_array().unwrap().contains(value),
            "minimum" => value
                .as_f64()
                .is_none_or(|number| number >= said.as_f64().unwrap()),
            "maximum" => value
                .as_f64()
                .is_none_or(|number| number <= said.as_f64().unwrap()),
            "minItems" => length(value).is_none_or(|length| length >= said.as_u64().unwrap()),
            "maxItems" => length(value).is_none_or(|length| length <= said.as_u64().unwrap()),
            "maxLength" => value
                .as_str()
                .is_none_or(|text| text.chars().count() as u64 <= said.as_u64().unwrap()),
            "required" => value.as_object().is_none_or(|object| {
                let mut names = said.as_array().unwrap().iter();
                names.all(|name| object.contains_key(name.as_str().unwrap()))
            }),
            "properties" => {
                for (name, of_property) in said.as_object().unwrap() {
                    if let Some(property) = value.get(name) {
                        check(of_property, property, &format!("{at}/{name}"), faults);
                    }
                }
                true
            }
            "additionalProperties" => {
                assert_eq!(said, false, "{at}");
                let known = schema["properties"].as_object().unwrap();
                let mut names = value
                    .as_object()
                    .into_iter()
                    .flat_map(|object| object.keys());
                names.all(|name| known.contains_key(name))
            }
            "items" => {
                for (number, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(said, item, &format!("{at}/{number}"), faults);
                }
                true
            }
            "allOf" => {
                let all = said.as_array().unwrap().iter();
                all.for_each(|schema| check(schema, value, at, faults));
                true
            }
            "oneOf" => {
                let some = said.as_array().unwrap().iter();
                some.filter(|schema| self::faults(schema, value).is_empty())
                    .count()
                    == 1
            }
            "description" | "format" | "title" => true,
            _ => panic!("{at}: the keyword {keyword} is not known here"),
        };
        if !is_right {
            faults.push(format!("{at}: {keyword} {said}, but it is {value}"));
        }
    }
}

fn is_kind(kind: &Value, value: &Value) -> bool {
    match kind.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        kind => panic!("the type {kind} is not known here"),
    }
}

fn length(value: &Value) -> Option<u64> {
    value.as_array().map(|items| items.len() as u64)
}

#[test]
fn the_description_is_openapi_3_1_and_lists_each_route_with_its_faults() {
    assert_eq!(DESCRIPTION["openapi"], "3.1.0");
    let paths: Vec<&String> = DESCRIPTION["paths"].as_object().unwrap().keys().collect();
    for path in [
        "/",
        "/api/collections",
        "/api/debate",
        "/api/documents/{collection}/{id}",
        "/api/explain",
        "/api/quality",
        "/api/search",
        "/api/stance",
        "/asset/{name}",
        "/document/{collection}/{id}",
        "/health",
        "/metrics",
        "/picture/{collection}/{id}",
        "/report",
        "/run",
        "/v1/{index}/doc/{docid}",
        "/v1/{index}/search",
        "/why",
    ] {
        assert!(
            paths.iter().any(|known| *known == path),
            "{path}: {paths:?}"
        );
    }
    for (path, methods) in DESCRIPTION["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            for status in ["200", "4XX", "5XX"] {
                assert!(
                    !operation["responses"][status].is_null(),
                    "{method} {path} {status}"
                );
            }
        }
    }
}

/// The check itself: each change of a right answer is noticed.
#[test]
fn an_answer_with_another_shape_is_noticed() {
    let right = json!({
        "question": "q",
        "collection": "c",
        "kind": "arguments",
        "approach": "riposte",
        "results": [{"rank": 1, "id": "d", "score": 0.5, "text": "t", "about": null, "padding": false}],
        "nothing_about_it": false,
    });
    let schema = json!({"$ref": "#/components/schemas/Found"});
    assert_eq!(faults(&schema, &right), Vec::<String>::new());
    for (pointer, wrong) in [
        ("/question", json!(null)),
        ("/kind", json!("videos")),
        ("/results", json!({})),
        ("/results/0/rank", json!(1.5)),
        ("/results/0/rank", json!(-1)),
        ("/results/0/score", json!("0.5")),
        ("/results/0/padding", json!(0)),
        ("/results/0", json!({"rank": 1})),
    ] {
        let mut changed = right.clone();
        *changed.pointer_mut(pointer).unwrap() = wrong;
        assert_ne!(faults(&schema, &changed), Vec::<String>::new(), "{pointer}");
    }
}
