//! An explanation as bars, and as nested rows, each with a number and a bar.

use askama::Template;
use riposte_eval::Explanation;

use super::words::{number, with_minus_signs};

/// A number of an explanation, with the rows of its parts.
#[derive(Template)]
#[template(path = "explanation.html", config = "src/report/askama.toml")]
pub(crate) struct ExplanationRow {
    name: String,
    value: String,
    how: String,
    bar: Option<Bar>,
    rows: Vec<ExplanationRow>,
    is_open: bool,
    /// A CSS class: the text about its origin needs a separate line in narrow trees ("medium") or in all trees ("long").
    length: &'static str,
}

/// A probability or share, with a bar.
pub(crate) struct Gauge {
    pub name: String,
    /// The meaning of the name, for readers; empty if the name says it.
    pub note: &'static str,
    pub value: String,
    pub width: String,
    pub class: &'static str,
}

/// The bar of a row, in per cent of the width. It starts in the middle if any row of the same level is negative, else at the left.
struct Bar {
    /// Where it starts; empty for 0.
    x: String,
    width: String,
    is_negative: bool,
    has_middle: bool,
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
        ExplanationRow::nested(explanation, None, 0)
    }

    /// Lays out an explanation that is shown below `other`. Parts that `other` also contains are not opened again: equal parts, and numbers with
    /// the same parts as a number there.
    pub(crate) fn without_repeats(
        explanation: &Explanation,
        other: &Explanation,
    ) -> ExplanationRow {
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

    fn nested(explanation: &Explanation, bar: Option<Bar>, depth: usize) -> ExplanationRow {
        let values = || explanation.parts().iter().map(Explanation::value);
        let widest = values().fold(0.0, |widest: f64, value| widest.max(value.abs()));
        let has_middle = values().any(|value| value < 0.0);
        let row = |part: &Explanation| {
            let bar = Bar::of(part.value(), widest, has_middle);
            ExplanationRow::nested(part, bar, depth + 1)
        };
        ExplanationRow {
            name: explanation.name().to_owned(),
            value: number(explanation.value()),
            how: with_minus_signs(explanation.how()),
            length: length(explanation.name(), explanation.how()),
            bar,
            rows: explanation.parts().iter().map(row).collect(),
            is_open: depth < EXPANDED,
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
}
