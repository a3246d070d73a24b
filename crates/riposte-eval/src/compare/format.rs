//! Writes a table as text, in Markdown or in LaTeX.

use std::fmt;
use std::ops::Range;

/// How a table is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableFormat {
    /// For a terminal.
    #[default]
    Text,
    /// A table of GitHub's Markdown.
    Markdown,
    /// A `table` with the rules of the package booktabs.
    Latex,
}

/// How a terminal shows a text, as the parameter of the escape sequence `CSI … m`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Style {
    #[default]
    Plain = 0,
    Bold = 1,
    Dim = 2,
    Green = 32,
}

/// What a table shows of one row in one column.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    pub text: String,
    pub style: Style,
    /// Whether the value is the best of its column; `None` if the cell has no value.
    pub is_best: Option<bool>,
    /// The letters of the runs that are worse, from a to z.
    pub letters: String,
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell {
            text,
            ..Cell::default()
        }
    }
}

/// The superscripts of the letters from a to z.
const SUPERSCRIPTS: [char; 26] = [
    'ᵃ', 'ᵇ', 'ᶜ', 'ᵈ', 'ᵉ', 'ᶠ', 'ᵍ', 'ʰ', 'ⁱ', 'ʲ', 'ᵏ', 'ˡ', 'ᵐ', 'ⁿ', 'ᵒ', 'ᵖ', '𐞥', 'ʳ', 'ˢ',
    'ᵗ', 'ᵘ', 'ᵛ', 'ʷ', 'ˣ', 'ʸ', 'ᶻ',
];

/// A table that can be written.
pub(super) struct Grid<'a> {
    pub caption: Option<&'a str>,
    /// The title of the column of names.
    pub title: &'a str,
    /// The name of each row.
    pub names: &'a [String],
    pub columns: &'a [String],
    /// The cells of each row, one per column. Rows without any text are left out.
    pub cells: Vec<Vec<Cell>>,
    /// The least width of a column, in characters.
    pub narrowest: usize,
}

fn length(text: &str) -> usize {
    text.chars().count()
}

impl Grid<'_> {
    pub fn write(&self, f: &mut fmt::Formatter<'_>, format: TableFormat) -> fmt::Result {
        match format {
            TableFormat::Text => self.write_text(f),
            TableFormat::Markdown => self.write_markdown(f),
            TableFormat::Latex => self.write_latex(f),
        }
    }

    /// The names and cells of the rows, of these columns alone.
    fn rows(&self, block: Range<usize>) -> impl Iterator<Item = (&str, &[Cell])> {
        let names = self.names.iter().map(String::as_str);
        let rows = names.zip(self.cells.iter().map(move |cells| &cells[block.clone()]));
        rows.filter(|(_, cells)| cells.iter().any(|cell| !cell.text.is_empty()))
    }

    fn write_text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = f.width();
        for line in self.caption.iter().flat_map(|of| wrapped(of, width)) {
            writeln!(f, "{line}")?;
        }
        let lengths = self.names.iter().map(String::as_str).chain([self.title]);
        let name_width = lengths.map(length).max().unwrap_or(0);
        let letters = self.cells.iter().flatten().map(|cell| cell.letters.len());
        let letters = letters.max().unwrap_or(0);
        let width_of = |at: usize| length(&self.columns[at]).max(self.narrowest + letters);
        let colours = f.alternate();
        let styled = |text: String, style: Style| match colours && style != Style::Plain {
            true => format!("\x1b[{}m{text}\x1b[0m", style as u8),
            false => text,
        };
        let mut rest = 0..self.columns.len();
        loop {
            let mut used = name_width;
            let fitting = rest.clone().take_while(|at| {
                used += 2 + width_of(*at);
                f.width().is_none_or(|width| used <= width)
            });
            let fitting = fitting.count().max(1).min(rest.len());
            let block = rest.start..rest.start + fitting;
            let mut titles = format!("{:<name_width$}", self.title);
            for at in block.clone() {
                titles += &format!("  {:>width$}", self.columns[at], width = width_of(at));
            }
            writeln!(f, "{}", styled(titles, Style::Bold))?;
            for (name, cells) in self.rows(block.clone()) {
                write!(f, "{name:<name_width$}")?;
                for (at, cell) in block.clone().zip(cells) {
                    let text = cell.as_text(letters);
                    let text = format!("{text:>width$}", width = width_of(at));
                    write!(f, "  {}", styled(text, cell.style))?;
                }
                writeln!(f)?;
            }
            rest.start = block.end;
            if rest.is_empty() {
                return Ok(());
            }
            writeln!(f)?;
        }
    }

    fn write_markdown(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(caption) = self.caption {
            writeln!(f, "{}\n", in_markdown(caption))?;
        }
        write!(f, "| {} |", self.title)?;
        for column in self.columns {
            write!(f, " {} |", in_markdown(column))?;
        }
        writeln!(f, "\n|---|{}", "---:|".repeat(self.columns.len()))?;
        for (name, cells) in self.rows(0..self.columns.len()) {
            write!(f, "| {} |", in_markdown(name.trim()))?;
            for cell in cells {
                let text = in_markdown(&cell.text);
                match cell.is_best {
                    Some(true) => write!(f, " **{text}**")?,
                    _ => write!(f, " {text}")?,
                }
                if !cell.letters.is_empty() {
                    write!(f, "<sup>{}</sup>", cell.letters)?;
                }
                write!(f, " |")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }

    fn write_latex(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\\begin{{table}}\n\\centering")?;
        if let Some(caption) = self.caption {
            writeln!(f, "\\caption{{{}}}", in_latex(caption))?;
        }
        let columns = "r".repeat(self.columns.len());
        writeln!(f, "\\begin{{tabular}}{{l{columns}}}\n\\toprule")?;
        write!(f, "{}", self.title)?;
        for column in self.columns {
            write!(f, " & {}", in_latex(column))?;
        }
        writeln!(f, " \\\\\n\\midrule")?;
        for (name, cells) in self.rows(0..self.columns.len()) {
            write!(f, "{}", in_latex(name.trim()))?;
            for cell in cells {
                let text = in_latex(&cell.text);
                match cell.is_best {
                    Some(true) => write!(f, " & \\textbf{{{text}}}")?,
                    _ => write!(f, " & {text}")?,
                }
                if !cell.letters.is_empty() {
                    write!(f, "$^{{{}}}$", cell.letters)?;
                }
            }
            writeln!(f, " \\\\")?;
        }
        writeln!(f, "\\bottomrule\n\\end{{tabular}}\n\\end{{table}}")
    }
}

impl Cell {
    /// The text, a place for the mark of the best value, and the letters, with blanks up to as many as any cell has.
    fn as_text(&self, letters: usize) -> String {
        let mut text = self.text.clone();
        match self.is_best {
            Some(true) => text.push('*'),
            Some(false) => text.push(' '),
            None => return text,
        }
        let superscript = |letter: char| {
            let at = (letter as usize).wrapping_sub('a' as usize);
            SUPERSCRIPTS.get(at).copied().unwrap_or(letter)
        };
        text.extend(self.letters.chars().map(superscript));
        text.extend(std::iter::repeat_n(
            ' ',
            letters.saturating_sub(self.letters.len()),
        ));
        text
    }
}

/// The lines of a text that is broken at blanks. A longer word has a line of its own.
fn wrapped(text: &str, width: Option<usize>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if width.is_none_or(|width| length(line) + 1 + length(word) <= width) => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Text in which Markdown sees no markup.
fn in_markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if "\\`*_{}[]<>#|&~$".contains(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

/// Text in which LaTeX sees no markup.
fn in_latex(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' => escaped.push_str("\\textbackslash{}"),
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '<' => escaped.push_str("\\textless{}"),
            '>' => escaped.push_str("\\textgreater{}"),
            '–' => escaped.push_str("--"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                escaped.push('\\');
                escaped.push(letter);
            }
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: TableFormat, width: usize) -> String {
        let cell = |text: &str, letters: &str| Cell {
            text: text.to_owned(),
            is_best: Some(text == "0.9"),
            letters: letters.to_owned(),
            ..Cell::default()
        };
        let grid = Grid {
            caption: Some("100% of <all> measures"),
            title: "run",
            names: &["my_run".to_owned(), "b|c".to_owned()],
            columns: &["P(rel=2)@5".to_owned(), "RR".to_owned()],
            cells: vec![
                vec![cell("0.9", "bc"), cell("0.1", "")],
                vec![cell("0.1", ""), cell("0.9", "a")],
            ],
            narrowest: 4,
        };
        let written = fmt::from_fn(|f| grid.write(f, format));
        format!("{written:width$}")
    }

    #[test]
    fn a_text_is_aligned_and_broken_where_it_is_too_wide() {
        let wide = "100% of <all> measures\n\
                    run     P(rel=2)@5      RR\n\
                    my_run      0.9*ᵇᶜ  0.1   \n\
                    b|c         0.1     0.9*ᵃ \n";
        assert_eq!(written(TableFormat::Text, 80), wide);
        let narrow = "100% of <all>\nmeasures\n\
                      run     P(rel=2)@5\nmy_run      0.9*ᵇᶜ\nb|c         0.1   \n\n\
                      run         RR\nmy_run  0.1   \nb|c     0.9*ᵃ \n";
        assert_eq!(written(TableFormat::Text, 18), narrow);
    }

    #[test]
    fn names_are_no_markup_in_markdown_and_latex() {
        let markdown = "100% of \\<all\\> measures\n\n\
                        | run | P(rel=2)@5 | RR |\n|---|---:|---:|\n\
                        | my\\_run | **0.9**<sup>bc</sup> | 0.1 |\n\
                        | b\\|c | 0.1 | **0.9**<sup>a</sup> |\n";
        assert_eq!(written(TableFormat::Markdown, 18), markdown);
        let latex = written(TableFormat::Latex, 18);
        for part in [
            "\\caption{100\\% of \\textless{}all\\textgreater{} measures}\n",
            "\\begin{tabular}{lrr}\n\\toprule\nrun & P(rel=2)@5 & RR \\\\\n\\midrule\n",
            "my\\_run & \\textbf{0.9}$^{bc}$ & 0.1 \\\\\n",
        ] {
            assert!(latex.contains(part), "{part} is not in {latex}");
        }
    }
}
