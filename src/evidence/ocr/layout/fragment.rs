//! Divides lines into parts, because a detector may find one line where two columns are close to each other.

use super::{MARGIN, ReadLine};
use crate::evidence::ocr::OcrLine;

/// A line may be divided at spaces of at least this width, in line heights. A space between two words is a quarter of a line high, or
/// more if the text is justified.
const WIDE_SPACE: f32 = 0.4;

/// A line, or a part of it between wide spaces.
#[derive(Clone, Debug)]
pub(super) struct Fragment {
    /// The index of the line.
    pub line: usize,
    /// The corners of the fragment, in the same order as those of a line.
    pub corners: [(f32, f32); 4],
    pub text: String,
    /// The number of parts of the line before it, and whether it is the last one.
    number: usize,
    is_last: bool,
}

/// All lines, undivided.
pub(super) fn whole_lines(lines: &[ReadLine]) -> Vec<Fragment> {
    (0..lines.len()).map(|at| whole(at, &lines[at])).collect()
}

/// The fragments of all lines. A crossing is a line and a part of it, whose ends are shares of the line's length. The line is also divided at the
/// space in this part that is nearest to its middle, if there is one.
pub(super) fn of_lines(lines: &[ReadLine], crossings: &[(usize, (f32, f32))]) -> Vec<Fragment> {
    let parts = |(at, line)| {
        let own = crossings.iter().filter(|(line, _)| *line == at);
        let spaces: Vec<f32> = own.filter_map(|(_, part)| space_in(line, *part)).collect();
        of_line(at, line, &spaces)
    };
    lines.iter().enumerate().flat_map(parts).collect()
}

/// The position of the space that is nearest to the middle of a part of a line.
fn space_in(read: &ReadLine, (from, to): (f32, f32)) -> Option<f32> {
    let distance = |place: &f32| (place - (from + to) / 2.0).abs();
    (read.line.text.chars())
        .zip(read.places.iter().copied())
        .filter(|(character, place)| *character == ' ' && (from..=to).contains(place))
        .map(|(_, place)| place)
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

/// The parts of a line, divided at wide spaces and at these positions.
fn of_line(index: usize, read: &ReadLine, spaces: &[f32]) -> Vec<Fragment> {
    let (length, height) = read.sides();
    let characters: Vec<(char, f32)> = (read.line.text.chars())
        .zip(read.places.iter().copied())
        .collect();
    let (Some((_, first)), Some((_, last))) = (characters.first(), characters.last()) else {
        return vec![whole(index, read)];
    };
    if characters.len() != read.line.text.chars().count() {
        return vec![whole(index, read)];
    }
    // all as shares of the length
    let pitch = (last - first) / (characters.len() - 1).max(1) as f32;
    let least = WIDE_SPACE * height / length;
    let edge = pitch / 2.0 + MARGIN.0 * height / length;
    let mut fragments: Vec<Fragment> = Vec::new();
    let (mut text, mut start, mut before) = (String::new(), 0.0, None::<f32>);
    let add = |fragments: &mut Vec<Fragment>, text: &mut String, span, is_last| {
        fragments.push(Fragment {
            line: index,
            corners: part(read.line.corners, span),
            text: std::mem::take(text).trim().to_owned(),
            number: fragments.len(),
            is_last,
        });
    };
    let mut is_cut = false;
    for (character, place) in characters {
        if character == ' ' {
            is_cut |= spaces.contains(&place);
        } else {
            let is_cut = std::mem::take(&mut is_cut);
            if let Some(before) = before
                && text.ends_with(' ')
                && (is_cut || place - before - pitch >= least)
            {
                add(&mut fragments, &mut text, (start, before + edge), false);
                start = place - edge;
            }
            before = Some(place);
        }
        text.push(character);
    }
    add(&mut fragments, &mut text, (start, 1.0), true);
    fragments
}

fn whole(index: usize, read: &ReadLine) -> Fragment {
    Fragment {
        line: index,
        corners: read.line.corners,
        text: read.line.text.clone(),
        number: 0,
        is_last: true,
    }
}

/// The corners of a part of a rectangle. The ends of the part are shares of the rectangle's length.
fn part([a, b, c, d]: [(f32, f32); 4], (from, to): (f32, f32)) -> [(f32, f32); 4] {
    let between = |a: (f32, f32), b: (f32, f32), share: f32| {
        let share = share.clamp(0.0, 1.0);
        (a.0 + (b.0 - a.0) * share, a.1 + (b.1 - a.1) * share)
    };
    [
        between(a, b, from),
        between(a, b, to),
        between(d, c, to),
        between(d, c, from),
    ]
}

/// The lines of fragments in reading order. Neighbouring parts of one line are put together again.
pub(super) fn to_lines<'a>(
    fragments: impl Iterator<Item = &'a Fragment>,
    lines: &[ReadLine],
) -> Vec<OcrLine> {
    let fragments: Vec<&Fragment> = fragments.collect();
    let runs = fragments.chunk_by(|a, b| a.line == b.line && a.number + 1 == b.number);
    let line = |run: &[&Fragment]| {
        let (first, last) = (run[0], run[run.len() - 1]);
        let line = lines[first.line].line.clone();
        if first.number == 0 && last.is_last {
            return line;
        }
        let texts: Vec<&str> = run.iter().map(|part| part.text.as_str()).collect();
        let ([a, _, _, d], [_, b, c, _]) = (first.corners, last.corners);
        OcrLine {
            text: texts.join(" "),
            corners: [a, b, c, d],
            ..line
        }
    };
    runs.map(line).collect()
}
