//! Vectors of unit length: similarity and mean.

/// The inner product of two vectors of the same length. For unit vectors it is the cosine, in [-1, 1].
///
/// The sum has eight fixed lanes, so that the compiler can use vector instructions and the result has the same bits on every machine.
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

/// The normalised mean of unit vectors, such as those of the prompts of a group.
///
/// The result is empty if there are no vectors. If their lengths differ, numbers beyond the shortest are ignored.
#[cfg(feature = "full")]
pub(crate) fn mean_direction(vectors: &[Vec<f32>]) -> Vec<f32> {
    let shortest = vectors.iter().map(Vec::len).min().unwrap_or(0);
    let mut sum = vec![0.0; shortest];
    for vector in vectors {
        sum.iter_mut()
            .zip(vector)
            .for_each(|(sum, value)| *sum += value);
    }
    let length = dot(&sum, &sum).sqrt();
    if length > 0.0 {
        sum.iter_mut().for_each(|value| *value /= length);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::{dot, mean_direction};

    #[test]
    fn the_mean_direction_is_between_the_vectors() {
        let mean = mean_direction(&[vec![1.0, 0.0, 0.0], vec![0.0, 1.0, 0.0]]);
        let half = 0.5_f32.sqrt();
        for (value, expected) in mean.iter().zip([half, half, 0.0]) {
            assert!((value - expected).abs() < 1e-6, "{mean:?}");
        }
        assert_eq!(mean.len(), 3);
        assert!(mean_direction(&[]).is_empty());
    }

    #[test]
    fn every_number_counts_once() {
        for n in [0usize, 1, 7, 8, 9, 384] {
            let ones = vec![1f32; n];
            let steps: Vec<f32> = (0..n).map(|i| i as f32).collect();
            assert_eq!(dot(&ones, &steps), (n * n.saturating_sub(1) / 2) as f32);
        }
    }
}
