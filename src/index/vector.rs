//! Likeness of vectors.

/// The inner product of two vectors of one length; of unit vectors the cosine, in [-1, 1].
///
/// Added up in eight fixed lanes, so that the compiler can use vector instructions and the result
/// is the same to the last bit on every machine.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a8, a_rest) = a.as_chunks::<8>();
    let (b8, b_rest) = b.as_chunks::<8>();
    let mut lanes = [0f32; 8];
    for (x, y) in a8.iter().zip(b8) {
        for lane in 0..8 {
            lanes[lane] += x[lane] * y[lane];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + b) + (c + d)) + ((e + f) + (g + h)) + rest
}

#[cfg(test)]
mod tests {
    use super::dot;

    #[test]
    fn every_number_counts_once() {
        for n in [0usize, 1, 7, 8, 9, 384] {
            let ones = vec![1f32; n];
            let steps: Vec<f32> = (0..n).map(|i| i as f32).collect();
            assert_eq!(dot(&ones, &steps), (n * n.saturating_sub(1) / 2) as f32);
        }
    }
}
