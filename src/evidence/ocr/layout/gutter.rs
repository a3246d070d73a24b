//! Joins the boxes of one line of text, and leaves those apart that a gutter separates.

use super::Piece;

/// Boxes on one row that are nearer, in line heights, are one line of text, unless a gutter separates them.
const WORD_GAP: f32 = 1.0;
/// Least width of a gutter, in line heights. Between justified columns it may be no wider than the gap between two words.
const GUTTER: f32 = 0.3;
/// A gutter separates at least three rows between boxes, or six within: each of the first counts twice.
const GUTTER_ROWS: usize = 6;
/// Rows of a gutter have heights in at most this ratio, so that a wide gap in a large heading is not taken for a part of it.
const GUTTER_SIZES: f32 = 1.4;
/// Greatest distance between two rows of a gutter, and between the left ends of what is at its right, in line heights.
const GUTTER_DISTANCE: (f32, f32) = (4.0, 2.0);
/// Beyond its first and last row, and to both sides, a gutter separates boxes that are this near, in line heights.
const REACH: (f32, f32) = (1.5, 0.5);
/// Boxes of one line have heights in at most this ratio.
const LINE_SIZES: f32 = 2.0;

/// A gap between two neighbours on a row.
#[derive(Clone, Copy)]
struct Gap {
    left: usize,
    right: usize,
    /// How many rows of a gutter it makes.
    rows: usize,
    /// Its ends; the second is less than the first if the neighbours overlap.
    span: (f32, f32),
}

/// White space that separates several rows of about the same height.
struct Gutter {
    span: (f32, f32),
    top: f32,
    bottom: f32,
    size: f32,
}

impl Gutter {
    /// Whether the gutter separates these neighbours, even if their boxes reach into it.
    fn separates(&self, a: &Piece, b: &Piece) -> bool {
        let (reach_down, reach_across) = (REACH.0 * self.size, REACH.1 * self.size);
        let border = (a.right + b.left) / 2.0;
        let size = a.size.min(b.size);
        (self.top - reach_down..=self.bottom + reach_down).contains(&b.middle())
            && (self.span.0 - reach_across..=self.span.1 + reach_across).contains(&border)
            && size <= GUTTER_SIZES * self.size
            && self.size <= GUTTER_SIZES * size
    }
}

/// Joins the pieces of each line of text.
pub(super) fn joined(mut pieces: Vec<Piece>) -> Vec<Piece> {
    let gaps = gaps(&pieces);
    let gutters: Vec<Gutter> = gaps
        .iter()
        .filter_map(|gap| gutter(gap, &gaps, &pieces))
        .collect();
    let mut followers: Vec<Option<usize>> = vec![None; pieces.len()];
    let mut is_follower = vec![false; pieces.len()];
    for gap in &gaps {
        let Some((a, b)) = pieces.get(gap.left).zip(pieces.get(gap.right)) else {
            continue;
        };
        if let Some(gutter) = gutters.iter().find(|gutter| gutter.separates(a, b)) {
            let (right, left) = (
                a.right.min(gutter.span.0).max(a.left),
                b.left.max(gutter.span.1).min(b.right),
            );
            if let Some(a) = pieces.get_mut(gap.left) {
                a.right = right;
            }
            if let Some(b) = pieces.get_mut(gap.right) {
                b.left = left;
            }
        } else if is_one_line(gap, a, b)
            && let Some(follower) = followers.get_mut(gap.left)
            && let Some(is_follower) = is_follower.get_mut(gap.right)
        {
            *follower = Some(gap.right);
            *is_follower = true;
        }
    }
    let mut lines = Vec::new();
    for (first, piece) in pieces.iter().enumerate() {
        if is_follower.get(first) == Some(&true) {
            continue;
        }
        let mut line = piece.clone();
        let mut last = first;
        while let Some(&Some(follower)) = followers.get(last) {
            if let Some(piece) = pieces.get(follower) {
                line = line.joined(piece);
            }
            last = follower;
        }
        lines.push(line);
    }
    lines
}

/// Whether neighbours between which there is no gutter are one line of text.
fn is_one_line(gap: &Gap, a: &Piece, b: &Piece) -> bool {
    let is_near = gap.span.1 - gap.span.0 < WORD_GAP * a.size.min(b.size);
    a.line == b.line || is_near && a.is_of_size(b, LINE_SIZES)
}

/// The gaps between neighbours. A piece has at most one at each side, and what is at the right has a greater left end.
fn gaps(pieces: &[Piece]) -> Vec<Gap> {
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    let left_of = |i: &usize| pieces.get(*i).map_or(0.0, |piece| piece.left);
    // the sort is stable, so that equal ends keep the order of the pieces
    order.sort_by(|a, b| left_of(a).total_cmp(&left_of(b)));
    let mut has_left = vec![false; pieces.len()];
    let mut gaps = Vec::new();
    for (at, &left) in order.iter().enumerate() {
        let Some(a) = pieces.get(left) else { continue };
        // pieces of which one stands inside of the other are no neighbours
        let neighbour = order.iter().skip(at + 1).find(|&&right| {
            pieces
                .get(right)
                .is_some_and(|b| b.shares_row(a) && b.left > a.left && b.right > a.right)
        });
        if let Some(&right) = neighbour
            && let Some(b) = pieces.get(right)
            && let Some(taken) = has_left.get_mut(right)
            && !*taken
        {
            *taken = true;
            let span = (a.right, b.left);
            let is_within = a.line == b.line;
            gaps.push(Gap {
                left,
                right,
                rows: if is_within { 1 } else { 2 },
                span,
            });
        }
    }
    gaps
}

/// The gutter of which a gap is a part; None if it separates too few rows.
fn gutter(gap: &Gap, gaps: &[Gap], pieces: &[Piece]) -> Option<Gutter> {
    let (left, right) = pieces.get(gap.left).zip(pieces.get(gap.right))?;
    let size = left.size.min(right.size);
    if gap.span.1 - gap.span.0 < GUTTER * size {
        return None;
    }
    // the gaps above and below that are in line with this one
    let mut others: Vec<(&Piece, &Gap)> = gaps
        .iter()
        .filter_map(|other| {
            let (a, b) = pieces.get(other.left).zip(pieces.get(other.right))?;
            let is_in_line = common(gap.span, other.span) >= GUTTER * size
                && a.is_of_size(left, GUTTER_SIZES)
                && b.is_of_size(right, GUTTER_SIZES)
                && (b.left - right.left).abs() <= GUTTER_DISTANCE.1 * size;
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
    let mut rows = gap.rows;
    let (above, below) = others.split_at(below);
    rows += gutter.grow(above.iter().rev(), right, pieces);
    rows += gutter.grow(below.iter(), right, pieces);
    (rows >= GUTTER_ROWS).then_some(gutter)
}

impl Gutter {
    /// Adds rows, from one of its rows on, as far as they have white space in common. Returns how many rows they make.
    fn grow<'a>(
        &mut self,
        rows: impl Iterator<Item = &'a (&'a Piece, &'a Gap)>,
        mut last: &'a Piece,
        pieces: &[Piece],
    ) -> usize {
        let mut count = 0;
        for (piece, gap) in rows {
            let narrowed = (self.span.0.max(gap.span.0), self.span.1.min(gap.span.1));
            let (top, bottom) = (
                piece.middle().min(last.middle()),
                piece.middle().max(last.middle()),
            );
            let crosses = |other: &Piece| {
                other.left < narrowed.0
                    && other.right > narrowed.1
                    && (top..=bottom).contains(&other.middle())
            };
            if narrowed.1 - narrowed.0 < GUTTER * self.size
                || bottom - top > GUTTER_DISTANCE.0 * self.size
                || pieces.iter().any(crosses)
            {
                break;
            }
            self.span = narrowed;
            (self.top, self.bottom) = (self.top.min(top), self.bottom.max(bottom));
            (count, last) = (count + gap.rows, *piece);
        }
        count
    }
}

/// The length that two spans have in common; negative if they have none.
fn common(a: (f32, f32), b: (f32, f32)) -> f32 {
    a.1.min(b.1) - a.0.max(b.0)
}
