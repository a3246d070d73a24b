//! The coordinates of the plots, which the templates draw as SVG.

use super::words::difference;

/// A horizontal coordinate, in per cent of the width: a plot is as wide as its page, and letters keep their size. Vertical coordinates are in pixels.
fn per_cent(share: f64) -> String {
    format!("{:.2}", 100.0 * share)
}

/// A plot with a column for each topic.
pub(crate) struct ColumnChart {
    /// The width of the plot in pixels, if the page is as wide.
    pub width: u32,
    /// Whether all names can be read in a narrow window.
    pub is_few: bool,
    /// The width of a bar.
    pub bar: String,
    /// From left to right: where the bar of a column begins, its middle, and its data.
    pub columns: Vec<(String, String, TopicColumn)>,
    /// The value at which a line is drawn.
    pub mean: Option<f64>,
}

/// A topic's column.
#[derive(Clone)]
pub(crate) struct TopicColumn {
    pub href: String,
    /// The topic's number; `None` where names would overlap.
    pub name: Option<String>,
    pub title: String,
    /// The value of each measure, in [0, 1], the largest first. Their bars stand in front of each other.
    pub values: Vec<f64>,
    /// The other run's value of the last measure.
    pub against: Option<f64>,
}

/// The height of the value 1.
const HEIGHT: f64 = 100.0;

/// The width of a bar as a share of its column.
const BAR: f64 = 0.66;

/// The width of all columns in pixels, and the smallest and the largest width of a column.
const COLUMNS_WIDTH: u32 = 1_100;
const MIN_STEP: u32 = 7;
const TOP_STEP: u32 = 64;

/// The width of a plot in a narrow window, in pixels.
const NARROW: u32 = 300;

/// The width of a name below a column, in pixels.
const NAME_WIDTH: u32 = 22;

/// The maximum number of characters of such a name.
const NAME: usize = 4;

impl ColumnChart {
    /// Lays out the columns, from left to right.
    pub fn new(columns: Vec<TopicColumn>, mean: Option<f64>) -> ColumnChart {
        let count = columns.len().max(1);
        let step = (COLUMNS_WIDTH / count as u32).clamp(MIN_STEP, TOP_STEP);
        let each_named = NAME_WIDTH.div_ceil(step) as usize;
        let of_all = |columns: f64| per_cent(columns / count as f64);
        let columns = columns.into_iter().enumerate().map(|(n, mut column)| {
            let is_named = |name: &String| n % each_named == 0 && name.chars().count() <= NAME;
            column.name = column.name.filter(is_named);
            let (bar, middle) = (n as f64 + (1.0 - BAR) / 2.0, n as f64 + 0.5);
            (of_all(bar), of_all(middle), column)
        });
        ColumnChart {
            columns: columns.collect(),
            width: count as u32 * step,
            is_few: count as u32 * NAME_WIDTH <= NARROW,
            bar: of_all(BAR),
            mean,
        }
    }

    /// The height of a value.
    pub fn up(&self, value: &f64) -> String {
        format!("{:.1}", HEIGHT * value.clamp(0.0, 1.0))
    }
}

/// A plot of candidates: relevance from left to right, P(pro) - P(con) from bottom to top.
pub(crate) struct Scatter {
    pub candidates: Vec<PlottedCandidate>,
    /// The values at the right, upper and lower ends.
    pub most: f64,
    pub highest: f64,
    pub lowest: f64,
}

/// A candidate in the plot.
pub(crate) struct PlottedCandidate {
    pub relevance: f64,
    /// P(pro) - P(con).
    pub lean: f64,
    /// The list that contains it: "pro", "con" or "none".
    pub list: &'static str,
    /// Whether it was judged to be on topic.
    pub is_relevant: bool,
    pub title: String,
    pub href: Option<String>,
}

/// The height of the area for dots.
const SCATTER_HEIGHT: f64 = 180.0;

/// The smallest vertical distance of two labels.
const LABEL_HEIGHT: f64 = 16.0;

impl Scatter {
    /// `None` if there are fewer than three candidates, or all are alike.
    pub fn new(mut candidates: Vec<PlottedCandidate>) -> Option<Scatter> {
        let most = candidates.iter().map(|c| c.relevance).fold(0.0, f64::max);
        let highest = candidates.iter().map(|c| c.lean).fold(0.0, f64::max);
        let lowest = candidates.iter().map(|c| c.lean).fold(0.0, f64::min);
        // dots of listed candidates are drawn last, above the others
        candidates.sort_by_key(|c| c.list != "none");
        (candidates.len() >= 3 && most > 0.0 && highest > lowest).then_some(Scatter {
            candidates,
            most,
            highest,
            lowest,
        })
    }

    pub fn height(&self) -> f64 {
        SCATTER_HEIGHT
    }

    pub fn x(&self, candidate: &PlottedCandidate) -> String {
        per_cent(candidate.relevance / self.most)
    }

    pub fn y(&self, lean: &f64) -> f64 {
        SCATTER_HEIGHT * (self.highest - lean) / (self.highest - self.lowest)
    }

    pub fn zero(&self) -> f64 {
        self.y(&0.0)
    }

    /// Whether 0 has a label; near the ends it would overlap with their labels.
    pub(crate) fn labels_zero(&self) -> bool {
        (LABEL_HEIGHT..=SCATTER_HEIGHT - LABEL_HEIGHT).contains(&self.zero())
    }

    pub fn label(&self, lean: &f64) -> String {
        difference(*lean)
    }
}

/// A plot of scores by rank, with a bar for each text.
pub(crate) struct Scores {
    /// In rank order: the score, the CSS class and the title of each.
    pub results: Vec<(f64, &'static str, String)>,
    pub highest: f64,
    pub lowest: f64,
}

/// The height of the bar of the highest score, and of that of the lowest score, which must be visible.
const SCORES_HEIGHT: f64 = 80.0;
const LOWEST_BAR: f64 = 4.0;

impl Scores {
    /// `None` if there are fewer than three results, or all scores are equal.
    pub fn new(results: Vec<(f64, &'static str, String)>) -> Option<Scores> {
        let scores = || results.iter().map(|(score, ..)| *score);
        let highest = scores().fold(f64::NEG_INFINITY, f64::max);
        let lowest = scores().fold(f64::INFINITY, f64::min);
        (results.len() >= 3 && highest > lowest).then_some(Scores {
            results,
            highest,
            lowest,
        })
    }

    pub fn height(&self) -> f64 {
        SCORES_HEIGHT
    }

    pub fn width(&self) -> String {
        per_cent(0.75 / self.results.len() as f64)
    }

    /// Where the bar of a result begins.
    pub fn x(&self, number: &usize) -> String {
        per_cent(*number as f64 / self.results.len() as f64)
    }

    pub fn up(&self, score: &f64) -> String {
        let rise = (SCORES_HEIGHT - LOWEST_BAR) / (self.highest - self.lowest);
        format!("{:.1}", LOWEST_BAR + rise * (score - self.lowest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_nest_and_stay_inside() {
        let column = |values: Vec<f64>| TopicColumn {
            href: String::new(),
            name: Some("7".into()),
            title: String::new(),
            values,
            against: Some(2.0),
        };
        let columns = ColumnChart::new(vec![column(vec![0.5, 0.25])], Some(0.5));
        let heights = [0.5, 0.25, 2.0].map(|value| columns.up(&value));
        assert_eq!(heights, ["50.0", "25.0", "100.0"]);
        // few columns are not spread over a wide page, and names of many do not overlap
        let of = |count| ColumnChart::new(vec![column(vec![0.5]); count], None);
        assert_eq!(of(2).width, 128);
        assert_eq!(of(2).columns[1].1, "75.00");
        let is_named = |(_, _, column): &&(String, String, TopicColumn)| column.name.is_some();
        let named = |count: usize| of(count).columns.iter().filter(is_named).count();
        for count in [2, 50, 100, 300] {
            let width = named(count) as u32 * NAME_WIDTH;
            assert!(width <= of(count).width + NAME_WIDTH, "{count}");
            assert!(named(count) >= 2.min(count), "{count}");
        }
        assert_eq!((named(50), named(100)), (50, 50));
    }

    #[test]
    fn pro_is_above_and_the_most_relevant_right() {
        let candidate = |relevance: f64, lean: f64, list| PlottedCandidate {
            relevance,
            lean,
            list,
            is_relevant: false,
            title: String::new(),
            href: None,
        };
        let plot = Scatter::new(vec![
            candidate(0.5, 0.25, "pro"),
            candidate(1.0, -0.5, "con"),
            candidate(0.0, 0.0, "none"),
        ])
        .unwrap();
        let places: Vec<_> = plot
            .candidates
            .iter()
            .map(|c| (c.list, plot.x(c), plot.y(&c.lean)))
            .collect();
        assert_eq!(
            places,
            [
                ("none", "0.00".into(), 60.0),
                ("pro", "50.00".into(), 0.0),
                ("con", "100.00".into(), 180.0)
            ]
        );
        assert!(Scatter::new(Vec::new()).is_none());
    }
}
