//! An explanation as nested lists of numbers with bars.

use askama::Template;
use serde_json::Value;

use super::words::number;
use crate::limits::MAX_TREE_DEPTH;

/// A number of an explanation, with the rows of its parts.
#[derive(Debug, Default, Template)]
#[template(path = "row.html")]
pub(super) struct ExplanationRow {
    name: String,
    value: String,
    how: String,
    bar: Option<ValueBar>,
    rows: Vec<ExplanationRow>,
    is_open: bool,
}

/// A number as a bar, in per cent of the width. It begins in the middle if any row beside it is negative, else at the left.
#[derive(Debug)]
struct ValueBar {
    begins: String,
    width: String,
    is_negative: bool,
    has_middle: bool,
}

/// Rows of this many levels are open; deeper ones can be opened.
const OPEN: usize = 2;

/// The rows of an explanation: a tree, or an object of trees as in `explain.jsonl`. What is not understood is shown as it is.
pub(super) fn rows(explanation: &Value) -> Vec<ExplanationRow> {
    nested(explanation, 0)
}

fn nested(value: &Value, depth: usize) -> Vec<ExplanationRow> {
    if depth > MAX_TREE_DEPTH {
        return Vec::new();
    }
    match value {
        Value::Array(items) => {
            let values = || items.iter().filter_map(value_of);
            let widest = values().fold(0.0, |widest: f64, value| widest.max(value.abs()));
            let has_middle = values().any(|value| value < 0.0);
            let of = |item| nested(item, depth).into_iter().map(move |row| (item, row));
            let rows = items.iter().flat_map(of);
            rows.map(|(item, row)| ExplanationRow {
                bar: value_of(item).and_then(|value| ValueBar::of(value, widest, has_middle)),
                ..row
            })
            .collect()
        }
        Value::Object(fields) => match value_of(value) {
            Some(own) => {
                let text = |name: &str| fields.get(name).and_then(Value::as_str);
                let name = text("name").or_else(|| text("id")).unwrap_or("number");
                let parts = fields.get("parts").unwrap_or(&Value::Null);
                vec![ExplanationRow {
                    name: name.to_owned(),
                    value: number(own),
                    how: text("how").unwrap_or_default().replace(" -", " −"),
                    rows: nested(parts, depth + 1),
                    is_open: depth < OPEN,
                    ..ExplanationRow::default()
                }]
            }
            None => {
                let row = |(name, value): (&String, &Value)| ExplanationRow {
                    name: name.replace('_', " "),
                    value: alone(value),
                    rows: match value {
                        Value::Array(_) | Value::Object(_) => nested(value, depth + 1),
                        _ => Vec::new(),
                    },
                    is_open: depth < OPEN,
                    ..ExplanationRow::default()
                };
                fields.iter().map(row).collect()
            }
        },
        Value::Null => Vec::new(),
        other => vec![ExplanationRow {
            value: alone(other),
            ..ExplanationRow::default()
        }],
    }
}

fn value_of(value: &Value) -> Option<f64> {
    value.get("value")?.as_f64()
}

/// A value that has no parts.
fn alone(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(own) if own.is_f64() => own.as_f64().map_or_else(String::new, number),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => String::new(),
    }
}

impl ValueBar {
    fn of(value: f64, widest: f64, has_middle: bool) -> Option<ValueBar> {
        let room = if has_middle { 50.0 } else { 100.0 };
        let width = room * value.abs() / widest;
        // none, or invisible
        if !(width.is_finite() && width >= 0.5) {
            return None;
        }
        let begins = match (has_middle, value < 0.0) {
            (false, _) => 0.0,
            (true, false) => 50.0,
            (true, true) => 50.0 - width,
        };
        Some(ValueBar {
            begins: format!("{begins:.0}"),
            width: format!("{width:.0}"),
            is_negative: value < 0.0,
            has_middle,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tree_is_nested_lists_whose_bars_share_a_scale() {
        let tree = json!({"id": "score", "name": "score", "value": 1.0, "how": "sum", "parts": [
            {"name": "bm25 <ocr>", "value": 2.0}, {"name": "length", "value": -1.0, "how": "weight -0.5 × 2"}]});
        let rows = rows(&tree);
        let bars: Vec<&ValueBar> = rows[0].rows.iter().flat_map(|row| &row.bar).collect();
        assert_eq!([&bars[0].begins, &bars[0].width], ["50", "50"]);
        assert_eq!([&bars[1].begins, &bars[1].width], ["25", "25"]);
        let html = rows[0].render().unwrap();
        assert_eq!(html.matches("<ul>").count(), 1);
        for words in ["bm25 &#60;ocr&#62;", "−1.0000", "weight −0.5 × 2"] {
            assert!(html.contains(words), "{html}");
        }
    }

    #[test]
    fn an_object_of_trees_is_shown_by_its_keys_and_depth_is_bounded() {
        let entry = json!({"topic": "1", "copy_of": null, "pro": {"name": "score", "value": 0.5}, "listed": [{"rank": 1}]});
        let names =
            |rows: &[ExplanationRow]| rows.iter().map(|row| row.name.clone()).collect::<Vec<_>>();
        let rows = rows(&entry);
        assert_eq!(names(&rows), ["topic", "copy of", "pro", "listed"]);
        assert_eq!(names(&rows[2].rows), ["score"]);
        assert_eq!(rows[3].rows[0].value, "1");
        let mut deep = json!({"name": "x", "value": 1});
        for _ in 0..100 {
            deep = json!({"name": "x", "value": 1, "parts": [deep]});
        }
        let html = super::rows(&deep)[0].render().unwrap();
        assert_eq!(html.matches("<li>").count(), MAX_TREE_DEPTH + 1);
    }
}
