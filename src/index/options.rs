//! How many documents a ranking contains, and which documents are left out.

use crate::collection::portal::Portal;

/// How many documents a ranking contains, and which documents are filtered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchOptions {
    /// Maximum number of documents.
    pub k: usize,
    /// Whether documents with fewer than 20 words are ranked.
    pub short: bool,
    /// Whether duplicates of earlier documents are ranked.
    pub duplicates: bool,
    /// The debate portals from which documents are ranked; `None` for all portals, including unknown ones.
    pub portals: Option<PortalSet>,
}

impl Default for SearchOptions {
    /// The default of a run: 1,000 documents, without short ones and duplicates.
    fn default() -> Self {
        SearchOptions {
            k: 1000,
            short: false,
            duplicates: false,
            portals: None,
        }
    }
}

/// Some of the debate portals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortalSet(u8);

impl PortalSet {
    /// Whether the portal with this number is one of them; 0 is an unknown portal.
    pub(super) fn contains(self, number: u8) -> bool {
        self.0
            .checked_shr(number.into())
            .is_some_and(|bits| bits & 1 != 0)
    }
}

impl FromIterator<Portal> for PortalSet {
    fn from_iter<T: IntoIterator<Item = Portal>>(portals: T) -> Self {
        let numbers = portals.into_iter().map(|portal| portal as u8);
        PortalSet(numbers.fold(0, |set, number| set | 1 << number))
    }
}
