//! An explanation as nested lists of numbers, each with a bar.

use askama::Template;
use riposte_eval::Explanation;
use serde_json::{Map, Value};

use crate::limits::MAX_TREE_DEPTH;
use crate::words::{number, with_minus_signs};

/// A number of an explanation, with the rows of its parts: an item of a list with the class `tree`.
/// The item has no end tag, which HTML does not need: a report has tens of thousands of them.
#[derive(Debug, Template)]
#[template(path = "row.html")]
pub struct ExplanationRow {
    name: String,
    value: String,
    how: String,
    bar: Option<Bar>,
    rows: Vec<ExplanationRow>,
    is_open: bool,
    /// Its CSS class: the text about its origin needs a separate line in narrow trees ("medium") or in all trees ("long").
    length: &'static str,
}

/// The bar of a row, in per cent of the width. It starts in the middle if any row of the same list is negative, else at the left.
#[derive(Debug)]
struct Bar {
    /// Where it starts; empty for 0.
    x: String,
    width: String,
    is_negative: bool,
    has_middle: bool,
}

/// A number of an explanation.
#[derive(Clone, Copy)]
enum Node<'a> {
    Typed(&'a Explanation),
    /// The fields of a number in JSON, and the number.
    Json(&'a Map<String, Value>, f64),
    /// A field of another object, or a value without a name.
    Field(&'a str, &'a Value),
}

/// The maximum number of characters of a name, and of the text about its origin, that fit in one line: in narrow trees, and in wide ones.
const SHORT: [usize; 2] = [24, 30];
const MEDIUM: [usize; 2] = [40, 46];

fn length(name: &str, how: &str) -> &'static str {
    let counts = [name.chars().count(), how.chars().count()];
    let fits = |most: [usize; 2]| counts[0] <= most[0] && counts[1] <= most[1];
    if how.is_empty() || fits(SHORT) {
        ""
    } else if fits(MEDIUM) {
        "medium"
    } else {
        "long"
    }
}

/// The rows of this many levels are expanded; deeper ones are collapsed.
const EXPANDED: usize = 2;

impl ExplanationRow {
    /// Lays out an explanation.
    pub fn new(explanation: &Explanation) -> ExplanationRow {
        ExplanationRow::of(Node::Typed(explanation), None, 0)
    }

    /// The rows of an explanation in JSON: a tree, or an object of trees as in `explain.jsonl`. What is not understood is shown as it is.
    pub fn of_json(explanation: &Value) -> Vec<ExplanationRow> {
        rows(&nodes(explanation), explanation.is_array(), 0)
    }

    /// Lays out an explanation that is shown below `other`. Parts that `other` also contains are not opened again: equal parts, and numbers with
    /// the same parts as a number there.
    pub fn without_repeats(explanation: &Explanation, other: &Explanation) -> ExplanationRow {
        let closed = |of: &Explanation, how: &str| of.clone().with_how(how).with_parts(Vec::new());
        let signal = |of: &Explanation| {
            let mut above = other.parts().iter().flat_map(Explanation::parts);
            if above.any(|above| !of.parts().is_empty() && above.parts() == of.parts()) {
                return closed(of, "shown above");
            }
            of.clone()
        };
        let part = |of: &Explanation| {
            if other.parts().contains(of) && !of.parts().is_empty() {
                return closed(of, "the same as above");
            }
            let signals = of.parts().iter().map(signal);
            of.clone().with_parts(signals.collect())
        };
        let parts = explanation.parts().iter().map(part).collect();
        ExplanationRow::new(&explanation.clone().with_parts(parts))
    }

    fn of(node: Node, bar: Option<Bar>, depth: usize) -> ExplanationRow {
        let (name, how) = (node.name(), with_minus_signs(node.how()));
        let (parts, are_compared) = node.parts();
        ExplanationRow {
            length: length(&name, &how),
            name,
            value: node.shown(),
            how,
            bar,
            rows: rows(&parts, are_compared, depth + 1),
            is_open: depth < EXPANDED,
        }
    }
}

/// The rows of one list. Their numbers have bars on one scale if they are compared with each other.
fn rows(nodes: &[Node], are_compared: bool, depth: usize) -> Vec<ExplanationRow> {
    if depth > MAX_TREE_DEPTH {
        return Vec::new();
    }
    let values = || nodes.iter().filter_map(|node| node.value());
    let widest = values().fold(0.0, |widest: f64, value| widest.max(value.abs()));
    let has_middle = values().any(|value| value < 0.0);
    let row = |node: &Node| {
        let value = node.value().filter(|_| are_compared);
        let bar = value.and_then(|value| Bar::of(value, widest, has_middle));
        ExplanationRow::of(*node, bar, depth)
    };
    nodes.iter().map(row).collect()
}

/// The numbers and fields of a value in JSON.
fn nodes(value: &Value) -> Vec<Node<'_>> {
    match value {
        Value::Array(items) => items.iter().flat_map(nodes).collect(),
        Value::Object(fields) => match fields.get("value").and_then(Value::as_f64) {
            Some(own) => vec![Node::Json(fields, own)],
            None => fields
                .iter()
                .map(|(name, of)| Node::Field(name, of))
                .collect(),
        },
        Value::Null => Vec::new(),
        other => vec![Node::Field("", other)],
    }
}

impl<'a> Node<'a> {
    fn name(self) -> String {
        match self {
            Node::Typed(of) => of.name().to_owned(),
            Node::Json(..) => {
                let name = self.text("name").or_else(|| self.text("id"));
                name.unwrap_or("number").to_owned()
            }
            Node::Field(name, _) => name.replace('_', " "),
        }
    }

    /// The number; `None` of a field.
    fn value(self) -> Option<f64> {
        match self {
            Node::Typed(of) => Some(of.value()),
            Node::Json(_, value) => Some(value),
            Node::Field(..) => None,
        }
    }

    fn shown(self) -> String {
        match self {
            Node::Typed(of) => number(of.value()),
            Node::Json(_, value) => number(value),
            Node::Field(_, Value::String(text)) => text.clone(),
            Node::Field(_, Value::Number(own)) if own.is_f64() => {
                own.as_f64().map_or_else(String::new, number)
            }
            Node::Field(_, value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
            Node::Field(..) => String::new(),
        }
    }

    fn how(self) -> &'a str {
        match self {
            Node::Typed(of) => of.how(),
            Node::Json(..) => self.text("how").unwrap_or_default(),
            Node::Field(..) => "",
        }
    }

    /// Its parts, and whether they are numbers that are compared with each other.
    fn parts(self) -> (Vec<Node<'a>>, bool) {
        match self {
            Node::Typed(of) => (of.parts().iter().map(Node::Typed).collect(), true),
            Node::Json(fields, _) => (fields.get("parts").map(nodes).unwrap_or_default(), true),
            Node::Field(_, value @ (Value::Array(_) | Value::Object(_))) => {
                (nodes(value), value.is_array())
            }
            Node::Field(..) => (Vec::new(), false),
        }
    }

    fn text(self, field: &str) -> Option<&'a str> {
        match self {
            Node::Json(fields, _) => fields.get(field)?.as_str(),
            Node::Typed(_) | Node::Field(..) => None,
        }
    }
}

impl Bar {
    fn of(value: f64, widest: f64, has_middle: bool) -> Option<Bar> {
        if !(widest > 0.0 && value.is_finite()) {
            return None;
        }
        let room = if has_middle { 50.0 } else { 100.0 };
        let width = room * value.abs() / widest;
        // invisible
        if width < 0.5 {
            return None;
        }
        let x = match (has_middle, value < 0.0) {
            (false, _) => 0.0,
            (true, false) => 50.0,
            (true, true) => 50.0 - width,
        };
        Some(Bar {
            x: match x > 0.0 {
                true => format!("{x:.0}"),
                false => String::new(),
            },
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
    fn bars_share_a_scale_with_the_rows_beside_them() {
        let feature = |value| Explanation::new(("feature", "length"), value);
        let of = Explanation::sum("score", vec![feature(2.0), feature(-1.0)]);
        let row = ExplanationRow::new(&of);
        let bars: Vec<_> = row.rows.iter().flat_map(|row| &row.bar).collect();
        assert_eq!((bars[0].x.as_str(), bars[0].width.as_str()), ("50", "50"));
        assert_eq!((bars[1].x.as_str(), bars[1].width.as_str()), ("25", "25"));
        assert!(row.bar.is_none());
    }

    #[test]
    fn what_two_explanations_share_is_shown_once() {
        let side = |stance: f64| {
            let bm25 = Explanation::new(("channel", "bm25 ocr"), 0.5);
            let relevance = Explanation::sum("relevance", vec![bm25]);
            let probability = Explanation::new(("probability", "PRO"), stance);
            Explanation::sum("score", vec![relevance, probability])
        };
        let row = ExplanationRow::without_repeats(&side(0.2), &side(0.8));
        assert_eq!(row.rows[0].how, "the same as above");
        assert!(row.rows[0].rows.is_empty());
        let html = row.render().unwrap();
        assert!(html.contains("0.2000") && !html.contains("bm25"));
    }

    #[test]
    fn a_tree_in_json_has_the_same_rows() {
        let part =
            |name, value, how: &str| Explanation::new(("feature", name), value).with_how(how);
        let parts = vec![
            part("bm25 <ocr>", 2.0, ""),
            part("length", -1.0, "weight -0.5 × 2"),
        ];
        let of = Explanation::sum("score", parts);
        let html = ExplanationRow::new(&of).render().unwrap();
        let of_json = ExplanationRow::of_json(&json!(of));
        assert_eq!(of_json[0].render().unwrap(), html);
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
        let rows = ExplanationRow::of_json(&entry);
        assert_eq!(names(&rows), ["topic", "copy of", "pro", "listed"]);
        assert_eq!(names(&rows[2].rows), ["score"]);
        assert_eq!(rows[3].rows[0].value, "1");
        let mut deep = json!({"name": "x", "value": 1});
        for _ in 0..100 {
            deep = json!({"name": "x", "value": 1, "parts": [deep]});
        }
        let html = ExplanationRow::of_json(&deep)[0].render().unwrap();
        assert_eq!(html.matches("<li").count(), MAX_TREE_DEPTH + 1);
    }
}
