//! Divides the text in a picture into sections: its columns, panels and captions, each with the heading that names its side.
//!
//! A picture can contain opposite texts side by side. Read as one text, they contradict each other; read section by section, one supports the
//! claim and another one attacks it. The evidence has blocks of text; this module combines those below a heading such as "PROS".

use std::sync::LazyLock;

use riposte_claims::words::alphanumeric_words;

use crate::evidence::ocr::{OcrLine, TextBlock, blocks};

/// Maximum number of sections of a picture that are read.
const SECTIONS: usize = 8;

/// Minimum number of words of a section that is read by itself.
const SECTION_WORDS: usize = 4;

/// Maximum number of words of a heading.
const HEADING_WORDS: usize = 6;

/// Words in the headings of arguments for a subject, at the beginning of a line or as the complete line.
static SUPPORTING: LazyLock<Vec<&str>> =
    LazyLock::new(|| include_str!("sections/supporting.txt").lines().collect());

/// Words in the headings of arguments against a subject.
static ATTACKING: LazyLock<Vec<&str>> =
    LazyLock::new(|| include_str!("sections/attacking.txt").lines().collect());

/// Words that are headings only if they are the complete line, or follow one of [`BEFORE_SIDE`].
const SUPPORTING_ALONE: [&str; 6] = ["pro", "for", "yes", "agree", "favour", "favor"];
const ATTACKING_ALONE: [&str; 4] = ["con", "against", "no", "disagree"];

/// Words before "for" and "against" in a heading: "arguments against".
const BEFORE_SIDE: [&str; 6] = ["arguments", "argument", "reasons", "case", "points", "in"];

/// Words after which a heading names its subject: "benefits of zoos".
const BEFORE_SUBJECT: [&str; 3] = ["of", "to", "for"];

/// A heading that names the side of the text below it.
#[derive(Clone, Debug, PartialEq)]
pub struct Heading {
    pub text: String,
    /// Whether the text below argues for the subject rather than against it.
    pub supports: bool,
}

/// A part of the text in a picture that is read by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    pub heading: Option<Heading>,
    /// The text, without the heading.
    pub text: String,
}

/// The text in a picture, divided into sections.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sections {
    /// The text above all headings, which names the subject; empty if there is no such text or no heading.
    pub title: String,
    /// The sections in reading order, at most eight. Empty if there are fewer than two and none has a heading; then the text is not divided.
    pub sections: Vec<Section>,
}

impl Sections {
    /// The sections of the lines that were read in a picture.
    pub fn of(lines: &[OcrLine]) -> Sections {
        let blocks: Vec<SectionBlock> = blocks(lines).flat_map(SectionBlock::of).collect();
        let headings: Vec<&SectionBlock> = blocks.iter().filter(|b| b.heading.is_some()).collect();
        let top = headings
            .iter()
            .map(|heading| heading.top)
            .fold(f32::INFINITY, f32::min);
        let mut title = String::new();
        // the position of the section's heading in `headings`, and its text
        let mut found: Vec<(Option<usize>, String)> = Vec::new();
        for block in blocks.iter().filter(|block| block.heading.is_none()) {
            let heading = block.heading_above(&headings);
            if heading.is_none() && !headings.is_empty() && block.bottom <= top {
                append(&mut title, &block.text);
            } else if let Some(at) = heading
                && let Some((_, text)) = found.iter_mut().find(|(of, _)| *of == Some(at))
            {
                append(text, &block.text);
            } else {
                found.push((heading, block.text.clone()));
            }
        }
        let mut sections: Vec<Section> = found
            .into_iter()
            .map(|(at, text)| Section {
                heading: at.and_then(|at| headings.get(at)?.heading.clone()),
                text,
            })
            .filter(|section| {
                let words = alphanumeric_words(&section.text).count();
                words >= SECTION_WORDS || section.heading.is_some() && words > 0
            })
            .collect();
        sections.truncate(SECTIONS);
        if sections.len() < 2 && sections.iter().all(|section| section.heading.is_none()) {
            sections.clear();
        }
        Sections { title, sections }
    }
}

fn append(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(more);
}

/// A block of text, or a part of it: a heading, or the lines below one.
struct SectionBlock {
    text: String,
    heading: Option<Heading>,
    left: f32,
    right: f32,
    top: f32,
    bottom: f32,
}

impl SectionBlock {
    /// The block, cut at the lines that are headings.
    fn of(block: TextBlock<'_>) -> Vec<SectionBlock> {
        let is_heading = |line: &OcrLine| heading(&line.text).is_some();
        let parts = block
            .lines
            .chunk_by(|a, b| !is_heading(a) && !is_heading(b));
        parts.map(SectionBlock::of_lines).collect()
    }

    fn of_lines(lines: &[OcrLine]) -> SectionBlock {
        let corners = || lines.iter().flat_map(|line| line.corners);
        let text = TextBlock { lines }.text();
        SectionBlock {
            heading: heading(&text),
            text,
            left: corners().map(|c| c.0).fold(f32::INFINITY, f32::min),
            right: corners().map(|c| c.0).fold(f32::NEG_INFINITY, f32::max),
            top: corners().map(|c| c.1).fold(f32::INFINITY, f32::min),
            bottom: corners().map(|c| c.1).fold(f32::NEG_INFINITY, f32::max),
        }
    }

    /// The position of the block's heading: the nearest one above the block. Among headings side by side, the one whose middle is nearest to
    /// that of the block.
    fn heading_above(&self, headings: &[&SectionBlock]) -> Option<usize> {
        let middle = |block: &SectionBlock| (block.left + block.right) / 2.0;
        let above = |heading: &&&SectionBlock| heading.top < self.top;
        let lowest = headings
            .iter()
            .filter(above)
            .max_by(|a, b| a.top.total_cmp(&b.top))?;
        let row = (0..).zip(headings).filter(|(_, heading)| {
            // headings of one row are side by side, so none is below another
            heading.top < lowest.bottom && heading.bottom > lowest.top && above(heading)
        });
        row.min_by(|(_, a), (_, b)| {
            let distance = |heading: &SectionBlock| (middle(heading) - middle(self)).abs();
            distance(a).total_cmp(&distance(b))
        })
        .map(|(at, _)| at)
    }
}

/// The heading in a line; `None` for other lines. "Pros and cons" is not a heading but a title.
fn heading(line: &str) -> Option<Heading> {
    if line.contains('\n') {
        return None;
    }
    let lower = line.to_lowercase();
    let words: Vec<&str> = alphanumeric_words(&lower).collect();
    if words.len() > HEADING_WORDS {
        return None;
    }
    let is_headed_by = |strong: &[&str], alone: &[&str]| {
        let begins = match words.as_slice() {
            [first] => strong.contains(first),
            [first, second, ..] => strong.contains(first) && BEFORE_SUBJECT.contains(second),
            [] => false,
        };
        let ends = words.len() <= 3 && words.last().is_some_and(|last| strong.contains(last));
        let whole = matches!(words.as_slice(), [only] if alone.contains(only));
        let follows = words
            .array_windows()
            .take(2)
            .any(|[before, side]| BEFORE_SIDE.contains(before) && alone.contains(side));
        begins || ends || whole || follows
    };
    let is_named = |strong: &[&str], alone: &[&str]| {
        let mut words = words.iter();
        words.any(|word| strong.contains(word) || alone.contains(word))
    };
    let supports = is_headed_by(&SUPPORTING, &SUPPORTING_ALONE);
    let attacks = is_headed_by(&ATTACKING, &ATTACKING_ALONE);
    let is_both =
        is_named(&SUPPORTING, &SUPPORTING_ALONE) && is_named(&ATTACKING, &ATTACKING_ALONE);
    (supports != attacks && !is_both).then(|| Heading {
        text: line.trim().to_owned(),
        supports,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of a block: its number, the left edge and the top in pixels. It is 30 pixels high, and 12 wide for each letter.
    fn line(block: u32, (x, y): (f32, f32), text: &str) -> OcrLine {
        let right = x + 12.0 * text.len() as f32;
        OcrLine {
            text: text.to_owned(),
            confidence: 1.0,
            corners: [(x, y), (right, y), (right, y + 30.0), (x, y + 30.0)],
            block,
        }
    }

    fn section(heading: Option<(&str, bool)>, text: &str) -> Section {
        Section {
            heading: heading.map(|(text, supports)| Heading {
                text: text.to_owned(),
                supports,
            }),
            text: text.to_owned(),
        }
    }

    #[test]
    fn blocks_below_a_heading_are_one_section() {
        // the title, then two columns with reasons in separate blocks
        let columns = [
            line(0, (100.0, 0.0), "Should zoos be closed?"),
            line(1, (60.0, 60.0), "PROS"),
            line(2, (10.0, 120.0), "bears pace"),
            line(2, (10.0, 150.0), "all day long"),
            line(3, (10.0, 220.0), "few are released"),
            line(4, (460.0, 62.0), "CONS"),
            line(5, (410.0, 120.0), "species survive"),
            line(6, (410.0, 220.0), "vets learn here"),
        ];
        let expected = Sections {
            title: "Should zoos be closed?".to_owned(),
            sections: vec![
                section(
                    Some(("PROS", true)),
                    "bears pace\nall day long\nfew are released",
                ),
                section(Some(("CONS", false)), "species survive\nvets learn here"),
            ],
        };
        assert_eq!(Sections::of(&columns), expected);
        // the same lines, read across the columns
        let mut across = columns.clone();
        across.sort_by(|a, b| (a.corners[0].1 as i32 / 20).cmp(&(b.corners[0].1 as i32 / 20)));
        for (line, block) in across.iter_mut().zip(0..) {
            line.block = block;
        }
        assert_eq!(Sections::of(&across), expected);
    }

    #[test]
    fn a_heading_in_a_block_heads_the_rest_of_it() {
        let panels = [
            line(0, (0.0, 0.0), "Arguments for"),
            line(0, (0.0, 40.0), "it is cheap"),
            line(1, (0.0, 300.0), "Arguments against"),
            line(1, (0.0, 340.0), "it is ugly"),
        ];
        assert_eq!(
            Sections::of(&panels).sections,
            [
                section(Some(("Arguments for", true)), "it is cheap"),
                section(Some(("Arguments against", false)), "it is ugly"),
            ]
        );
    }

    #[test]
    fn blocks_without_headings_are_sections_if_there_are_several() {
        let two = [
            line(0, (0.0, 0.0), "yes because it is cheap"),
            line(1, (400.0, 0.0), "no because it is ugly"),
            line(2, (0.0, 200.0), "source"),
        ];
        let expected = ["yes because it is cheap", "no because it is ugly"];
        let found = Sections::of(&two);
        assert_eq!(found.sections, expected.map(|text| section(None, text)));
        assert_eq!(found.title, "");
        assert_eq!(Sections::of(&two[..1]), Sections::default());
        assert_eq!(Sections::of(&[]), Sections::default());
    }

    #[test]
    fn headings_are_told_from_other_lines() {
        for (line, supports) in [
            ("PROS:", Some(true)),
            ("For", Some(true)),
            ("AGAINST", Some(false)),
            ("Arguments against", Some(false)),
            ("Reasons for zoos", Some(true)),
            ("In favour", Some(true)),
            ("Benefits of school uniforms", Some(true)),
            ("The Disadvantages", Some(false)),
            ("Zoo cons", Some(false)),
            ("Pros and Cons", None),
            ("For or against?", None),
            ("The case for and against zoos", None),
            ("Should zoos be closed?", None),
            ("No cars in the old town", None),
            ("People are against it", None),
            ("benefits outweigh the costs", None),
            ("", None),
        ] {
            let found = heading(line).map(|heading| heading.supports);
            assert_eq!(found, supports, "{line}");
        }
    }
}
