//! Blocks of text: the columns, panels, headings and captions of an image.

use super::OcrLine;

/// Lines that are read together: a column, a panel, a heading, a caption.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextBlock<'a> {
    /// The lines in reading order. There is at least one.
    pub lines: &'a [OcrLine],
}

impl TextBlock<'_> {
    /// The text of the block, line by line. If a hyphen breaks a word at the end of a line, and the rest begins with a lower-case letter, the whole
    /// word is put on the line where it begins.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for line in self.lines {
            let mut words = line.text.trim();
            if let Some(beginning) = broken_word(&text)
                && words.starts_with(char::is_lowercase)
            {
                text.truncate(beginning);
                let (rest, others) = words.split_once(' ').unwrap_or((words, ""));
                text.push_str(rest);
                words = others.trim_start();
            }
            if !text.is_empty() && !words.is_empty() {
                text.push('\n');
            }
            text.push_str(words);
        }
        text
    }
}

/// The position of the hyphen, in bytes, if `text` ends with one that follows a letter.
fn broken_word(text: &str) -> Option<usize> {
    let beginning = text.strip_suffix(['-', '\u{ad}', '\u{2010}'])?;
    let is_word = beginning.ends_with(char::is_alphabetic);
    is_word.then_some(beginning.len())
}

/// The blocks of an image's lines, in reading order. `lines` are in reading order, too.
pub fn blocks(lines: &[OcrLine]) -> impl Iterator<Item = TextBlock<'_>> {
    lines
        .chunk_by(|a, b| a.block == b.block)
        .map(|lines| TextBlock { lines })
}

/// The texts of the blocks ([`TextBlock::text`]).
pub fn texts(lines: &[OcrLine]) -> Vec<String> {
    blocks(lines).map(|block| block.text()).collect()
}

/// The texts of the lines, separated by line breaks. Words that are broken at the end of a line are joined
/// ([`TextBlock::text`]).
pub fn ocr_text(lines: &[OcrLine]) -> String {
    texts(lines).join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(block: u32, text: &str) -> OcrLine {
        OcrLine {
            text: text.to_owned(),
            confidence: 1.0,
            corners: [(0.0, 0.0); 4],
            block,
        }
    }

    #[test]
    fn lines_of_one_block_are_one_text() {
        let lines = [
            line(0, "Pros"),
            line(1, "It is cheap."),
            line(1, "So what?"),
        ];
        assert_eq!(texts(&lines), ["Pros", "It is cheap.\nSo what?"]);
        assert!(texts(&[]).is_empty());
    }

    #[test]
    fn a_word_that_a_hyphen_breaks_is_joined() {
        let lines = [
            line(0, "How could she ex-"),
            line(0, "plain it, or the argu-"),
            line(0, "ments?"),
        ];
        assert_eq!(
            texts(&lines),
            ["How could she explain\nit, or the arguments?"]
        );
    }

    #[test]
    fn other_hyphens_stay() {
        // before a capital letter or a digit, after a blank or a digit, and at the end of a block
        for (first, second) in [
            ("the non-", "European"),
            ("1914-", "1918"),
            ("cheap -", "but dirty"),
            ("7-", "fold"),
        ] {
            let lines = [line(0, first), line(0, second)];
            assert_eq!(texts(&lines), [format!("{first}\n{second}")]);
        }
        assert_eq!(
            texts(&[line(0, "argu-"), line(1, "ments")]),
            ["argu-", "ments"]
        );
    }
}
