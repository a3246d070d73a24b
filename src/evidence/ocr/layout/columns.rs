//! The recursive cut of a region into columns and bands.

use super::fragment::Fragment;
use super::{LayoutStep, Piece, median, table, tangle};

/// Minimum width of the white space between two columns, in line heights. (Narrower gaps on a line have been joined.)
const COLUMN_GAP: f32 = 0.3;
/// Two columns are beside each other if they share at least this part of the lower one's height; otherwise they are staggered lines.
const BESIDE: f32 = 0.3;
/// A band ends at a gap that is larger than these, in line heights and in median gaps of the region, because a figure is in the gap.
const FIGURE_GAP: (f32, f32) = (5.0, 2.5);
/// A line in only one column, above or below a band, does not belong to it if the gap is larger than these, in line heights and in median gaps…
const APART: (f32, f32) = (1.2, 1.5);
/// …or if the gap and the ratio of sizes are larger than these.
const APART_IN_SIZE: (f32, f32) = (0.5, 1.2);

/// Adds the pieces of a region in reading order.
pub(super) fn order(pieces: Vec<Piece>, fragments: &[Fragment], steps: &mut Vec<LayoutStep>) {
    if pieces.len() < 2 {
        steps.extend(pieces.into_iter().map(LayoutStep::Piece));
        return;
    }
    let strata = strata(pieces);
    if let [stratum] = strata.as_slice() {
        let mut columns = Columns::new(stratum);
        stratum.iter().for_each(|piece| columns.add(piece));
        let pieces = strata.into_iter().flatten().collect();
        if columns.spans.len() < 2 {
            let pieces = tangle::ordered(pieces);
            steps.extend(pieces.into_iter().map(LayoutStep::Piece));
        } else {
            side_by_side(pieces, &columns, fragments, steps);
        }
        return;
    }
    let Some(band) = band(&strata) else {
        for stratum in strata {
            order(stratum, fragments, steps);
        }
        return;
    };
    let mut strata = strata.into_iter();
    let mut next = |count| strata.by_ref().take(count).flatten().collect();
    order(next(band.from), fragments, steps);
    side_by_side(next(band.to - band.from), &band.columns, fragments, steps);
    order(next(usize::MAX), fragments, steps);
}

/// Adds pieces that white space divides into columns.
fn side_by_side(
    pieces: Vec<Piece>,
    columns: &Columns,
    fragments: &[Fragment],
    steps: &mut Vec<LayoutStep>,
) {
    let mut divided: Vec<Vec<Piece>> = vec![Vec::new(); columns.spans.len()];
    for piece in pieces {
        if let Some(column) = divided.get_mut(columns.of(&piece)) {
            column.push(piece);
        }
    }
    divided.retain(|column| !column.is_empty());
    if divided.len() < 2 {
        // pieces whose coordinates are NaN belong to no column
        let pieces = tangle::ordered(divided.into_iter().flatten().collect());
        steps.extend(pieces.into_iter().map(LayoutStep::Piece));
        return;
    }
    steps.push(LayoutStep::Break);
    if table::is_table(&divided, fragments) {
        let mut cells: Vec<Piece> = Vec::new();
        for mut row in strata(divided.into_iter().flatten().collect()) {
            row.sort_by_key(|piece| columns.of(piece));
            cells.append(&mut row);
        }
        steps.push(LayoutStep::Table(cells));
    } else {
        for column in divided {
            order(column, fragments, steps);
            steps.push(LayoutStep::Break);
        }
    }
}

/// Groups of pieces from top to bottom, with white space between them across the full width.
fn strata(mut pieces: Vec<Piece>) -> Vec<Vec<Piece>> {
    pieces.sort_by(|a, b| a.top.total_cmp(&b.top).then(a.left.total_cmp(&b.left)));
    let mut strata: Vec<Vec<Piece>> = Vec::new();
    let mut bottom = f32::NEG_INFINITY;
    for piece in pieces {
        let lower = bottom.max(piece.bottom);
        match strata.last_mut() {
            Some(stratum) if piece.top < bottom => stratum.push(piece),
            _ => strata.push(vec![piece]),
        }
        bottom = lower;
    }
    strata
}

/// Columns between which there is white space from top to bottom.
#[derive(Clone, Debug)]
struct Columns {
    /// The left and the right end of each column, from the left.
    spans: Vec<(f32, f32)>,
    /// Minimum width of the white space.
    gap: f32,
}

impl Columns {
    /// No columns yet. The size of the pieces decides the minimum width of the white space.
    fn new<'a>(pieces: impl IntoIterator<Item = &'a Piece>) -> Self {
        Columns {
            spans: Vec::new(),
            gap: COLUMN_GAP * usual_size(pieces),
        }
    }

    /// Adds a piece, which may close the white space between columns.
    fn add(&mut self, piece: &Piece) {
        let Columns { spans, gap } = self;
        let from = spans.partition_point(|span| span.1 + *gap <= piece.left);
        let to = spans.partition_point(|span| span.0 - *gap < piece.right);
        let both = |a: (f32, f32), b: (f32, f32)| (a.0.min(b.0), a.1.max(b.1));
        let within = spans.drain(from..to.max(from));
        let joined = within.fold((piece.left, piece.right), both);
        spans.insert(from, joined);
    }

    /// The column of a piece.
    fn of(&self, piece: &Piece) -> usize {
        let middle = (piece.left + piece.right) / 2.0;
        let at = self.spans.partition_point(|span| span.1 < middle);
        at.min(self.spans.len().saturating_sub(1))
    }
}

fn usual_size<'a>(pieces: impl IntoIterator<Item = &'a Piece>) -> f32 {
    let mut sizes: Vec<f32> = pieces.into_iter().map(|piece| piece.size).collect();
    median(&mut sizes)
}

/// A range of strata, and the columns in them.
struct Band {
    from: usize,
    to: usize,
    columns: Columns,
}

/// The white space between two strata.
fn gap(above: &[Piece], below: &[Piece]) -> f32 {
    let bottom = above.iter().map(|piece| piece.bottom);
    let top = below.iter().map(|piece| piece.top);
    top.fold(f32::INFINITY, f32::min) - bottom.fold(f32::NEG_INFINITY, f32::max)
}

/// The white space between each stratum and the next.
fn gaps(strata: &[Vec<Piece>]) -> Vec<f32> {
    let pairs = strata.array_windows();
    pairs.map(|[above, below]| gap(above, below)).collect()
}

/// The band of columns that has the most pieces; the first of equal ones.
fn band(strata: &[Vec<Piece>]) -> Option<Band> {
    let none = Columns::new(strata.iter().flatten());
    let size = usual_size(strata.iter().flatten());
    let after = gaps(strata);
    let figure = (FIGURE_GAP.0 * size).max(FIGURE_GAP.1 * median(&mut after.clone()));
    let mut best: Option<(usize, Band)> = None;
    for from in 0..strata.len() {
        let mut columns = none.clone();
        let mut longest = None;
        for (at, stratum) in strata.iter().enumerate().skip(from) {
            stratum.iter().for_each(|piece| columns.add(piece));
            if columns.spans.len() > 1 {
                longest = Some(at + 1);
            }
            if after.get(at).is_some_and(|gap| *gap > figure) {
                break;
            }
        }
        let Some(to) = longest else { continue };
        if let Some(found) = trimmed(strata, from, to, &none, size) {
            let counted = strata[found.from..found.to].iter().map(Vec::len).sum();
            if best.as_ref().is_none_or(|(most, _)| counted > *most) {
                best = Some((counted, found));
            }
        }
    }
    best.map(|(_, band)| band)
}

/// The band of these strata without headings above and notes below it. `None` if the rest has no columns.
fn trimmed(
    strata: &[Vec<Piece>],
    mut from: usize,
    mut to: usize,
    none: &Columns,
    size: f32,
) -> Option<Band> {
    loop {
        let within = strata.get(from..to)?;
        let columns = beside(within, none);
        let last = columns.spans.len().checked_sub(1)?;
        if last == 0 {
            return None;
        }
        let usual_gap = median(&mut gaps(within));
        // whether only one column other than the `usual` one has this stratum, and the stratum is apart from its neighbour
        let is_apart = |stratum: &[Piece], gap: f32, usual: usize| {
            let mut of: Vec<usize> = stratum.iter().map(|piece| columns.of(piece)).collect();
            of.dedup();
            let own = usual_size(stratum);
            let ratio = own.max(size) / own.min(size);
            matches!(of.as_slice(), [column] if *column != usual)
                && (gap > APART.0 * size && gap > APART.1 * usual_gap
                    || gap > APART_IN_SIZE.0 * size && ratio > APART_IN_SIZE.1)
        };
        match within {
            [first, second, ..] if is_apart(first, gap(first, second), 0) => from += 1,
            [.., before, end] if is_apart(end, gap(before, end), last) => to -= 1,
            _ => return Some(Band { from, to, columns }),
        }
    }
}

/// The columns of a band. A column that is not beside the one before it is merged with that one.
fn beside(strata: &[Vec<Piece>], none: &Columns) -> Columns {
    let mut columns = none.clone();
    let pieces = || strata.iter().flatten();
    pieces().for_each(|piece| columns.add(piece));
    let height_of = |from: f32, to: f32| {
        let within = pieces().filter(|piece| piece.left >= from && piece.right <= to);
        within.fold((f32::INFINITY, f32::NEG_INFINITY), |a, piece| {
            (a.0.min(piece.top), a.1.max(piece.bottom))
        })
    };
    let mut spans: Vec<(f32, f32)> = Vec::new();
    for span in std::mem::take(&mut columns.spans) {
        if let Some(before) = spans.last_mut() {
            let (a, b) = (height_of(before.0, before.1), height_of(span.0, span.1));
            let common = a.1.min(b.1) - a.0.max(b.0);
            if common < BESIDE * (a.1 - a.0).min(b.1 - b.0) {
                before.1 = span.1;
                continue;
            }
        }
        spans.push(span);
    }
    columns.spans = spans;
    columns
}
