//! The coordinates of the plots, which the templates draw as SVG.

use super::words::difference;

/// A horizontal coordinate, in per cent of the width: a plot is as wide as its page, and letters keep their size. Vertical coordinates are in pixels.
fn per_cent(share: f64) -> String {
    format!("{:.2}", 100.0 * share)
}

/// A plot with a column for each topic.
#[derive(Debug)]
pub(crate) struct Columns {
    /// The width of the plot in pixels, if the page is as wide.
    pub width: u32,
    /// Whether all names can be read in a narrow window.
    pub is_few: bool,
    pub bars: Vec<ColumnBar>,
    /// The height of the line at the mean.
    pub mean: Option<String>,
}

/// A topic's column.
#[derive(Debug)]
pub(crate) struct ColumnBar {
    pub x: String,
    pub middle: String,
    pub width: String,
    pub href: String,
    /// The name below the column; `None` where names would overlap.
    pub name: Option<String>,
    pub title: String,
    /// Bars in front of each other, the longest first: height, and index of the measure.
    pub parts: Vec<(String, usize)>,
    /// The height of the mark for the other run's value of the last measure.
    pub tick: Option<String>,
}

/// The height of the value 1.
pub(crate) const HEIGHT: f64 = 100.0;

/// The width of a bar as a share of its column.
const BAR: f64 = 0.66;

/// The width of all columns in pixels, and the smallest and the largest width of a column.
const COLUMNS_WIDTH: u32 = 1_100;
const MIN_STEP: u32 = 7;
const MAX_STEP: u32 = 64;

/// The width of a plot in a narrow window, in pixels.
const NARROW: u32 = 300;

/// The width of a name below a column, in pixels.
const NAME_WIDTH: u32 = 22;

/// The maximum number of characters of such a name.
const NAME: usize = 4;

/// The data of a column.
#[derive(Clone)]
pub(crate) struct Column {
    pub href: String,
    /// The topic's number.
    pub name: String,
    pub title: String,
    /// The value of each measure, in [0, 1].
    pub values: Vec<f64>,
    /// The other run's value of the last measure.
    pub against: Option<f64>,
}

impl Columns {
    /// Lays out the columns, from left to right. `first_part` is the index of the first measure's colour.
    pub fn new(columns: Vec<Column>, mean: Option<f64>, first_part: usize) -> Columns {
        let count = columns.len().max(1);
        let step = (COLUMNS_WIDTH / count as u32).clamp(MIN_STEP, MAX_STEP);
        let each_named = NAME_WIDTH.div_ceil(step) as usize;
        let up = |value: f64| format!("{:.1}", HEIGHT * value.clamp(0.0, 1.0));
        let of_all = |columns: f64| per_cent(columns / count as f64);
        let bars = columns
            .into_iter()
            .enumerate()
            .map(|(n, column)| ColumnBar {
                x: of_all(n as f64 + (1.0 - BAR) / 2.0),
                middle: of_all(n as f64 + 0.5),
                width: of_all(BAR),
                href: column.href,
                name: (n % each_named == 0 && column.name.chars().count() <= NAME)
                    .then_some(column.name),
                title: column.title,
                parts: column
                    .values
                    .iter()
                    .map(|v| up(*v))
                    .zip(first_part..)
                    .collect(),
                tick: column.against.map(up),
            })
            .collect();
        Columns {
            width: count as u32 * step,
            is_few: count as u32 * NAME_WIDTH <= NARROW,
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
    /// Whether 0 has a label; near the ends it would overlap with their labels.
    pub labels_zero: bool,
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

/// The height of the area for dots.
pub(crate) const SCATTER_HEIGHT: f64 = 180.0;

/// The smallest vertical distance of two labels.
const LABEL_HEIGHT: f64 = 16.0;

impl Scatter {
    /// Lays out the candidates; `None` if there are fewer than three, or all are alike.
    pub fn new(mut candidates: Vec<Candidate>) -> Option<Scatter> {
        let most = candidates.iter().map(|c| c.relevance).fold(0.0, f64::max);
        let highest = candidates.iter().map(|c| c.lean).fold(0.0, f64::max);
        let lowest = candidates.iter().map(|c| c.lean).fold(0.0, f64::min);
        if candidates.len() < 3 || !(most > 0.0 && highest > lowest) {
            return None;
        }
        let y = |lean: f64| SCATTER_HEIGHT * (highest - lean) / (highest - lowest);
        // dots of listed candidates are drawn last, above the others
        candidates.sort_by_key(|c| c.list != "none");
        let dots = candidates
            .into_iter()
            .map(|c| Dot {
                x: per_cent(c.relevance / most),
                y: format!("{:.1}", y(c.lean)),
                list: c.list,
                is_relevant: c.is_relevant,
                title: c.title,
                href: c.href,
            })
            .collect();
        let zero = y(0.0);
        Some(Scatter {
            dots,
            most: format!("{most:.2}"),
            highest: difference(highest),
            lowest: difference(lowest),
            zero: format!("{zero:.1}"),
            labels_zero: (LABEL_HEIGHT..=SCATTER_HEIGHT - LABEL_HEIGHT).contains(&zero),
        })
    }
}

/// A plot of scores by rank, with a bar for each text.
#[derive(Debug)]
pub(crate) struct Scores {
    pub bars: Vec<ScoreBar>,
    pub width: String,
    pub highest: String,
    pub lowest: String,
}

/// The bar of a result.
#[derive(Debug)]
pub(crate) struct ScoreBar {
    pub x: String,
    pub height: String,
    pub class: &'static str,
    pub title: String,
}

/// The height of the bar of the highest score, and of that of the lowest score, which must be visible.
pub(crate) const SCORES_HEIGHT: f64 = 80.0;
const LOWEST_BAR: f64 = 4.0;

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
        let count = results.len() as f64;
        let rise = (SCORES_HEIGHT - LOWEST_BAR) / (highest - lowest);
        let bars: Vec<ScoreBar> = results
            .into_iter()
            .enumerate()
            .map(|(n, (score, class, title))| ScoreBar {
                x: per_cent(n as f64 / count),
                height: format!("{:.1}", LOWEST_BAR + rise * (score - lowest)),
                class,
                title,
            })
            .collect();
        Some(Scores {
            width: per_cent(0.75 / count),
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
            name: "7".into(),
            title: String::new(),
            values,
            against: Some(2.0),
        };
        let columns = Columns::new(vec![column(vec![0.5, 0.25]); 1], Some(0.5), 0);
        assert_eq!(
            columns.bars[0].parts,
            [("50.0".into(), 0), ("25.0".into(), 1)]
        );
        assert_eq!(columns.bars[0].tick.as_deref(), Some("100.0"));
        assert_eq!(columns.mean.as_deref(), Some("50.0"));
        // few columns are not spread over a wide page, and names of many do not overlap
        let of = |count| Columns::new(vec![column(vec![0.5]); count], None, 2);
        assert_eq!(of(2).width, 128);
        assert_eq!(of(2).bars[1].middle, "75.00");
        assert_eq!(of(2).bars[0].parts, [("50.0".into(), 2)]);
        let named = |count: usize| of(count).bars.iter().filter(|b| b.name.is_some()).count();
        for count in [2, 50, 100, 300] {
            let width = named(count) as u32 * NAME_WIDTH;
            assert!(width <= of(count).width + NAME_WIDTH, "{count}");
            assert!(named(count) >= 2.min(count), "{count}");
        }
        assert_eq!((named(50), named(100)), (50, 50));
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
                ("none", "0.00", "60.0"),
                ("pro", "50.00", "0.0"),
                ("con", "100.00", "180.0")
            ]
        );
        assert!(Scatter::new(Vec::new()).is_none());
    }
}
