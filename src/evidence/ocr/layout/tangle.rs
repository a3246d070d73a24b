//! Orders texts that no cut divides.

use super::Piece;

/// Orders pieces by the rules of Breuel: a piece comes before those below it and before those at its right, unless something between them overlaps
/// both. Pieces must be in the order of their upper edges, which decides where the rules leave a choice.
pub(super) fn ordered(pieces: Vec<Piece>) -> Vec<Piece> {
    if pieces.len() > crate::limits::MAX_TANGLED_TEXTS {
        return pieces;
    }
    let mut order = Vec::new();
    let mut is_seen = vec![false; pieces.len()];
    for at in 0..pieces.len() {
        visit(at, &pieces, &mut is_seen, &mut order);
    }
    let mut pieces: Vec<Option<Piece>> = pieces.into_iter().map(Some).collect();
    order
        .into_iter()
        .filter_map(|at| pieces[at].take())
        .collect()
}

/// Adds a piece after all pieces that come before it. A cycle is broken where it is entered.
fn visit(at: usize, pieces: &[Piece], is_seen: &mut [bool], order: &mut Vec<usize>) {
    if std::mem::replace(&mut is_seen[at], true) {
        return;
    }
    for (other, before) in pieces.iter().enumerate() {
        if other != at && comes_before(before, &pieces[at], pieces) {
            visit(other, pieces, is_seen, order);
        }
    }
    order.push(at);
}

fn comes_before(a: &Piece, b: &Piece, pieces: &[Piece]) -> bool {
    if a.overlaps_across(b) {
        return a.middle() < b.middle();
    }
    let (upper, lower) = (a.middle().min(b.middle()), a.middle().max(b.middle()));
    let is_between = |c: &Piece| {
        c.middle() > upper && c.middle() < lower && c.overlaps_across(a) && c.overlaps_across(b)
    };
    a.right <= b.left && !pieces.iter().any(is_between)
}
