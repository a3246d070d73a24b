//! Reading order: groups lines into blocks, and orders blocks and lines.
//!
//! The method is the recursive XY-cut (Nagy and Seth, "Hierarchical representation of optically scanned documents", ICPR 1984) on the boxes of lines
//! instead of pixels (Ha, Haralick and Phillips, "Recursive X-Y cut using bounding boxes of connected components", ICDAR 1995). The plain method cuts
//! at the widest gap, so it reads a list across its columns if the rows are farther apart than the columns. Here white space decides, as in Breuel,
//! "Two geometric algorithms for layout analysis" (DAS 2002): a region is first cut into columns. If no columns go through all of it, the largest
//! band of rows that has columns is cut out, so that headings above it are read before it, and notes below it after it. If boxes interlock and no cut
//! is possible, they are ordered by the rules of Breuel, "High performance document layout analysis" (SDIUT 2003).

mod columns;
mod fragment;
mod gutter;
mod table;
mod tangle;

use super::OcrLine;
use super::ctc::DecodedLine;
use fragment::Fragment;

/// Share of a line's height by which its box reaches over its letters at both ends, and above and below: detectors' boxes are generous.
const MARGIN: (f32, f32) = (0.25, 0.15);
/// Two boxes are on one line of text if they have this share of the lower one's height in common.
const SAME_ROW: f32 = 0.5;
/// Within a block, the gap between two lines is at most this many times the height of a line…
const PARAGRAPH_GAP: f32 = 0.8;
/// …or this many times the median gap.
const PARAGRAPH_GAPS: f32 = 1.8;
/// Lines of one block have heights in at most this ratio.
const SAME_SIZE: f32 = 1.5;

/// A line as it was read, and where its characters are.
#[derive(Clone, Debug)]
pub(super) struct ReadLine {
    line: OcrLine,
    /// The centre of each character, as a share of the line's length.
    places: Vec<f32>,
}

impl ReadLine {
    /// A line that was read in a rectangle with these corners, in pixels, clockwise from the upper left of the text.
    pub fn new(reading: DecodedLine, corners: [(f32, f32); 4]) -> Self {
        let reading = reading.trimmed();
        ReadLine {
            line: OcrLine {
                text: reading.text,
                confidence: reading.confidence,
                corners,
                block: 0,
            },
            places: reading.places,
        }
    }

    /// Whether it has a text that was read with at least this confidence.
    pub fn is_legible(&self, least: f32) -> bool {
        self.line.confidence >= least && !self.line.text.is_empty()
    }

    /// Whether another reading of the same rectangle has a higher confidence.
    pub fn is_surpassed_by(&self, other: &ReadLine) -> bool {
        self.line.confidence < other.line.confidence
    }

    /// The length and the height of the rectangle.
    fn sides(&self) -> (f32, f32) {
        let [a, b, _, d] = self.line.corners;
        let distance = |to: (f32, f32)| (to.0 - a.0).hypot(to.1 - a.1);
        (distance(b), distance(d))
    }
}

/// The rectangle of a text in the direction in which most texts of the image run; y points down. A text is a fragment or
/// several fragments on one line.
#[derive(Clone, Debug)]
struct Piece {
    left: f32,
    right: f32,
    top: f32,
    bottom: f32,
    /// Height of the box across its text.
    size: f32,
    /// The indices of its fragments, from left to right.
    fragments: Vec<usize>,
    /// The index of the line to which the first belongs.
    line: usize,
    /// Whether its text can be the mark or the number of an item in a list.
    can_be_bullet: bool,
}

impl Piece {
    fn height(&self) -> f32 {
        self.bottom - self.top
    }

    fn middle(&self) -> f32 {
        (self.top + self.bottom) / 2.0
    }

    /// Whether two pieces are on one line of text.
    fn shares_row(&self, other: &Piece) -> bool {
        let common = self.bottom.min(other.bottom) - self.top.max(other.top);
        common >= SAME_ROW * self.height().min(other.height())
    }

    fn overlaps_across(&self, other: &Piece) -> bool {
        self.left < other.right && other.left < self.right
    }

    fn is_of_size(&self, other: &Piece, ratio: f32) -> bool {
        self.size <= ratio * other.size && other.size <= ratio * self.size
    }

    /// Both pieces as one.
    fn joined(&self, other: &Piece) -> Piece {
        let width = |piece: &Piece| (piece.right - piece.left).max(f32::MIN_POSITIVE);
        let (a, b) = (width(self), width(other));
        Piece {
            left: self.left.min(other.left),
            right: self.right.max(other.right),
            top: self.top.min(other.top),
            bottom: self.bottom.max(other.bottom),
            size: (self.size * a + other.size * b) / (a + b),
            fragments: [self.fragments.as_slice(), &other.fragments].concat(),
            line: self.line,
            can_be_bullet: false,
        }
    }
}

/// One step in reading order.
enum LayoutStep {
    Piece(Piece),
    /// The next piece begins a new block.
    Break,
    /// The rows of a table, which is a separate block.
    Table(Vec<Piece>),
}

/// Orders lines for reading, and numbers their blocks. A line that was read across columns is divided. The result does not depend on the
/// order of `lines`.
pub(super) fn arrange(mut lines: Vec<ReadLine>) -> Vec<OcrLine> {
    lines.sort_by(|ReadLine { line: a, .. }, ReadLine { line: b, .. }| {
        let corners = a.corners.iter().zip(&b.corners);
        let by_corners = corners.map(|(a, b)| a.1.total_cmp(&b.1).then(a.0.total_cmp(&b.0)));
        by_corners
            .fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
            .then_with(|| a.text.cmp(&b.text))
            .then(a.confidence.total_cmp(&b.confidence))
    });
    // gutters are found between wide spaces; then lines across them are divided even where the space is not wide
    let gutters = gutter::find(&pieces_of(&fragment::of_lines(&lines, &[]), &lines));
    let whole_lines = pieces_of(&fragment::whole_lines(&lines), &lines);
    let crossings = gutter::crossings(&gutters, &whole_lines);
    let fragments = fragment::of_lines(&lines, &crossings);
    let pieces = gutter::joined(pieces_of(&fragments, &lines), &gutters);
    let mut steps = Vec::new();
    columns::order(pieces, &fragments, &mut steps);
    let mut ordered = Vec::new();
    for (block, pieces) in blocks_of(steps).into_iter().enumerate() {
        for piece in pieces {
            let own = piece.fragments.iter().map(|&at| &fragments[at]);
            for mut line in fragment::to_lines(own, &lines) {
                line.block = block as u32;
                ordered.push(line);
            }
        }
    }
    ordered
}

/// The rectangles of fragments, in the direction in which most text runs.
fn pieces_of(fragments: &[Fragment], lines: &[ReadLine]) -> Vec<Piece> {
    let (cos, sin) = direction(lines);
    let piece = |(index, fragment): (usize, &Fragment)| {
        let corners = fragment
            .corners
            .map(|(x, y)| (x * cos + y * sin, y * cos - x * sin));
        let (mut left, mut right) = (f32::INFINITY, f32::NEG_INFINITY);
        let (mut top, mut bottom) = (left, right);
        for (x, y) in corners {
            (left, right) = (left.min(x), right.max(x));
            (top, bottom) = (top.min(y), bottom.max(y));
        }
        let size = lines[fragment.line].sides().1;
        let margin = |share: f32, extent: f32| (share * size).min(0.25 * extent);
        let x = margin(MARGIN.0, right - left);
        let y = margin(MARGIN.1, bottom - top);
        Piece {
            left: left + x,
            right: right - x,
            top: top + y,
            bottom: bottom - y,
            size,
            fragments: vec![index],
            line: fragment.line,
            can_be_bullet: gutter::can_be_bullet(&fragment.text),
        }
    };
    fragments.iter().enumerate().map(piece).collect()
}

/// The cosine and the sine of the angle of most text: the median over the lines, weighted by their lengths. They are rounded from double
/// precision, because in single precision C libraries differ in the last bit.
fn direction(lines: &[ReadLine]) -> (f32, f32) {
    let mut angles: Vec<(f32, f32)> = lines
        .iter()
        .map(|line| {
            let [from, to, ..] = line.line.corners;
            let (x, y) = (to.0 - from.0, to.1 - from.1);
            let angle = f64::from(y).atan2(f64::from(x));
            (angle as f32, x.hypot(y))
        })
        .collect();
    angles.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let half = angles.iter().map(|(_, length)| length).sum::<f32>() / 2.0;
    let mut passed = 0.0;
    let median = angles.iter().find(|(_, length)| {
        passed += length;
        passed >= half
    });
    let angle = median.map_or(0.0, |(angle, _)| f64::from(*angle));
    (angle.cos() as f32, angle.sin() as f32)
}

/// The blocks of the text: divided at breaks, at gaps, and where the size of the letters changes.
fn blocks_of(steps: Vec<LayoutStep>) -> Vec<Vec<Piece>> {
    let mut blocks = Vec::new();
    let mut run: Vec<Piece> = Vec::new();
    for step in steps {
        match step {
            LayoutStep::Piece(piece) => run.push(piece),
            LayoutStep::Break => paragraphs(std::mem::take(&mut run), &mut blocks),
            LayoutStep::Table(rows) => {
                paragraphs(std::mem::take(&mut run), &mut blocks);
                blocks.push(rows);
            }
        }
    }
    paragraphs(run, &mut blocks);
    blocks
}

/// Adds the blocks of pieces that are read one after the other.
fn paragraphs(run: Vec<Piece>, blocks: &mut Vec<Vec<Piece>>) {
    let gap = |a: &Piece, b: &Piece| b.top - a.bottom;
    let pairs = run.array_windows().filter(|[a, b]| !a.shares_row(b));
    let mut gaps: Vec<f32> = pairs.map(|[a, b]| gap(a, b)).collect();
    let median = median(&mut gaps);
    let mut paragraph: Vec<Piece> = Vec::new();
    for piece in run {
        let goes_on = paragraph.last().is_some_and(|last| {
            let size = last.size.min(piece.size);
            let limit = (PARAGRAPH_GAP * size).max(PARAGRAPH_GAPS * median);
            last.shares_row(&piece)
                || paragraph.iter().any(|own| own.overlaps_across(&piece))
                    && gap(last, &piece) <= limit
                    && gap(last, &piece) > -size
                    && last.is_of_size(&piece, SAME_SIZE)
        });
        if !goes_on && !paragraph.is_empty() {
            blocks.push(std::mem::take(&mut paragraph));
        }
        paragraph.push(piece);
    }
    if !paragraph.is_empty() {
        blocks.push(paragraph);
    }
}

/// The lower median; 0 if there are no numbers.
fn median(numbers: &mut [f32]) -> f32 {
    numbers.sort_by(f32::total_cmp);
    let middle = numbers.len().saturating_sub(1) / 2;
    numbers.get(middle).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests;
