//! Products of 16-bit numbers, for operands that 8 bits would round too much, or that change from product to product.

#![expect(
    unsafe_code,
    reason = "the kernels need instructions that are detected at run time; the entry point asserts the bounds"
)]

use super::Instructions;
use crate::conv::kernel::holds;

/// The sums of products of rows with a matrix: `out[m][c] = Σ_n rows[m][n] · matrix[n][c]`. They are exact as long as they fit into 32 bits, and lose their
/// highest bits otherwise.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PairProduct<'a> {
    /// Row m begins at `m · step`.
    pub rows: &'a [i16],
    pub step: usize,
    pub count: usize,
    /// The numbers of a row, divided by two.
    pub pairs: usize,
    /// (pairs, columns): the numbers of two neighbouring rows of the matrix, the first in the lower half.
    pub matrix: &'a [i32],
    /// A multiple of [`PairProduct::COLUMNS`].
    pub columns: usize,
}

/// Scratch space for operands and sums.
#[derive(Default)]
pub(crate) struct PairBuffers {
    pub rows: Vec<i16>,
    pub matrices: [Vec<i32>; 2],
    pub sums: Vec<i32>,
    pub scores: Vec<f32>,
}

impl PairProduct<'_> {
    /// What columns must be a multiple of: two vectors.
    pub const COLUMNS: usize = 32;

    /// Whether this machine has the instructions.
    pub fn is_available() -> bool {
        Instructions::detect().is_some()
    }

    /// Computes the sums (count, columns).
    ///
    /// # Panics
    /// If the rows end before their last pair, `out` is too short for the sums, the matrix has too few pairs, its number of columns is not the documented
    /// multiple, or the machine has no instructions for it.
    pub fn run(self, out: &mut [i32]) {
        let instructions = Instructions::detect().expect("the machine has instructions for it");
        self.run_by(instructions, out);
    }

    pub(super) fn run_by(self, instructions: Instructions, out: &mut [i32]) {
        let PairProduct { count, columns, .. } = self;
        assert!(columns.is_multiple_of(Self::COLUMNS));
        assert!(holds(self.rows.len(), count, self.step, 2 * self.pairs));
        assert!(holds(self.matrix.len(), self.pairs, columns, columns));
        assert!(holds(out.len(), count, columns, columns));
        // SAFETY: the machine has the instructions, by the invariant of `Instructions`; the bounds are asserted above
        unsafe { (instructions.pair_product)(self, out) }
    }
}
