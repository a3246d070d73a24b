//! Searches only some documents of an index.

use rayon::prelude::*;
use riposte_eval::DocId;

use super::{EXCLUDED, InvertedIndex};

impl InvertedIndex {
    /// Excludes all documents except these: the others are neither found nor counted. Returns the number of each of these documents;
    /// `None` for those that are not in the index.
    pub(in crate::index) fn restrict(&mut self, ids: &[DocId]) -> Vec<Option<u32>> {
        let numbers: Vec<Option<u32>> = ids.par_iter().map(|id| self.number(id)).collect();
        self.marks.iter_mut().for_each(|marks| *marks |= EXCLUDED);
        for number in numbers.iter().flatten() {
            if let Some(marks) = self.marks.get_mut(*number as usize) {
                *marks &= !EXCLUDED;
            }
        }
        self.count();
        numbers
    }
}
