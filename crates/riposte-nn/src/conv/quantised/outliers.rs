//! Outliers, numbers far from the others of their row: they are clipped before the row is quantised, and their excess is multiplied separately.

#![expect(
    unsafe_code,
    reason = "vectors are stored by pointer and need instructions that are detected at run time; the caller makes room for all numbers of a row"
)]

/// The excess of the clipped numbers of several rows. Each excess is a whole number of its row's steps, so that its products are those of bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Outliers {
    /// The position of each number in its row, divided by four.
    pub(super) fours: Vec<u32>,
    /// The excess of each number, 1 to 255 steps of the row, in the byte that is the remainder of this division.
    pub(super) amounts: Vec<u32>,
    pub(super) rows: Vec<OutlierRow>,
    /// The positions of the clipped numbers in the row that is being clipped.
    places: Vec<u32>,
    /// Their excess, before it is rounded to steps.
    beyond: Vec<f32>,
}

/// The excess of one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OutlierRow {
    /// Where the numbers above zero begin and where those below zero begin and end.
    pub above: usize,
    pub below: usize,
    pub end: usize,
    pub step: f32,
}

impl Outliers {
    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.fours.clear();
        self.amounts.clear();
        self.rows.clear();
    }

    /// Begins a row of `length` numbers. Makes room for all of them and for one vector more: whole vectors are written, of which only a part is kept.
    pub(super) fn begin_row(&mut self, length: usize) {
        self.places.clear();
        self.beyond.clear();
        self.places.reserve(length + 16);
        self.beyond.reserve(length + 16);
    }

    /// Clips a number at the limit.
    pub(super) fn clip(&mut self, place: u32, x: &mut f32, limit: f32) {
        let most = within(*x, limit);
        if most != *x {
            self.places.push(place);
            self.beyond.push(*x - most);
        }
        *x = most;
    }

    /// Ends the row, which has the numbers from `above` on, those below zero from `below` on.
    fn end_row(&mut self, above: usize, below: usize, step: f32) {
        self.rows.push(OutlierRow {
            above,
            below,
            end: self.fours.len(),
            step,
        });
    }
}

/// The number, clipped at the limit. Not `clamp`, which panics if damaged weights have made the limit NaN.
fn within(x: f32, limit: f32) -> f32 {
    x.max(-limit).min(limit)
}

/// Rounds each excess up to a whole step, by clipping a little more than [`Outliers::clip`] has: then only what remains in the row is rounded. Ends
/// the row.
///
/// # Safety
/// It has no requirements. It is unsafe only because [`end_vectors`] is, which replaces it on other machines.
pub(super) unsafe fn end_each(row: &mut [f32], limit: f32, outliers: &mut Outliers) {
    let greatest = outliers
        .beyond
        .iter()
        .fold(0f32, |most, x| most.max(x.abs()));
    let step = greatest / 255.0;
    let per_step = step.recip();
    let above = outliers.fours.len();
    let mut below = above;
    for is_below in [false, true] {
        for (&place, &beyond) in outliers.places.iter().zip(&outliers.beyond) {
            if (beyond < 0.0) == is_below {
                let amount = ((beyond.abs() * per_step) as i32).min(254) + 1;
                let cut = (amount as f32 * step).copysign(beyond);
                row[place as usize] = limit.copysign(beyond) + (beyond - cut);
                outliers.fours.push(place / 4);
                outliers
                    .amounts
                    .push(amount.cast_unsigned() << (8 * (place % 4)));
            }
        }
        if !is_below {
            below = outliers.fours.len();
        }
    }
    outliers.end_row(above, below, step);
}

/// [`Outliers::clip`] for sixteen numbers from place `first` on.
///
/// # Safety
/// `outliers` has room for sixteen more numbers.
#[inline]
pub(super) unsafe fn clip_each(
    part: &mut [f32; 16],
    limit: f32,
    first: u32,
    outliers: &mut Outliers,
) {
    // the sign of each difference, because the compiler joins signs with vectors
    let signs = part.iter().map(|x| (limit - x.abs()).to_bits());
    if signs.fold(0, |all, sign| all | sign) >> 31 == 1 {
        for (place, x) in (first..).zip(part) {
            outliers.clip(place, x, limit);
        }
    }
}

/// As [`clip_each`], with a vector.
///
/// # Safety
/// The machine has AVX-512, and `outliers` has room for sixteen more numbers.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn clip_vector(
    part: &mut [f32; 16],
    limit: f32,
    first: u32,
    outliers: &mut Outliers,
) {
    use std::arch::x86_64::{
        _CMP_NEQ_UQ, _mm512_add_epi32, _mm512_cmp_ps_mask, _mm512_loadu_ps,
        _mm512_maskz_compress_epi32, _mm512_maskz_compress_ps, _mm512_max_ps, _mm512_min_ps,
        _mm512_set1_epi32, _mm512_set1_ps, _mm512_setr_epi32, _mm512_storeu_ps,
        _mm512_storeu_si512, _mm512_sub_ps,
    };
    // SAFETY: `part` has sixteen numbers, and the caller guarantees the room for sixteen after those that are there, of which the first `count` are
    // kept. Compressing happens in registers: some processors take very long to compress into memory.
    unsafe {
        let x = _mm512_loadu_ps(part.as_ptr());
        // if one operand is NaN, these instructions return the second
        let most = _mm512_max_ps(_mm512_set1_ps(-limit), x);
        let most = _mm512_min_ps(_mm512_set1_ps(limit), most);
        let is_outlier = _mm512_cmp_ps_mask::<_CMP_NEQ_UQ>(most, x);
        if is_outlier == 0 {
            return;
        }
        let end = outliers.places.len();
        debug_assert!(
            outliers.places.capacity() >= end + 16 && outliers.beyond.capacity() >= end + 16
        );
        _mm512_storeu_ps(part.as_mut_ptr(), most);
        let beyond = _mm512_maskz_compress_ps(is_outlier, _mm512_sub_ps(x, most));
        _mm512_storeu_ps(outliers.beyond.as_mut_ptr().add(end), beyond);
        let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        let places = _mm512_add_epi32(lanes, _mm512_set1_epi32(first.cast_signed()));
        let places = _mm512_maskz_compress_epi32(is_outlier, places);
        _mm512_storeu_si512(outliers.places.as_mut_ptr().add(end).cast(), places);
        let count = is_outlier.count_ones() as usize;
        outliers.places.set_len(end + count);
        outliers.beyond.set_len(end + count);
    }
}

/// As [`end_each`], sixteen numbers at a time.
///
/// # Safety
/// The machine has AVX-512, and `outliers` has places of the row, with room for sixteen more numbers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn end_vectors(row: &mut [f32], limit: f32, outliers: &mut Outliers) {
    use std::arch::x86_64::{
        __mmask16, _CMP_LT_OQ, _mm512_abs_ps, _mm512_add_epi32, _mm512_add_ps, _mm512_and_si512,
        _mm512_castps_si512, _mm512_castsi512_ps, _mm512_cmp_ps_mask, _mm512_cvtepi32_ps,
        _mm512_cvttps_epi32, _mm512_loadu_ps, _mm512_loadu_si512, _mm512_mask_i32scatter_ps,
        _mm512_mask_max_ps, _mm512_maskz_compress_epi32, _mm512_min_epi32, _mm512_mul_ps,
        _mm512_or_si512, _mm512_reduce_max_ps, _mm512_set1_epi32, _mm512_set1_ps,
        _mm512_setzero_ps, _mm512_slli_epi32, _mm512_sllv_epi32, _mm512_srli_epi32,
        _mm512_storeu_si512, _mm512_sub_ps,
    };
    let count = outliers.places.len();
    let above = outliers.fours.len();
    if count == 0 {
        return outliers.end_row(above, above, 0.0);
    }
    outliers.fours.reserve(count + 16);
    outliers.amounts.reserve(count + 16);
    let chunks = || {
        (0..count).step_by(16).map(|first| {
            let lanes: __mmask16 = if count - first < 16 {
                (1 << (count - first)) - 1
            } else {
                !0
            };
            (first, lanes)
        })
    };
    // SAFETY: the lists have room for sixteen numbers after those that are there, so whole vectors can be loaded and stored. Of these, only `lanes` are
    // used, whose places are in the row.
    unsafe {
        let mut greatest = _mm512_setzero_ps();
        for (first, lanes) in chunks() {
            let beyond = _mm512_loadu_ps(outliers.beyond.as_ptr().add(first));
            greatest = _mm512_mask_max_ps(greatest, lanes, greatest, _mm512_abs_ps(beyond));
        }
        let step = _mm512_reduce_max_ps(greatest) / 255.0;
        let per_step = _mm512_set1_ps(step.recip());
        let mut end = above;
        let mut below = above;
        for is_below in [false, true] {
            for (first, lanes) in chunks() {
                let beyond = _mm512_loadu_ps(outliers.beyond.as_ptr().add(first));
                let place = _mm512_loadu_si512(outliers.places.as_ptr().add(first).cast());
                let negative = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(beyond, _mm512_setzero_ps());
                let wanted = lanes & if is_below { negative } else { !negative };
                let amount = _mm512_cvttps_epi32(_mm512_mul_ps(_mm512_abs_ps(beyond), per_step));
                let amount = _mm512_min_epi32(amount, _mm512_set1_epi32(254));
                let amount = _mm512_add_epi32(amount, _mm512_set1_epi32(1));

                let sign =
                    _mm512_and_si512(_mm512_castps_si512(beyond), _mm512_set1_epi32(i32::MIN));
                let cut = _mm512_mul_ps(_mm512_cvtepi32_ps(amount), _mm512_set1_ps(step));
                let cut = _mm512_castsi512_ps(_mm512_or_si512(_mm512_castps_si512(cut), sign));
                let most = _mm512_or_si512(_mm512_castps_si512(_mm512_set1_ps(limit)), sign);
                let left = _mm512_add_ps(_mm512_castsi512_ps(most), _mm512_sub_ps(beyond, cut));
                _mm512_mask_i32scatter_ps::<4>(row.as_mut_ptr(), wanted, place, left);

                let byte = _mm512_and_si512(place, _mm512_set1_epi32(3));
                let amount = _mm512_sllv_epi32(amount, _mm512_slli_epi32::<3>(byte));
                let four = _mm512_srli_epi32::<2>(place);
                let to = outliers.fours.as_mut_ptr().add(end);
                _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi32(wanted, four));
                let to = outliers.amounts.as_mut_ptr().add(end);
                _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi32(wanted, amount));
                end += wanted.count_ones() as usize;
            }
            if !is_below {
                below = end;
            }
        }
        outliers.fours.set_len(end);
        outliers.amounts.set_len(end);
        outliers.end_row(above, below, step);
    }
}
