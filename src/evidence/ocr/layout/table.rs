//! Decides whether columns are those of a table, which is read row by row.

use super::fragment::Fragment;
use super::{Piece, median};

/// Minimum share of a column's cells that are numbers, or labels that end with a colon.
const SHARE: f32 = 0.6;
/// Minimum share of these cells that are on a row with a cell of another column.
const ALIGNED: f32 = 0.7;
/// Maximum number of characters of a number with its unit.
const NUMBER: usize = 12;
/// Cells of words make a table if there are at least this many columns, if the median cell has at most this many characters…
const WORDS: (usize, usize) = (3, 14);
/// …and if its rows are at least this many line heights apart, unlike lines of a paragraph.
const ROW_GAP: f32 = 0.5;

/// Whether these columns are a table: one of them consists of numbers or of labels that end with a colon, or there are at least three columns of
/// short words on loose rows.
pub(super) fn is_table(columns: &[Vec<Piece>], fragments: &[Fragment]) -> bool {
    let text = |piece: &Piece| -> String {
        let parts = piece.fragments.iter();
        parts.map(|&at| fragments[at].text.as_str()).collect()
    };
    let is_on_row = |at: usize, cell: &Piece| {
        let others = columns.iter().enumerate().filter(|(other, _)| *other != at);
        let mut others = others.flat_map(|(_, column)| column);
        others.any(|other| cell.shares_row(other))
    };
    let is_column_of = |at: usize, kind: fn(&str) -> bool| {
        let column = &columns[at];
        let cells: Vec<&Piece> = column.iter().filter(|cell| kind(&text(cell))).collect();
        let on_rows = cells.iter().filter(|cell| is_on_row(at, cell)).count();
        cells.len() > 1
            && cells.len() as f32 >= SHARE * column.len() as f32
            && on_rows as f32 >= ALIGNED * cells.len() as f32
    };
    if is_column_of(0, |text| text.ends_with(':'))
        || (0..columns.len()).any(|at| is_column_of(at, is_number))
    {
        return true;
    }
    let cells = || columns.iter().flatten();
    let lengths = cells().map(|cell| text(cell).chars().count() as f32);
    let mut lengths: Vec<f32> = lengths.collect();
    let neighbours = columns.iter().flat_map(|column| column.array_windows());
    let gaps = neighbours.map(|[a, b]| (b.top - a.bottom) / a.size.min(b.size));
    let mut gaps: Vec<f32> = gaps.collect();
    let on_rows = (0..columns.len())
        .flat_map(|at| columns[at].iter().filter(move |cell| is_on_row(at, cell)));
    columns.len() >= WORDS.0
        && gaps.len() > columns.len()
        && median(&mut lengths) <= WORDS.1 as f32
        && median(&mut gaps) >= ROW_GAP
        && on_rows.count() as f32 >= ALIGNED * cells().count() as f32
}

/// Whether a text is a number, with or without a unit: "45 %", "$1,200", "3.5M", "(1990)".
fn is_number(text: &str) -> bool {
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let others = text.chars().filter(|c| c.is_alphabetic()).count();
    digits > 0 && others <= digits && text.chars().count() <= NUMBER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_more_digits_than_letters() {
        for text in ["45 %", "$1,200", "3.5M", "(1990)", "-0.2"] {
            assert!(is_number(text), "{text}");
        }
        for text in ["", "%", "Route 66", "4 of 5 doctors", "1,000,000,000,000"] {
            assert!(!is_number(text), "{text}");
        }
    }
}
