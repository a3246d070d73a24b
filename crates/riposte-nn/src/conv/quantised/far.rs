//! Numbers that are far from the others of their row: they are cut off before the row is quantised, and multiplied apart.

#![expect(
    unsafe_code,
    reason = "vectors are stored by pointer and need instructions that are detected at run time; the caller makes room for all numbers of a row"
)]

use std::ops::Range;

/// What was cut off the numbers of several rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Far {
    /// The place of each number in its row.
    pub(super) places: Vec<u32>,
    /// What is missing of each.
    pub(super) missing: Vec<f32>,
    /// Where the numbers of each row end.
    ends: Vec<usize>,
}

impl Far {
    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.places.clear();
        self.missing.clear();
        self.ends.clear();
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.ends.len()
    }

    /// Which numbers are of this row.
    pub(super) fn row(&self, row: usize) -> Range<usize> {
        let first = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        first..self.ends[row]
    }

    /// Makes room for what is cut off a row of `length` numbers, and for one vector more: whole vectors are written, of which only a part is kept.
    pub(super) fn make_room(&mut self, length: usize) {
        self.places.reserve(length + 16);
        self.missing.reserve(length + 16);
    }

    /// Cuts off what lies beyond the limit.
    pub(super) fn cut(&mut self, place: u32, x: &mut f32, limit: f32) {
        let most = within(*x, limit);
        if most != *x {
            self.places.push(place);
            self.missing.push(*x - most);
        }
        *x = most;
    }

    /// Ends a row.
    pub(super) fn end_row(&mut self) {
        self.ends.push(self.places.len());
    }
}

/// The number, or the limit that is nearer to it. Not `clamp`, which panics where damaged weights have made the limit no number.
fn within(x: f32, limit: f32) -> f32 {
    x.max(-limit).min(limit)
}

/// [`Far::cut`] for sixteen numbers from place `first` on.
///
/// # Safety
/// `far` has room for sixteen more numbers.
#[inline]
pub(super) unsafe fn cut_each(part: &mut [f32; 16], limit: f32, first: u32, far: &mut Far) {
    // the sign of each difference, because the compiler joins signs with vectors
    let signs = part.iter().map(|x| (limit - x.abs()).to_bits());
    if signs.fold(0, |all, sign| all | sign) >> 31 == 1 {
        for (place, x) in (first..).zip(part) {
            far.cut(place, x, limit);
        }
    }
}

/// As [`cut_each`], with a vector. There is no branch, because it would often be guessed wrongly.
///
/// # Safety
/// The machine has AVX-512, and `far` has room for sixteen more numbers.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn cut_vector(part: &mut [f32; 16], limit: f32, first: u32, far: &mut Far) {
    use std::arch::x86_64::{
        _CMP_NEQ_UQ, _mm512_add_epi32, _mm512_cmp_ps_mask, _mm512_loadu_ps,
        _mm512_maskz_compress_epi32, _mm512_maskz_compress_ps, _mm512_max_ps, _mm512_min_ps,
        _mm512_set1_epi32, _mm512_set1_ps, _mm512_setr_epi32, _mm512_storeu_ps,
        _mm512_storeu_si512, _mm512_sub_ps,
    };
    let end = far.places.len();
    debug_assert!(far.places.capacity() >= end + 16 && far.missing.capacity() >= end + 16);
    // SAFETY: `part` has sixteen numbers, and the caller guarantees the room for sixteen after those that are there, of which the first `count` are
    // kept. Compressing happens in registers: some processors take very long to compress into memory.
    unsafe {
        let x = _mm512_loadu_ps(part.as_ptr());
        // of two operands, one of which is no number, these instructions take the second
        let most = _mm512_max_ps(_mm512_set1_ps(-limit), x);
        let most = _mm512_min_ps(_mm512_set1_ps(limit), most);
        let is_far = _mm512_cmp_ps_mask::<_CMP_NEQ_UQ>(most, x);
        _mm512_storeu_ps(part.as_mut_ptr(), most);
        let missing = _mm512_maskz_compress_ps(is_far, _mm512_sub_ps(x, most));
        _mm512_storeu_ps(far.missing.as_mut_ptr().add(end), missing);
        let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        let places = _mm512_add_epi32(lanes, _mm512_set1_epi32(first.cast_signed()));
        let places = _mm512_maskz_compress_epi32(is_far, places);
        _mm512_storeu_si512(far.places.as_mut_ptr().add(end).cast(), places);
        let count = is_far.count_ones() as usize;
        far.places.set_len(end + count);
        far.missing.set_len(end + count);
    }
}
