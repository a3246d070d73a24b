//! The terminal that results are printed on.

use std::fmt;

use console::Term;
use riposte_page::words::labelled;

pub(super) use riposte::wording::counted;

/// Columns of a table that is printed to a file or a pipe.
const WIDTH: usize = 80;

/// Maximum number of columns of prose.
const WIDEST: usize = 100;

/// Columns of a table: those of the terminal, if standard output is a terminal.
pub(super) fn width() -> usize {
    let size = Term::stdout().size_checked();
    size.map_or(WIDTH, |(_, columns)| usize::from(columns))
}

/// Whether results are printed to a terminal, whose lines end, and not to a file or a program.
pub(super) fn is_terminal() -> bool {
    Term::stdout().is_term()
}

/// Whether tables have colours: on a terminal that shows them, unless NO_COLOR is set.
pub(super) fn has_colours() -> bool {
    console::colors_enabled()
}

/// What is printed at a width, with colours if the terminal has them.
pub(super) fn laid_out(what: &dyn fmt::Display, width: usize) -> String {
    match has_colours() {
        true => format!("{what:#width$}"),
        false => format!("{what:width$}"),
    }
}

/// A text in a colour, if tables have colours.
pub(super) fn painted(text: &str, paint: impl FnOnce(console::Style) -> console::Style) -> String {
    let style = paint(console::Style::new()).force_styling(has_colours());
    style.apply_to(text).to_string()
}

/// Columns of prose.
pub(super) fn prose_width() -> usize {
    width().min(WIDEST)
}

/// The beginning of a text, in a single line that fits the terminal.
pub(super) fn one_line(text: &str) -> String {
    let most = prose_width();
    if text.chars().count() <= most {
        return format!("{text}\n");
    }
    let start: String = text.chars().take(most - 1).collect();
    let whole = start.rfind(' ').and_then(|end| start.get(..end));
    let end = [',', ';', ':', ' '];
    format!("{}…\n", whole.unwrap_or(&start).trim_end_matches(end))
}

/// A text in indented lines that fit the terminal. Only a line with a single word can be longer.
pub(super) fn wrapped(text: &str, indent: usize) -> String {
    labelled(&" ".repeat(indent), text, prose_width()) + "\n"
}
