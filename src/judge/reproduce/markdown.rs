//! Writes a report as a Markdown page.

use std::fmt::Write as _;

use riposte_eval::escaped;

use super::report::{Figure, ReproduceReport, RowReport, RowState, TableReport};

/// The page. Each table has a heading of its own.
pub(super) fn write(report: &ReproduceReport) -> String {
    let mut page = String::new();
    for table in &report.tables {
        if !page.is_empty() {
            page.push('\n');
        }
        write_table(&mut page, table);
    }
    page
}

fn write_table(page: &mut String, table: &TableReport) {
    let topics = table.rows.iter().flat_map(|row| &row.figures);
    let topics = topics.map(|figure| figure.topics).max().unwrap_or(0);
    let topics = match topics {
        0 => String::new(),
        1 => " 1 topic.".to_owned(),
        n => format!(" {n} topics."),
    };
    // a writer of strings does not fail
    let _ = writeln!(
        page,
        "### {}\n\n{}.{topics}",
        text(&table.name),
        text(&table.about)
    );
    if let Some(why) = &table.absent {
        let _ = writeln!(page, "\nNot measured here: {}.", text(why));
    }
    let is_published = |column: &String| {
        let figures = table.rows.iter().flat_map(|row| &row.figures);
        let mut of_column = figures.filter(|figure| figure.column == *column);
        of_column.any(|figure| figure.published.is_some())
    };
    let mut heads = vec!["".to_owned()];
    for column in &table.columns {
        heads.push(text(column));
        if is_published(column) {
            heads.push("published".to_owned());
        }
    }
    heads.extend([
        "index".to_owned(),
        "ranking".to_owned(),
        "memory".to_owned(),
        "".to_owned(),
    ]);
    let _ = writeln!(page, "\n| {} |", heads.join(" | "));
    let _ = writeln!(page, "|{}", "---|".repeat(heads.len()));
    for row in &table.rows {
        let mut cells = vec![name(row)];
        for (figure, column) in row.figures.iter().zip(&table.columns) {
            cells.push(measured(figure, row));
            if is_published(column) {
                cells.push(published(figure));
            }
        }
        let took = row.took.as_ref();
        cells.push(took.map_or(String::new(), |took| seconds(took.preparing)));
        cells.push(took.map_or(String::new(), |took| seconds(took.ranking)));
        let peak = took.and_then(|took| took.peak_kilobytes);
        cells.push(peak.map_or(String::new(), |kb| format!("{} MB", kb / 1000)));
        cells.push(state(row, table));
        let _ = writeln!(page, "| {} |", cells.join(" | "));
    }
    let by = table.rows.iter().filter_map(|row| row.by.as_deref());
    let mut sources: Vec<&str> = by.collect();
    sources.dedup();
    if !sources.is_empty() {
        let sources: Vec<String> = sources.into_iter().map(text).collect();
        let _ = writeln!(page, "\nPublished: {}.", sources.join("; "));
    }
}

/// The approach, and the system that it rebuilds.
fn name(row: &RowReport) -> String {
    let system = row.system.as_deref().map(text);
    match (row.name.is_empty(), system) {
        (false, Some(system)) => format!("{} ({system})", text(&row.name)),
        (false, None) => text(&row.name),
        (true, system) => system.unwrap_or_default(),
    }
}

/// The measured value with its interval; where nothing could be measured, what was measured before, in brackets.
fn measured(figure: &Figure, row: &RowReport) -> String {
    match (figure.value, figure.interval, figure.expected) {
        (Some(value), Some((low, high)), _) => {
            let value = number(value);
            let value = match figure.moved {
                true => format!("**{value}**"),
                false => value,
            };
            format!("{value} [{}, {}]", short(low), short(high))
        }
        (_, _, Some(expected)) => format!("({})", number(expected)),
        _ if row.name.is_empty() => String::new(),
        _ => "unknown".to_owned(),
    }
}

/// The published value, and how much the measured one differs.
fn published(figure: &Figure) -> String {
    match (figure.published, figure.value) {
        (Some(published), Some(value)) => {
            let difference = value - published;
            let sign = match difference {
                same if same.abs() < 0.0005 => "",
                less if less < 0.0 => "−",
                _ => "+",
            };
            let difference = short(difference.abs());
            format!("{} ({sign}{difference})", shortest(published))
        }
        (Some(published), None) => shortest(published),
        _ => String::new(),
    }
}

fn state(row: &RowReport, table: &TableReport) -> String {
    let has_published = row.figures.iter().any(|figure| figure.published.is_some());
    let has_expected = row.figures.iter().any(|figure| figure.expected.is_some());
    let word = match (row.state, has_expected, has_published) {
        (RowState::Measured, ..) => "measured by us",
        (RowState::Moved, ..) => "measured by us, **moved**",
        (RowState::Failed, ..) => "failed",
        (RowState::Waiting, ..) => "not measured yet",
        (RowState::Absent, true, _) => "measured by us, not here",
        // no approach rebuilds the system
        (RowState::Absent, _, true) if row.name.is_empty() => "published, not rebuilt",
        (RowState::Absent, _, true) => "published",
        (RowState::Absent, ..) => "cannot be had here",
    };
    match &row.why {
        // said above the table
        Some(why) if table.absent.as_ref() != Some(why) => format!("{word}: {}", text(why)),
        _ => word.to_owned(),
    }
}

/// `.4136`, and `1.2000`.
fn number(value: f64) -> String {
    without_zero(&format!("{value:.4}"))
}

/// `.414`.
fn short(value: f64) -> String {
    without_zero(&format!("{value:.3}"))
}

/// As many decimals as the publication has, but at least three.
fn shortest(value: f64) -> String {
    let text = value.to_string();
    let decimals = text
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    without_zero(&format!("{value:.*}", decimals.max(3)))
}

fn without_zero(number: &str) -> String {
    match number.strip_prefix('0') {
        Some(decimals) => decimals.to_owned(),
        None => number.to_owned(),
    }
}

fn seconds(seconds: f64) -> String {
    match seconds {
        few if few < 10.0 => format!("{few:.1} s"),
        some if some < 600.0 => format!("{some:.0} s"),
        many => format!("{:.0} min", many / 60.0),
    }
}

/// A text that cannot break out of its cell.
fn text(text: &str) -> String {
    escaped(text)
        .to_string()
        .replace('|', "\\|")
        .replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::super::report::Took;
    use super::*;

    fn figure(value: Option<f64>, expected: Option<f64>, published: Option<f64>) -> Figure {
        Figure {
            column: "AP".to_owned(),
            value,
            interval: value.map(|value| (value - 0.1, value + 0.1)),
            topics: 3,
            expected,
            published,
            moved: value.zip(expected).is_some_and(|(a, b)| a != b),
        }
    }

    fn row(name: &str, state: RowState, figure: Figure, why: Option<&str>) -> RowReport {
        RowReport {
            name: name.to_owned(),
            system: None,
            by: figure.published.map(|_| "Nobody | 1999".to_owned()),
            state,
            why: why.map(str::to_owned),
            command: None,
            figures: vec![figure],
            took: matches!(state, RowState::Measured).then_some(Took {
                preparing: 0.25,
                ranking: 61.0,
                peak_kilobytes: Some(220_999),
            }),
        }
    }

    #[test]
    fn a_cell_says_what_was_measured_expected_and_published() {
        let rows = vec![
            row(
                "a",
                RowState::Measured,
                figure(Some(0.25), None, Some(0.2)),
                None,
            ),
            row(
                "b",
                RowState::Moved,
                figure(Some(0.25), Some(0.5), None),
                Some("AP is .25 and was .5"),
            ),
            row(
                "c|<b>",
                RowState::Absent,
                figure(None, Some(0.5), None),
                Some("gone"),
            ),
            row(
                "d",
                RowState::Absent,
                figure(None, None, Some(0.6789)),
                Some("gone"),
            ),
            row(
                "e",
                RowState::Absent,
                figure(None, None, None),
                Some("no model"),
            ),
        ];
        let table = TableReport {
            name: "lions".to_owned(),
            about: "About lions".to_owned(),
            task: "rank".to_owned(),
            dataset: None,
            absent: Some("gone".to_owned()),
            columns: vec!["AP".to_owned()],
            rows,
        };
        let page = write(&ReproduceReport {
            riposte: String::new(),
            tables: vec![table],
        });
        let expected = "### lions

About lions. 3 topics.

Not measured here: gone.

|  | AP | published | index | ranking | memory |  |
|---|---|---|---|---|---|---|
| a | .2500 [.150, .350] | .200 (+.050) | 0.2 s | 61 s | 220 MB | measured by us |
| b | **.2500** [.150, .350] |  |  |  |  | measured by us, **moved**: AP is .25 and was .5 |
| c\\|&lt;b> | (.5000) |  |  |  |  | measured by us, not here |
| d | unknown | .6789 |  |  |  | published |
| e | unknown |  |  |  |  | cannot be had here: no model |

Published: Nobody \\| 1999.
";
        assert_eq!(page, expected);
    }
}
