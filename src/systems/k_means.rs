//! k-means: groups of vectors that are near to each other.
//!
//! The result is the same for any number of threads and on any machine. Matrix products, whose last bits depend on the machine, only narrow
//! down which centroids can be the nearest one; distances whose sums have a fixed order decide.

use rayon::prelude::*;
use riposte_eval::chance::SplitMix64;
use riposte_nn::transformer::LinearLayer;

/// Number of vectors that are compared with all centroids at once.
const BLOCK: usize = 1024;

/// Maximum number of steps, each of which moves all centroids.
const STEPS: usize = 300;

/// The search ends when the centroids have moved by less than this share of the mean variance of the vectors' numbers, as in scikit-learn.
const TOLERANCE: f64 = 1e-4;

/// Vectors in groups.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clusters {
    /// The mean vectors of the clusters, one after another.
    pub centroids: Vec<f32>,
    /// For each vector the number of its cluster, from 0.
    pub member_of: Vec<usize>,
}

/// Divides vectors into at most `k` clusters, so that the sum of the squared Euclidean distances between vectors and the mean vectors of
/// their clusters is small.
///
/// `vectors` has `dimension` numbers for each vector; an incomplete last one is ignored. The first centroids are drawn as in k-means++
/// (Arthur and Vassilvitskii, SODA 2007) with `seed`, and then moved by Lloyd's algorithm. There are fewer clusters than `k` if there are
/// fewer different vectors, and no cluster is empty. Without vectors there are none.
pub fn k_means(vectors: &[f32], dimension: usize, k: usize, seed: u64) -> Clusters {
    if dimension == 0 || k == 0 || vectors.len() < dimension {
        return Clusters::default();
    }
    let rows = Rows::new(vectors, dimension);
    let first = rows.first_centroids(k, SplitMix64(seed));
    rows.improved(first)
}

/// The squared Euclidean distance. It is summed in eight fixed lanes, as in [`crate::index::vector::dot`].
fn squared_distance(a: &[f32], b: &[f32]) -> f32 {
    let (a8, a_rest) = a.as_chunks::<8>();
    let (b8, b_rest) = b.as_chunks::<8>();
    let mut lanes = [0f32; 8];
    for (x, y) in a8.iter().zip(b8) {
        for lane in 0..8 {
            let d = x[lane] - y[lane];
            lanes[lane] += d * d;
        }
    }
    let rest: f32 = (a_rest.iter().zip(b_rest))
        .map(|(x, y)| (x - y) * (x - y))
        .sum();
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + b) + (c + d)) + ((e + f) + (g + h)) + rest
}

/// Draws a position with a probability proportional to its distance: the first at which the running sum of the distances exceeds `rest`. If rounding
/// keeps the sum below `rest`, the last position with a distance above 0 is drawn. `None` if no distance is above 0.
fn draw(distances: &[f32], mut rest: f64) -> Option<usize> {
    let mut drawn = None;
    for (at, distance) in distances.iter().enumerate() {
        if *distance > 0.0 {
            drawn = Some(at);
            rest -= f64::from(*distance);
            if rest < 0.0 {
                break;
            }
        }
    }
    drawn
}

/// The vectors to be clustered: at least one, of at least one number.
struct Rows<'a> {
    numbers: &'a [f32],
    dimension: usize,
    count: usize,
}

impl<'a> Rows<'a> {
    fn new(vectors: &'a [f32], dimension: usize) -> Self {
        let count = vectors.len() / dimension;
        Rows {
            numbers: &vectors[..count * dimension],
            dimension,
            count,
        }
    }

    fn row(&self, at: usize) -> &'a [f32] {
        &self.numbers[at * self.dimension..(at + 1) * self.dimension]
    }

    /// Draws at most `k` different vectors. The first one is drawn uniformly. For each further one, several candidates are drawn, each with a
    /// probability that is proportional to its squared distance to the nearest vector chosen so far. The candidate that leaves the smallest sum
    /// of these distances is chosen. The rule and the number of candidates are those of scikit-learn.
    fn first_centroids(&self, k: usize, mut random: SplitMix64) -> Vec<f32> {
        let candidates = 2 + (k as f64).ln() as usize;
        let drawn = ((random.fraction() * self.count as f64) as usize).min(self.count - 1);
        let mut centroids = self.row(drawn).to_vec();
        let (mut total, mut distances) = self.distances(drawn, &vec![f32::INFINITY; self.count]);
        for _ in 1..k {
            let mut best: Option<(f64, Vec<f32>, usize)> = None;
            for _ in 0..candidates {
                let Some(drawn) = draw(&distances, random.fraction() * total) else {
                    return centroids;
                };
                let (total, distances) = self.distances(drawn, &distances);
                if best.as_ref().is_none_or(|(least, _, _)| total < *least) {
                    best = Some((total, distances, drawn));
                }
            }
            let Some((left, nearest, drawn)) = best else {
                break;
            };
            centroids.extend_from_slice(self.row(drawn));
            (total, distances) = (left, nearest);
        }
        centroids
    }

    /// The squared distance of each vector to the nearest chosen vector, and the sum of these distances. `known` has the distances before vector `to`
    /// was chosen.
    fn distances(&self, to: usize, known: &[f32]) -> (f64, Vec<f32>) {
        let to = self.row(to);
        let mut distances = known.to_vec();
        let blocks = self.numbers.par_chunks(BLOCK * self.dimension);
        let sums: Vec<f64> = (blocks.zip(distances.par_chunks_mut(BLOCK)))
            .map(|(block, distances)| {
                let rows = block.chunks(self.dimension).zip(distances);
                rows.map(|(row, distance)| {
                    *distance = distance.min(squared_distance(row, to));
                    f64::from(*distance)
                })
                .sum()
            })
            .collect();
        (sums.iter().sum(), distances)
    }

    /// Lloyd's algorithm: until the centroids stop moving, each vector joins the nearest centroid, and each centroid becomes the mean of its
    /// vectors.
    fn improved(&self, mut centroids: Vec<f32>) -> Clusters {
        let tolerance = TOLERANCE * self.mean_variance();
        let mut member_of = self.nearest(&centroids);
        for _ in 0..STEPS {
            self.fill_empty(&centroids, &mut member_of);
            let moved = self.means(&centroids, &member_of);
            let shift: f64 = (moved.iter().zip(&centroids))
                .map(|(new, old)| f64::from(new - old).powi(2))
                .sum();
            centroids = moved;
            let members = self.nearest(&centroids);
            let is_settled = members == member_of;
            member_of = members;
            if is_settled || shift <= tolerance {
                break;
            }
        }
        // clusters that lost their vectors in the last step are left out
        self.without_empty(&centroids, member_of)
    }

    /// For each vector the number of the nearest centroid, or of the first one among equally near ones.
    fn nearest(&self, centroids: &[f32]) -> Vec<usize> {
        let k = centroids.len() / self.dimension;
        let squares = |row: &[f32]| crate::index::vector::dot(row, row);
        let halves: Vec<f32> = (centroids.chunks(self.dimension))
            .map(|centroid| squares(centroid) / -2.0)
            .collect();
        let longest = halves
            .iter()
            .fold(0f32, |longest, half| longest.max(-2.0 * half));
        // x · c - |c|² / 2 is largest for the nearest centroid
        let product = LinearLayer::new(centroids, k, Some(&halves)).ok();
        // Two sums of the same n products in different orders differ by at most n rounding errors of their size. This bound is twice as large.
        let roundings = 2.0 * (self.dimension + 8) as f32 * f32::EPSILON;
        let of_block = |block: &[f32]| -> Vec<usize> {
            let products = product.as_ref().and_then(|p| p.forward(block).ok());
            (block.chunks(self.dimension).enumerate())
                .map(|(at, row)| {
                    let products = products.as_ref().and_then(|p| p.get(at * k..(at + 1) * k));
                    let least = products.map_or(f32::NEG_INFINITY, |products| {
                        let largest = products.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                        largest - roundings * (squares(row) + longest)
                    });
                    let can_be_nearest =
                        |c: &usize| products.is_none_or(|p| p[*c] >= least || p[*c].is_nan());
                    let mut nearest = (f32::INFINITY, 0);
                    for c in (0..k).filter(can_be_nearest) {
                        let centroid = &centroids[c * self.dimension..(c + 1) * self.dimension];
                        let distance = squared_distance(row, centroid);
                        if distance < nearest.0 {
                            nearest = (distance, c);
                        }
                    }
                    nearest.1
                })
                .collect()
        };
        let blocks = self.numbers.par_chunks(BLOCK * self.dimension);
        blocks.flat_map_iter(of_block).collect()
    }

    /// Gives each empty cluster the vector that is farthest from its own centroid.
    fn fill_empty(&self, centroids: &[f32], member_of: &mut [usize]) {
        let mut sizes = vec![0usize; centroids.len() / self.dimension];
        member_of.iter().for_each(|c| sizes[*c] += 1);
        let empty: Vec<usize> = (0..sizes.len()).filter(|c| sizes[*c] == 0).collect();
        if empty.is_empty() {
            return;
        }
        let mut farthest: Vec<(f32, usize)> = (member_of.iter().enumerate())
            .map(|(at, c)| {
                let centroid = &centroids[c * self.dimension..(c + 1) * self.dimension];
                (squared_distance(self.row(at), centroid), at)
            })
            .collect();
        farthest.sort_by(|(a, i), (b, j)| b.total_cmp(a).then(i.cmp(j)));
        let mut farthest = farthest.into_iter().map(|(_, at)| at);
        for c in empty {
            // the only vector of a cluster stays in it
            let Some(at) = farthest.find(|at| sizes[member_of[*at]] > 1) else {
                return;
            };
            sizes[member_of[at]] -= 1;
            sizes[c] = 1;
            member_of[at] = c;
        }
    }

    /// The mean of the vectors of each cluster. A centroid without vectors stays where it is.
    fn means(&self, centroids: &[f32], member_of: &[usize]) -> Vec<f32> {
        let mut members = vec![Vec::new(); centroids.len() / self.dimension];
        for (at, c) in member_of.iter().enumerate() {
            members[*c].push(at);
        }
        let mut means = centroids.to_vec();
        let slots = means.par_chunks_mut(self.dimension).zip(&members);
        slots.for_each(|(mean, members)| {
            let mut sum = vec![0f64; self.dimension];
            for at in members {
                let numbers = self.row(*at).iter();
                sum.iter_mut()
                    .zip(numbers)
                    .for_each(|(s, x)| *s += f64::from(*x));
            }
            if !members.is_empty() {
                let size = members.len() as f64;
                mean.iter_mut()
                    .zip(sum)
                    .for_each(|(m, s)| *m = (s / size) as f32);
            }
        });
        means
    }

    /// The clusters that have vectors, renumbered.
    fn without_empty(&self, centroids: &[f32], mut member_of: Vec<usize>) -> Clusters {
        let mut numbers = vec![None; centroids.len() / self.dimension];
        member_of.iter().for_each(|c| numbers[*c] = Some(0));
        let mut kept = Vec::with_capacity(centroids.len());
        let mut count = 0;
        for (number, centroid) in numbers.iter_mut().zip(centroids.chunks(self.dimension)) {
            if let Some(number) = number {
                *number = count;
                count += 1;
                kept.extend_from_slice(centroid);
            }
        }
        for c in &mut member_of {
            *c = numbers[*c].unwrap_or(0);
        }
        Clusters {
            centroids: kept,
            member_of,
        }
    }

    /// The variance of the vectors in each dimension, averaged over the dimensions.
    fn mean_variance(&self) -> f64 {
        let mut sums = vec![(0f64, 0f64); self.dimension];
        for row in self.numbers.chunks(self.dimension) {
            for ((sum, squares), x) in sums.iter_mut().zip(row) {
                *sum += f64::from(*x);
                *squares += f64::from(*x).powi(2);
            }
        }
        let n = self.count as f64;
        let variance = |(sum, squares): &(f64, f64)| (squares / n - (sum / n).powi(2)).max(0.0);
        sums.iter().map(variance).sum::<f64>() / self.dimension as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of the squared distances between vectors and the centroids of their clusters.
    fn inertia(vectors: &[f32], dimension: usize, clusters: &Clusters) -> f64 {
        (vectors.chunks(dimension).zip(&clusters.member_of))
            .map(|(row, c)| {
                let centroid = &clusters.centroids[c * dimension..(c + 1) * dimension];
                f64::from(squared_distance(row, centroid))
            })
            .sum()
    }

    #[test]
    fn three_groups_in_the_plane_are_found() {
        // means (1, 0), (60, 60) and (-49, 38), worked out by hand
        let vectors = [
            0.0, 0.0, 2.0, 0.0, 59.0, 59.0, 61.0, 61.0, -49.0, 37.0, -49.0, 39.0, 1.0, 0.0,
        ];
        for seed in 0..20 {
            let found = k_means(&vectors, 2, 3, seed);
            let mut means: Vec<&[f32]> = found.centroids.chunks(2).collect();
            means.sort_by(|a, b| a[0].total_cmp(&b[0]));
            assert_eq!(means, [[-49.0, 38.0], [1.0, 0.0], [60.0, 60.0]]);
            let [a, b, c] = [0, 2, 4].map(|at| found.member_of[at]);
            assert_eq!(found.member_of, [a, a, b, b, c, c, a]);
            // 1 + 1 + 0, 2 + 2, 1 + 1
            assert_eq!(inertia(&vectors, 2, &found), 8.0);
        }
    }

    #[test]
    fn a_step_moves_a_vector_to_the_nearer_mean() {
        // from 0 and 1: {0}, {1, 4, 5} with means 0 and 10/3; then 1 is nearer to 0: {0, 1}, {4, 5}
        let rows = Rows::new(&[0.0, 1.0, 4.0, 5.0], 1);
        let found = rows.improved(vec![0.0, 1.0]);
        assert_eq!(found.centroids, [0.5, 4.5]);
        assert_eq!(found.member_of, [0, 0, 1, 1]);
    }

    #[test]
    fn an_empty_cluster_gets_the_farthest_vector() {
        // no vector is nearest to 100; 6 is farthest from its centroid
        let rows = Rows::new(&[0.0, 1.0, 6.0], 1);
        let found = rows.improved(vec![0.0, 100.0]);
        assert_eq!(found.centroids, [0.5, 6.0]);
        assert_eq!(found.member_of, [0, 0, 1]);
    }

    #[test]
    fn there_are_no_more_clusters_than_different_vectors() {
        let found = k_means(&[3.0, 3.0, 7.0, 3.0], 1, 4, 1);
        assert_eq!(found.centroids.len(), 2);
        let [a, b] = [found.member_of[0], found.member_of[2]];
        assert_eq!(found.member_of, [a, a, b, a]);
        assert_eq!(k_means(&[1.0, 2.0, 9.0], 2, 5, 1).member_of, [0]);
        for (dimension, k) in [(0, 3), (2, 0), (4, 3)] {
            let none = k_means(&[1.0, 2.0, 3.0], dimension, k, 1);
            assert_eq!(none, Clusters::default());
        }
    }

    #[test]
    fn vectors_that_are_not_numbers_are_members_of_a_cluster() {
        let found = k_means(&[1.0, f32::NAN, 5.0, f32::INFINITY], 1, 2, 1);
        assert_eq!(found.member_of.len(), 4);
        assert!(found.member_of.iter().all(|c| *c < found.centroids.len()));
    }

    /// Vectors from a generator of random bits that other programs can implement, too.
    fn scattered(count: usize, dimension: usize) -> Vec<f32> {
        let mut random = SplitMix64(7);
        let mut numbers = Vec::new();
        for at in 0..count {
            for d in 0..dimension {
                // eight groups, at the corners of a cube in the first three dimensions
                let corner = f64::from(u8::from(d < 3 && (at >> d) & 1 == 1));
                numbers.push((3.0 * corner + random.fraction()) as f32);
            }
        }
        numbers
    }

    #[test]
    fn the_sum_of_squares_is_that_of_scikit_learn() {
        // the expected sums are made by tests/reference/k_means.py
        let vectors = scattered(600, 5);
        let rows = Rows::new(&vectors, 5);
        for (k, expected) in [
            (4, SCIKIT_LEARN[0]),
            (8, SCIKIT_LEARN[1]),
            (12, SCIKIT_LEARN[2]),
        ] {
            let found = rows.improved(vectors[..k * 5].to_vec());
            let sum = inertia(&vectors, 5, &found);
            assert!((sum / expected - 1.0).abs() < 1e-4, "{k}: {sum} {expected}");
        }
    }

    /// The sums for 4, 8 and 12 clusters. The first vectors are the initial centroids.
    const SCIKIT_LEARN: [f64; 3] = [1593.1243, 246.29562, 222.91304];

    #[test]
    fn the_product_never_decides() {
        // many blocks, and centroids that are close to each other
        let vectors = scattered(3000, 19);
        let rows = Rows::new(&vectors, 19);
        let centroids = &vectors[..200 * 19];
        let exact: Vec<usize> = (vectors.chunks(19))
            .map(|row| {
                let distance = |c: usize| squared_distance(row, &centroids[c * 19..(c + 1) * 19]);
                (0..200)
                    .min_by(|a, b| distance(*a).total_cmp(&distance(*b)))
                    .unwrap()
            })
            .collect();
        assert_eq!(rows.nearest(centroids), exact);
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().unwrap();
            pool.install(|| k_means(&vectors, 19, 30, 5))
        };
        assert_eq!(on(1), on(3));
    }
}
