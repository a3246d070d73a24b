//! The coordinates of the plots, which the templates draw as SVG.

use super::words::difference;

/// A plot with a column for each topic.
#[derive(Debug)]
pub(crate) struct Columns {
    pub width: u32,
    pub bars: Vec<ColumnBar>,
    /// The height of the line at the mean.
    pub mean: Option<String>,
}

/// A topic's column.
#[derive(Debug)]
pub(crate) struct ColumnBar {
    pub x: String,
    pub width: String,
    pub href: String,
    pub title: String,
    /// Bars in front of each other, the longest first: height, and index of the measure.
    pub parts: Vec<(String, usize)>,
    /// The height of the mark for the other run's value of the last measure.
    pub tick: Option<String>,
}

/// The height of the value 1.
pub(crate) const HEIGHT: f64 = 100.0;

/// The distance of columns, in units of the plot: larger if there are few.
fn step(columns: usize) -> u32 {
    (1_200 / columns.max(1) as u32).clamp(12, 48)
}

/// The data of a column.
#[derive(Clone)]
pub(crate) struct Column {
    pub href: String,
    pub title: String,
    /// The value of each measure, in [0, 1].
    pub values: Vec<f64>,
    /// The other run's value of the last measure.
    pub against: Option<f64>,
}

impl Columns {
    /// Lays out the columns, from left to right.
    pub fn new(columns: Vec<Column>, mean: Option<f64>) -> Columns {
        let step = step(columns.len());
        let width = columns.len() as u32 * step;
        let up = |value: f64| format!("{:.1}", HEIGHT * value.clamp(0.0, 1.0));
        let bars = columns
            .into_iter()
            .enumerate()
            .map(|(n, column)| ColumnBar {
                x: format!("{}", n as u32 * step + step / 6),
                width: format!("{}", step - step / 3),
                href: column.href,
                title: column.title,
                parts: column.values.iter().map(|v| up(*v)).zip(0..).collect(),
                tick: column.against.map(up),
            })
            .collect();
        Columns {
            width,
            bars,
            mean: mean.map(up),
        }
    }
}

/// A plot of candidates: relevance from left to right, P(pro) - P(con) from bottom to top.
#[derive(Debug)]
pub(crate) struct Scatter {
    pub dots: Vec<Dot>,
    /// The labels of the right, upper and lower ends, and the y coordinate of 0.
    pub most: String,
    pub highest: String,
    pub lowest: String,
    pub zero: String,
}

/// A candidate in the plot.
#[derive(Debug)]
pub(crate) struct Dot {
    pub x: String,
    pub y: String,
    /// The list that contains it: "pro", "con" or "none".
    pub list: &'static str,
    /// Whether it was judged to be on topic.
    pub is_relevant: bool,
    pub title: String,
    pub href: Option<String>,
}

/// The data of a candidate.
pub(crate) struct Candidate {
    pub relevance: f64,
    /// P(pro) - P(con).
    pub lean: f64,
    pub list: &'static str,
    pub is_relevant: bool,
    pub title: String,
    pub href: Option<String>,
}

/// The width and height of the area for dots.
pub(crate) const PLOT: (f64, f64) = (900.0, 180.0);

impl Scatter {
    /// Lays out the candidates; `None` if there are fewer than three, or all are alike.
    pub fn new(mut candidates: Vec<Candidate>) -> Option<Scatter> {
        let most = candidates.iter().map(|c| c.relevance).fold(0.0, f64::max);
        let highest = candidates.iter().map(|c| c.lean).fold(0.0, f64::max);
        let lowest = candidates.iter().map(|c| c.lean).fold(0.0, f64::min);
        if candidates.len() < 3 || !(most > 0.0 && highest > lowest) {
            return None;
        }
        let y = |lean: f64| format!("{:.1}", PLOT.1 * (highest - lean) / (highest - lowest));
        // dots of listed candidates are drawn last, above the others
        candidates.sort_by_key(|c| c.list != "none");
        let dots = candidates
            .into_iter()
            .map(|c| Dot {
                x: format!("{:.1}", PLOT.0 * c.relevance / most),
                y: y(c.lean),
                list: c.list,
                is_relevant: c.is_relevant,
                title: c.title,
                href: c.href,
            })
            .collect();
        Some(Scatter {
            dots,
            most: format!("{most:.2}"),
            highest: difference(highest),
            lowest: difference(lowest),
            zero: y(0.0),
        })
    }
}

/// A plot of scores by rank, with a bar for each text.
#[derive(Debug)]
pub(crate) struct Scores {
    pub bars: Vec<ScoreBar>,
    pub width: u32,
    pub highest: String,
    pub lowest: String,
}

/// The bar of a result.
#[derive(Debug)]
pub(crate) struct ScoreBar {
    pub x: u32,
    pub height: String,
    pub class: &'static str,
    pub title: String,
}

impl Scores {
    /// Lays out results in rank order, given as score, CSS class and title; `None` if there are fewer than three, or all scores are
    /// equal.
    pub fn new(results: Vec<(f64, &'static str, String)>) -> Option<Scores> {
        let highest = results
            .iter()
            .map(|r| r.0)
            .fold(f64::NEG_INFINITY, f64::max);
        let lowest = results.iter().map(|r| r.0).fold(f64::INFINITY, f64::min);
        if results.len() < 3 || highest <= lowest {
            return None;
        }
        let bars: Vec<ScoreBar> = results
            .into_iter()
            .zip(0..)
            .map(|((score, class, title), n)| ScoreBar {
                x: n * 8,
                // the lowest score has a visible bar, too
                height: format!("{:.1}", 4.0 + 56.0 * (score - lowest) / (highest - lowest)),
                class,
                title,
            })
            .collect();
        Some(Scores {
            width: bars.len() as u32 * 8,
            bars,
            highest: format!("{highest:.2}"),
            lowest: format!("{lowest:.2}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_nest_and_stay_inside() {
        let column = |values: Vec<f64>| Column {
            href: String::new(),
            title: String::new(),
            values,
            against: Some(2.0),
        };
        let columns = Columns::new(vec![column(vec![0.5, 0.25]); 1], Some(0.5));
        assert_eq!(
            columns.bars[0].parts,
            [("50.0".into(), 0), ("25.0".into(), 1)]
        );
        assert_eq!(columns.bars[0].tick.as_deref(), Some("100.0"));
        assert_eq!(columns.mean.as_deref(), Some("50.0"));
    }

    #[test]
    fn pro_is_above_and_the_most_relevant_right() {
        let candidate = |relevance: f64, lean: f64, list| Candidate {
            relevance,
            lean,
            list,
            is_relevant: false,
            title: String::new(),
            href: None,
        };
        let plot = Scatter::new(vec![
            candidate(0.5, 0.2, "pro"),
            candidate(1.0, -0.4, "con"),
            candidate(0.0, 0.0, "none"),
        ])
        .unwrap();
        let places: Vec<_> = plot
            .dots
            .iter()
            .map(|d| (d.list, d.x.as_str(), d.y.as_str()))
            .collect();
        assert_eq!(
            places,
            [
                ("none", "0.0", "60.0"),
                ("pro", "450.0", "0.0"),
                ("con", "900.0", "180.0")
            ]
        );
        assert!(Scatter::new(Vec::new()).is_none());
    }
}
