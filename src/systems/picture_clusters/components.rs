//! Principal components: fewer numbers for each vector, which preserve as much of the variance between vectors as that many numbers can.

use rayon::prelude::*;
use riposte_eval::chance::SplitMix64;

/// Maximum number of steps of the orthogonal iteration. Each step reduces the error of a component by the ratio of two neighbouring variances.
const STEPS: usize = 1000;

/// The iteration ends when a step moves less than this share of the variance between the components.
const TOLERANCE: f64 = 1e-12;

/// Maximum number of parts whose covariances are computed at once.
const PARTS: usize = 16;

/// Projects vectors on the `count` directions of their largest variance (PCA), after subtracting their mean. `vectors` has `dimension` numbers
/// for each vector; an incomplete last one is ignored. The result has `count` numbers for each vector, or `dimension` if that is smaller;
/// without vectors it is empty. Sums are in double precision and a fixed order, so the result has the same bits on every machine.
pub(crate) fn principal_components(vectors: &[f32], dimension: usize, count: usize) -> Vec<f32> {
    let count = count.min(dimension);
    if count == 0 || vectors.len() < dimension {
        return Vec::new();
    }
    let rows = vectors.len() / dimension;
    let vectors = &vectors[..rows * dimension];
    let mut mean = vec![0f64; dimension];
    for row in vectors.chunks(dimension) {
        let numbers = mean.iter_mut().zip(row);
        numbers.for_each(|(m, x)| *m += f64::from(*x) / rows as f64);
    }
    let covariance = covariance(vectors, &mean, dimension);
    let directions = directions(&covariance, dimension, count);
    vectors
        .par_chunks(dimension)
        .flat_map_iter(|row| {
            let centred: Vec<f64> = row
                .iter()
                .zip(&mean)
                .map(|(x, m)| f64::from(*x) - m)
                .collect();
            let directions = directions.iter();
            directions.map(move |direction| dot(&centred, direction) as f32)
        })
        .collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The covariance matrix of the vectors times their number, row after row.
fn covariance(vectors: &[f32], mean: &[f64], dimension: usize) -> Vec<f64> {
    let rows_in_part = (vectors.len() / dimension).div_ceil(PARTS);
    let parts: Vec<Vec<f64>> = vectors
        .par_chunks(rows_in_part * dimension)
        .map(|part| {
            let mut sums = vec![0f64; dimension * dimension];
            for row in part.chunks(dimension) {
                let centred: Vec<f64> = row
                    .iter()
                    .zip(mean)
                    .map(|(x, m)| f64::from(*x) - m)
                    .collect();
                for (x, sums) in centred.iter().zip(sums.chunks_mut(dimension)) {
                    sums.iter_mut()
                        .zip(&centred)
                        .for_each(|(sum, y)| *sum += x * y);
                }
            }
            sums
        })
        .collect();
    let mut total = vec![0f64; dimension * dimension];
    for part in parts {
        total
            .iter_mut()
            .zip(part)
            .for_each(|(total, x)| *total += x);
    }
    total
}

/// The eigenvectors of the `count` largest eigenvalues of a symmetric matrix, by orthogonal iteration. Eigenvectors of the eigenvalue 0 are
/// zeros.
fn directions(matrix: &[f64], dimension: usize, count: usize) -> Vec<Vec<f64>> {
    let mut random = SplitMix64(1);
    let mut directions = vec![vec![0f64; dimension]; count];
    let numbers = directions.iter_mut().flatten();
    numbers.for_each(|x| *x = random.fraction() - 0.5);
    make_orthonormal(&mut directions);
    let mut variances = vec![0f64; count];
    for _ in 0..STEPS {
        let mut next: Vec<Vec<f64>> = (directions.iter())
            .map(|direction| {
                let rows = matrix.chunks(dimension);
                rows.map(|row| dot(row, direction)).collect()
            })
            .collect();
        let pairs = next.iter().zip(&directions);
        let now: Vec<f64> = pairs
            .map(|(next, direction)| dot(next, direction))
            .collect();
        make_orthonormal(&mut next);
        directions = next;
        let moved: f64 = now.iter().zip(&variances).map(|(a, b)| (a - b).abs()).sum();
        if moved <= TOLERANCE * now.iter().sum::<f64>() {
            break;
        }
        variances = now;
    }
    directions
}

/// Makes vectors orthogonal to those before them, and of unit length. A vector that depends linearly on those before it becomes zeros.
fn make_orthonormal(vectors: &mut [Vec<f64>]) {
    for at in 0..vectors.len() {
        let (before, rest) = vectors.split_at_mut(at);
        let Some(own) = rest.first_mut() else {
            continue;
        };
        let length_before = dot(own, own).sqrt();
        // the second pass removes rounding errors of the first
        for _ in 0..2 {
            for other in before.iter() {
                let shared = dot(own, other);
                own.iter_mut()
                    .zip(other)
                    .for_each(|(x, y)| *x -= shared * y);
            }
        }
        let length = dot(own, own).sqrt();
        let scale = if length > 1e-12 * length_before {
            length.recip()
        } else {
            0.0
        };
        own.iter_mut().for_each(|x| *x *= scale);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f32, b: f64) -> bool {
        (f64::from(a) - b).abs() < 1e-5
    }

    #[test]
    fn the_first_component_has_the_largest_variance() {
        // around (10, 20): the distances are 3 along (1, 1) and 1 along (1, -1)
        let vectors = [13.0, 23.0, 7.0, 17.0, 11.0, 19.0, 9.0, 21.0];
        let root = 2f64.sqrt();
        let one = principal_components(&vectors, 2, 1);
        let sign = f64::from(one[0].signum());
        let expected = [3.0 * root, -3.0 * root, 0.0, 0.0];
        for (found, expected) in one.iter().zip(expected) {
            assert!(near(*found, sign * expected), "{one:?}");
        }
        let both = principal_components(&vectors, 2, 5);
        assert_eq!(both.len(), 8);
        let second: Vec<f32> = both.chunks(2).map(|row| row[1].abs()).collect();
        for (found, expected) in second.iter().zip([0.0, 0.0, root, root]) {
            assert!(near(*found, expected), "{both:?}");
        }
    }

    #[test]
    fn vectors_on_a_line_have_one_component() {
        let found = principal_components(&[0.0, 0.0, 0.0, 1.0, 2.0, 2.0, 2.0, 4.0, 4.0], 3, 2);
        let distances: Vec<f32> = found.chunks(2).map(|row| row[0].abs()).collect();
        assert!(
            near(distances[0], 3.0) && near(distances[2], 3.0),
            "{found:?}"
        );
        assert!(found.chunks(2).all(|row| row[1].abs() < 1e-5), "{found:?}");
    }

    #[test]
    fn equal_vectors_have_no_component_and_none_have_no_numbers() {
        assert_eq!(
            principal_components(&[1.0, 2.0, 1.0, 2.0], 2, 1),
            [0.0, 0.0]
        );
        assert!(principal_components(&[], 2, 1).is_empty());
        assert!(principal_components(&[1.0], 2, 1).is_empty());
        assert!(principal_components(&[1.0], 1, 0).is_empty());
    }
}
