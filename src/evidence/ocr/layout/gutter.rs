//! Joins the boxes of one line of text, but not those that a gutter separates.

use super::{MARGIN, Piece};

/// Boxes on one row that are nearer than this, in line heights, are one line of text, unless a gutter separates them.
const WORD_GAP: f32 = 1.0;
/// Minimum width of a gutter, in line heights. Between justified columns it may be no wider than the gap between two words.
const GUTTER: f32 = 0.3;
/// A gutter separates at least three rows if the gaps are between boxes, or six if they are inside boxes: a row with a gap between boxes counts
/// twice.
const GUTTER_ROWS: usize = 6;
/// Rows of a gutter have heights in at most this ratio, so that a wide gap in a large heading is not taken for a part of it; the second is
/// for gaps within a box.
const GUTTER_SIZES: (f32, f32) = (1.4, 1.25);
/// Maximum distance between two rows of a gutter, in line heights; the second is for gaps within a box.
const ROW_DISTANCE: (f32, f32) = (4.0, 2.2);
/// A detector does not find one box across a gutter that is wider than this, in line heights.
const BRIDGED: f32 = 2.0;
/// Maximum distance between the left ends of the boxes at the right of a gutter, in line heights.
const INDENT: f32 = 2.0;
/// Maximum number of boxes that may cross a gutter between two of its rows, because a detector may find one box in two columns.
const CROSSING: usize = 1;
/// Beyond its first and last row, and to both sides, a gutter separates boxes that are this near, in line heights.
const REACH: (f32, f32) = (1.5, 0.5);
/// Maximum widths, in line heights, of a bullet or a number before an item of a list, and of the gap after it.
const BULLET: (f32, f32) = (1.5, 2.0);
/// Maximum number of characters of a bullet or number.
const BULLET_SIGNS: usize = 4;
/// Boxes of one line have heights in at most this ratio.
const LINE_SIZES: f32 = 2.0;

/// A gap between two neighbours on a row.
#[derive(Clone, Copy)]
struct Gap {
    left: usize,
    right: usize,
    /// Whether the gap is inside a single box of text.
    is_within: bool,
    /// Whether the piece before it is a bullet.
    is_bullet: bool,
    /// The ends of the gap; the second is less than the first if the neighbours overlap.
    span: (f32, f32),
}

impl Gap {
    /// The number of rows that it counts for, see [`GUTTER_ROWS`].
    fn rows(&self) -> usize {
        if self.is_within { 1 } else { 2 }
    }

    fn width(&self) -> f32 {
        self.span.1 - self.span.0
    }
}

/// White space that separates several rows of about the same height.
pub(super) struct Gutter {
    span: (f32, f32),
    top: f32,
    bottom: f32,
    size: f32,
}

impl Gutter {
    /// Whether boxes that meet at `x` are in different columns.
    fn is_border(&self, x: f32) -> bool {
        let reach = REACH.1 * self.size;
        (self.span.0 - reach..=self.span.1 + reach).contains(&x)
    }

    /// Whether the gutter separates these neighbours, even if their boxes reach into it.
    fn separates(&self, a: &Piece, b: &Piece) -> bool {
        let (reach, ratio) = if a.line == b.line {
            (0.0, GUTTER_SIZES.1)
        } else {
            (REACH.0 * self.size, GUTTER_SIZES.0)
        };
        let size = a.size.max(b.size);
        (self.top - reach..=self.bottom + reach).contains(&b.middle())
            && self.is_border((a.right + b.left) / 2.0)
            && size <= ratio * self.size
            && self.size <= ratio * size
    }
}

/// The gutters between pieces.
pub(super) fn find(pieces: &[Piece]) -> Vec<Gutter> {
    let gaps = gaps(pieces);
    let found = gaps.iter().filter_map(|gap| gutter(gap, &gaps, pieces));
    found.collect()
}

/// Where lines cross narrow gutters: for each crossing, the line and the ends of its part around the gutter, as shares of the line's length. `pieces`
/// are whole lines.
pub(super) fn crossings(gutters: &[Gutter], pieces: &[Piece]) -> Vec<(usize, (f32, f32))> {
    let crossing = |line: &Piece, gutter: &Gutter| {
        let size = gutter.size;
        let crosses = (gutter.top..=gutter.bottom).contains(&line.middle())
            && line.left < gutter.span.0 - size
            && line.right > gutter.span.1 + size
            && gutter.span.1 - gutter.span.0 <= BRIDGED * size
            && line.size <= GUTTER_SIZES.1 * size
            && size <= GUTTER_SIZES.1 * line.size;
        let margin = MARGIN.0 * line.size;
        let length = line.right - line.left + 2.0 * margin;
        let share = |x: f32| (x - line.left + margin) / length;
        let reach = REACH.1 * size;
        crosses.then(|| (share(gutter.span.0 - reach), share(gutter.span.1 + reach)))
    };
    let pairs = pieces
        .iter()
        .flat_map(|line| gutters.iter().map(move |gutter| (line, gutter)));
    pairs
        .filter_map(|(line, gutter)| Some((line.line, crossing(line, gutter)?)))
        .collect()
}

/// Joins the pieces of each line of text, if no gutter separates them.
pub(super) fn joined(mut pieces: Vec<Piece>, gutters: &[Gutter]) -> Vec<Piece> {
    let gaps = gaps(&pieces);
    let mut followers: Vec<Option<usize>> = vec![None; pieces.len()];
    let mut is_follower = vec![false; pieces.len()];
    for gap in &gaps {
        let (a, b) = (&pieces[gap.left], &pieces[gap.right]);
        let gutter = gutters.iter().find(|gutter| gutter.separates(a, b));
        // the last letter of a line may also be found on its own, in the box of the line
        let is_letter = gap.width() < 0.0 && b.right - b.left < b.size;
        if let (Some(gutter), false) = (gutter, gap.is_bullet || is_letter) {
            let (right, left) = (
                a.right.min(gutter.span.0).max(a.left),
                b.left.max(gutter.span.1).min(b.right),
            );
            pieces[gap.left].right = right;
            pieces[gap.right].left = left;
        } else if is_one_line(gap, a, b) {
            followers[gap.left] = Some(gap.right);
            is_follower[gap.right] = true;
        }
    }
    let firsts = (0..pieces.len()).filter(|at| !is_follower[*at]);
    let line = |first: usize| {
        let chain = std::iter::successors(followers[first], |at| followers[*at]);
        chain.fold(pieces[first].clone(), |line, at| line.joined(&pieces[at]))
    };
    firsts.map(line).collect()
}

/// Whether neighbours between which there is no gutter are one line of text.
fn is_one_line(gap: &Gap, a: &Piece, b: &Piece) -> bool {
    let is_near = gap.width() < WORD_GAP * a.size.min(b.size);
    a.line == b.line || (is_near || gap.is_bullet) && a.is_of_size(b, LINE_SIZES)
}

/// The gaps between neighbours. A piece has at most one gap at each side, and the right neighbour has the greater left end.
fn gaps(pieces: &[Piece]) -> Vec<Gap> {
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    // the sort is stable, so that equal ends keep the order of the pieces
    order.sort_by(|a, b| pieces[*a].left.total_cmp(&pieces[*b].left));
    let mut has_left = vec![false; pieces.len()];
    let mut gaps = Vec::new();
    for (at, &left) in order.iter().enumerate() {
        let a = &pieces[left];
        // two pieces are not neighbours if one is inside the other
        let is_neighbour = |b: &Piece| b.shares_row(a) && b.left > a.left && b.right > a.right;
        let neighbour = order[at + 1..]
            .iter()
            .find(|&&at| is_neighbour(&pieces[at]));
        if let Some(&right) = neighbour
            && !std::mem::replace(&mut has_left[right], true)
        {
            let b = &pieces[right];
            gaps.push(Gap {
                left,
                right,
                is_within: a.line == b.line,
                is_bullet: false,
                span: (a.right, b.left),
            });
        }
    }
    mark_bullets(&mut gaps, pieces);
    gaps
}

/// Whether a text can be a bullet, or the number or letter of an item: "•", "-", "3.", "12)", "(b)". A short word at the end of a justified line is
/// none, although it stands apart, too.
pub(super) fn can_be_bullet(text: &str) -> bool {
    let signs = |c: char| !c.is_alphanumeric();
    let inner = text.trim_matches(signs);
    let digits = inner.chars().all(|c| c.is_ascii_digit());
    (1..=BULLET_SIGNS).contains(&text.chars().count()) && (digits || inner.chars().count() == 1)
}

/// Marks the gaps after short pieces that have no near neighbour at their left.
fn mark_bullets(gaps: &mut [Gap], pieces: &[Piece]) {
    let mut follows_closely = vec![false; pieces.len()];
    for gap in gaps.iter() {
        follows_closely[gap.right] = gap.width() < WORD_GAP * pieces[gap.right].size;
    }
    for gap in gaps {
        let left = &pieces[gap.left];
        gap.is_bullet = left.can_be_bullet
            && left.right - left.left < BULLET.0 * left.size
            && gap.width() < BULLET.1 * left.size
            && !follows_closely[gap.left];
    }
}

/// The gutter that a gap belongs to; `None` if it separates too few rows.
fn gutter(gap: &Gap, gaps: &[Gap], pieces: &[Piece]) -> Option<Gutter> {
    let (left, right) = (&pieces[gap.left], &pieces[gap.right]);
    let size = left.size.min(right.size);
    if gap.is_bullet || gap.width() < GUTTER * size {
        return None;
    }
    // the gaps above and below that are in line with this one
    let mut others: Vec<(&Piece, &Gap)> = gaps
        .iter()
        .filter_map(|other| {
            let (a, b) = (&pieces[other.left], &pieces[other.right]);
            let ratio = if gap.is_within || other.is_within {
                GUTTER_SIZES.1
            } else {
                GUTTER_SIZES.0
            };
            let is_in_line = !other.is_bullet
                && a.is_of_size(left, ratio)
                && b.is_of_size(right, ratio)
                && (b.left - right.left).abs() <= INDENT * size;
            (is_in_line && other.right != gap.right).then_some((b, other))
        })
        .collect();
    others.sort_by(|a, b| a.0.middle().total_cmp(&b.0.middle()));
    let below = others.partition_point(|(piece, _)| piece.middle() < right.middle());
    let mut gutter = Gutter {
        span: gap.span,
        top: right.middle(),
        bottom: right.middle(),
        size,
    };
    let mut rows = gap.rows();
    let (above, below) = others.split_at(below);
    rows += gutter.grow(above.iter().rev(), (right, gap.is_within), pieces);
    rows += gutter.grow(below.iter(), (right, gap.is_within), pieces);
    (rows >= GUTTER_ROWS).then_some(gutter)
}

impl Gutter {
    /// Adds rows, from one row of the gutter on, as long as they have white space in common. Returns the number of rows that they count for.
    fn grow<'a>(
        &mut self,
        rows: impl Iterator<Item = &'a (&'a Piece, &'a Gap)>,
        (mut last, mut last_is_within): (&'a Piece, bool),
        pieces: &[Piece],
    ) -> usize {
        let mut count = 0;
        for (piece, gap) in rows {
            let narrowed = (self.span.0.max(gap.span.0), self.span.1.min(gap.span.1));
            let (a, b) = (piece.middle(), last.middle());
            let (top, bottom) = (a.min(b), a.max(b));
            let crosses = |other: &&Piece| {
                other.left < self.span.0
                    && other.right > self.span.1
                    && (top..=bottom).contains(&other.middle())
            };
            let width = self.span.1 - self.span.0;
            let distance = bottom - top;
            let is_far = (gap.is_within || last_is_within) && distance > ROW_DISTANCE.1 * self.size;
            if is_far || gap.is_within && width > BRIDGED * self.size {
                continue;
            }
            if distance > ROW_DISTANCE.0 * self.size
                || pieces.iter().filter(crosses).count() > CROSSING
            {
                break;
            }
            if narrowed.1 - narrowed.0 >= GUTTER * self.size {
                self.span = narrowed;
                count += gap.rows();
            } else if !self.is_border((gap.span.0 + gap.span.1) / 2.0) {
                continue;
            }
            (self.top, self.bottom) = (self.top.min(top), self.bottom.max(bottom));
            (last, last_is_within) = (piece, gap.is_within);
        }
        count
    }
}
