//! The plots' geometry; their templates draw them as SVG.

use super::words::difference;

/// A plot of one column for each topic.
#[derive(Debug)]
pub struct Columns {
    pub width: u32,
    pub bars: Vec<ColumnBar>,
    /// The mean, as a height.
    pub mean: Option<String>,
}

/// A topic's column.
#[derive(Debug)]
pub struct ColumnBar {
    pub x: String,
    pub width: String,
    pub href: String,
    pub title: String,
    /// One inside the other, the largest first: height, and its number among the measures.
    pub parts: Vec<(String, usize)>,
    /// Where the other run's last measure stands.
    pub tick: Option<String>,
}

/// The height that stands for 1.
pub const HEIGHT: f64 = 100.0;

/// Room for a column, in the plot's units: wider where there are few.
fn step(columns: usize) -> u32 {
    (1_200 / columns.max(1) as u32).clamp(12, 48)
}

/// What a column shows.
#[derive(Clone)]
pub struct Column {
    pub href: String,
    pub title: String,
    /// In [0, 1], one a measure.
    pub values: Vec<f64>,
    pub against: Option<f64>,
}

impl Columns {
    /// The columns, from left to right.
    pub fn of(columns: Vec<Column>, mean: Option<f64>) -> Columns {
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

/// Candidates by relevance, from left to right, and by leaning, PRO above.
#[derive(Debug)]
pub struct Scatter {
    pub dots: Vec<Dot>,
    /// What stands at the right end, at the upper and at the lower end, and where 0 is.
    pub most: String,
    pub highest: String,
    pub lowest: String,
    pub zero: String,
}

/// A candidate.
#[derive(Debug)]
pub struct Dot {
    pub x: String,
    pub y: String,
    /// "pro", "con", or "none" of the lists.
    pub list: &'static str,
    /// Judged to be on topic.
    pub is_relevant: bool,
    pub title: String,
    pub href: Option<String>,
}

/// A candidate before it has a place.
pub struct Candidate {
    pub relevance: f64,
    /// P(pro) - P(con).
    pub lean: f64,
    pub list: &'static str,
    pub is_relevant: bool,
    pub title: String,
    pub href: Option<String>,
}

/// Where dots may be, in the plot's units.
pub const PLOT: (f64, f64) = (900.0, 180.0);

impl Scatter {
    /// None without candidates that differ.
    pub fn of(mut candidates: Vec<Candidate>) -> Option<Scatter> {
        let most = candidates.iter().map(|c| c.relevance).fold(0.0, f64::max);
        let highest = candidates.iter().map(|c| c.lean).fold(0.0, f64::max);
        let lowest = candidates.iter().map(|c| c.lean).fold(0.0, f64::min);
        if candidates.len() < 3 || !(most > 0.0 && highest > lowest) {
            return None;
        }
        let y = |lean: f64| format!("{:.1}", PLOT.1 * (highest - lean) / (highest - lowest));
        // the listed are drawn last, above the others
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

/// Scores by rank, for texts: a bar each.
#[derive(Debug)]
pub struct Scores {
    pub bars: Vec<ScoreBar>,
    pub width: u32,
    pub highest: String,
    pub lowest: String,
}

/// A result's score.
#[derive(Debug)]
pub struct ScoreBar {
    pub x: u32,
    pub height: String,
    pub class: &'static str,
    pub title: String,
}

impl Scores {
    /// Of results in rank order: score, class and title. None for fewer than three, or where all are the same.
    pub fn of(results: Vec<(f64, &'static str, String)>) -> Option<Scores> {
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
                // the lowest is seen too
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
        let columns = Columns::of(vec![column(vec![0.5, 0.25]); 1], Some(0.5));
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
        let plot = Scatter::of(vec![
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
        assert!(Scatter::of(Vec::new()).is_none());
    }
}
