//! LambdaMART (Burges 2010): gradient-boosted regression trees for rankings. Each tree is fitted to the gradients of nDCG, which are computed
//! from pairs of documents of one topic with different grades. The formulas are those of LightGBM's `lambdarank` with
//! `lambdarank_norm=false`, but a feature can be split between any two of its values.

use riposte::systems::trees::{FeatureValues, Node, Split as NodeSplit};

/// The documents of a topic.
pub struct Group {
    /// One row for each document.
    pub features: Vec<FeatureValues>,
    /// Their grades, from 0.
    pub grades: Vec<u32>,
}

/// How trees are grown.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    pub trees: usize,
    pub rate: f64,
    /// Maximum number of leaves of a tree.
    pub leaves: usize,
    /// Minimum number of documents in a leaf. (LightGBM estimates it from second derivatives, which are almost 0 for documents far from the top.)
    pub rows: usize,
    /// Minimum sum of second derivatives in a leaf.
    pub hessian: f64,
    /// The cutoff of nDCG.
    pub cutoff: usize,
}

/// The first and second derivative of the loss by the score of a document.
#[derive(Clone, Copy, Debug, Default)]
struct Gradient {
    first: f64,
    second: f64,
}

impl std::ops::AddAssign for Gradient {
    fn add_assign(&mut self, other: Self) {
        self.first += other.first;
        self.second += other.second;
    }
}

impl std::ops::Sub for Gradient {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Gradient {
            first: self.first - other.first,
            second: self.second - other.second,
        }
    }
}

impl Gradient {
    /// Twice the amount by which the loss falls if these documents get their best common value.
    fn gain(self) -> f64 {
        if self.second > 0.0 {
            self.first * self.first / self.second
        } else {
            0.0
        }
    }

    /// Their best common value.
    fn value(self) -> f64 {
        if self.second > 0.0 {
            -self.first / self.second
        } else {
            0.0
        }
    }
}

fn gain(grade: u32) -> f64 {
    f64::from(grade).exp2() - 1.0
}

fn discount(rank: usize) -> f64 {
    1.0 / (rank as f64 + 2.0).log2()
}

/// The gradients of a topic's documents at these scores.
fn gradients(grades: &[u32], scores: &[f64], cutoff: usize) -> Vec<Gradient> {
    let mut found = vec![Gradient::default(); grades.len()];
    let mut ideal: Vec<f64> = grades.iter().map(|grade| gain(*grade)).collect();
    ideal.sort_by(|a, b| b.total_cmp(a));
    let best: f64 = ideal
        .iter()
        .take(cutoff)
        .zip(0..)
        .map(|(g, rank)| g * discount(rank))
        .sum();
    if best == 0.0 {
        return found;
    }
    let mut order: Vec<usize> = (0..grades.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    for first in 0..cutoff.min(order.len()) {
        for second in first + 1..order.len() {
            let (a, b) = (order[first], order[second]);
            if grades[a] == grades[b] {
                continue;
            }
            let (high, low) = if grades[a] > grades[b] {
                (a, b)
            } else {
                (b, a)
            };
            let change = (gain(grades[high]) - gain(grades[low]))
                * (discount(first) - discount(second))
                / best;
            // the probability of the wrong order
            let wrong = 1.0 / (1.0 + (scores[high] - scores[low]).exp());
            let step = Gradient {
                first: -change * wrong,
                second: change * wrong * (1.0 - wrong),
            };
            found[high] += step;
            found[low] += Gradient {
                first: -step.first,
                second: step.second,
            };
        }
    }
    found
}

/// A leaf that can be split.
struct Candidate {
    rows: Vec<usize>,
    sum: Gradient,
    split: Option<Split>,
    /// Its place among the nodes.
    node: usize,
}

struct Split {
    feature: usize,
    threshold: f64,
    gain: f64,
}

/// The value of a feature. A missing value is smaller than all others.
fn value(row: &FeatureValues, feature: usize) -> f64 {
    row.get(feature).copied().flatten().unwrap_or(f64::MIN)
}

/// The best split of these rows; the first if several are equally good.
fn best_split(
    features: &[&FeatureValues],
    gradients: &[Gradient],
    rows: &[usize],
    sum: Gradient,
    growth: &Growth,
) -> Option<Split> {
    let mut best: Option<Split> = None;
    let columns = features.first().map_or(0, |row| row.len());
    let mut sorted = rows.to_vec();
    for feature in 0..columns {
        let value = |row: usize| value(features[row], feature);
        sorted.sort_by(|a, b| value(*a).total_cmp(&value(*b)).then(a.cmp(b)));
        let mut left = Gradient::default();
        for (at, pair) in (1..).zip(sorted.windows(2)) {
            let [here, next] = [pair[0], pair[1]];
            left += gradients[here];
            let right = sum - left;
            let is_too_small = at < growth.rows
                || sorted.len() - at < growth.rows
                || left.second.min(right.second) < growth.hessian;
            if value(here) == value(next) || is_too_small {
                continue;
            }
            let gain = left.gain() + right.gain() - sum.gain();
            if gain > best.as_ref().map_or(1e-9, |best| best.gain) {
                best = Some(Split {
                    feature,
                    threshold: between(value(here), value(next)),
                    gain,
                });
            }
        }
    }
    best
}

/// A number with few digits from `low` up to, but not including, `high`.
fn between(low: f64, high: f64) -> f64 {
    let middle = low / 2.0 + high / 2.0;
    let rounded = (2..16).map(|digits: i32| {
        let unit = 10f64.powi(digits);
        (middle * unit).round() / unit
    });
    let mut fitting = rounded.filter(|middle| (low..high).contains(middle));
    fitting.next().unwrap_or(low)
}

/// A tree that is fitted to the gradients: the leaf whose split has the largest gain is split first.
fn tree(features: &[&FeatureValues], gradients: &[Gradient], growth: &Growth) -> Node {
    enum Grown {
        Leaf(Gradient, usize),
        Split(usize, f64, usize, usize),
    }
    let leaf = |rows: Vec<usize>, node: usize| {
        let mut sum = Gradient::default();
        rows.iter().for_each(|row| sum += gradients[*row]);
        Candidate {
            split: best_split(features, gradients, &rows, sum, growth),
            rows,
            sum,
            node,
        }
    };
    let mut nodes = vec![Grown::Leaf(Gradient::default(), 0)];
    let mut leaves = vec![leaf((0..features.len()).collect(), 0)];
    while leaves.len() < growth.leaves {
        let gain = |leaf: &Candidate| leaf.split.as_ref().map_or(0.0, |split| split.gain);
        let mut best = 0;
        for (at, leaf) in leaves.iter().enumerate() {
            if gain(leaf) > gain(&leaves[best]) {
                best = at;
            }
        }
        if leaves[best].split.is_none() {
            break;
        }
        let Candidate {
            rows, split, node, ..
        } = leaves.swap_remove(best);
        let Some(split) = split else { break };
        let (left, right) = rows
            .into_iter()
            .partition(|row| value(features[*row], split.feature) <= split.threshold);
        let next = nodes.len();
        nodes[node] = Grown::Split(split.feature, split.threshold, next, next + 1);
        for (rows, node) in [(left, next), (right, next + 1)] {
            nodes.push(Grown::Leaf(Gradient::default(), 0));
            leaves.push(leaf(rows, node));
        }
    }
    for leaf in &leaves {
        nodes[leaf.node] = Grown::Leaf(leaf.sum, leaf.rows.len());
    }
    /// The node and the number of documents in it.
    fn build(nodes: &[Grown], at: usize, rate: f64) -> (Node, usize) {
        match nodes[at] {
            Grown::Leaf(sum, rows) => {
                let value = rounded(rate * sum.value());
                (Node::Leaf { value }, rows)
            }
            Grown::Split(feature, threshold, left, right) => {
                let (left, rows_left) = build(nodes, left, rate);
                let (right, rows_right) = build(nodes, right, rate);
                let rows = rows_left + rows_right;
                let sum = left.mean() * rows_left as f64 + right.mean() * rows_right as f64;
                let node = Node::Split(NodeSplit {
                    feature,
                    threshold,
                    mean: rounded(sum / rows.max(1) as f64),
                    left: Box::new(left),
                    right: Box::new(right),
                });
                (node, rows)
            }
        }
    }
    build(&nodes, 0, growth.rate).0
}

/// Rounds to the digits that the weight file has.
fn rounded(x: f64) -> f64 {
    (x * 1e6).round() / 1e6
}

/// The value of the leaf that a document reaches.
fn predict(tree: &Node, row: &FeatureValues) -> f64 {
    match tree {
        Node::Leaf { value } => *value,
        Node::Split(split) if value(row, split.feature) <= split.threshold => {
            predict(&split.left, row)
        }
        Node::Split(split) => predict(&split.right, row),
    }
}

/// Learns trees that rank the documents of each group by their grades.
pub fn learn(groups: &[&Group], growth: &Growth) -> Vec<Node> {
    let features: Vec<&FeatureValues> = groups.iter().flat_map(|group| &group.features).collect();
    let mut scores = vec![0.0; features.len()];
    let mut trees = Vec::new();
    for _ in 0..growth.trees {
        let mut all = Vec::with_capacity(features.len());
        for group in groups {
            let own = &scores[all.len()..all.len() + group.grades.len()];
            all.extend(gradients(&group.grades, own, growth.cutoff));
        }
        let tree = tree(&features, &all, growth);
        if matches!(tree, Node::Leaf { .. }) {
            break;
        }
        for (score, row) in scores.iter_mut().zip(&features) {
            *score += predict(&tree, row);
        }
        trees.push(tree);
    }
    trees
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three topics of eight documents with two features.
    fn groups() -> Vec<Group> {
        let group = |topic: usize| Group {
            features: (0..8)
                .map(|document| {
                    let first = ((document * 5 + topic * 3) % 8) as f64 + topic as f64 * 0.1;
                    let second = ((document * 3 + topic) % 7) as f64 * 1.5;
                    vec![Some(first), Some(second)]
                })
                .collect(),
            grades: (0..8)
                .map(|document| [0, 2, 1, 0, 1, 0, 0, 2][(document + topic * 2) % 8])
                .collect(),
        };
        (0..3).map(group).collect()
    }

    const GROWTH: Growth = Growth {
        trees: 1,
        rate: 0.1,
        leaves: 4,
        rows: 1,
        hessian: 0.2,
        cutoff: 5,
    };

    /// The scores of LightGBM 4.7.0 after 1 and after 10 trees, with objective lambdarank, lambdarank_norm false,
    /// lambdarank_truncation_level 5, num_leaves 4, learning_rate 0.1, min_data_in_leaf 0, min_sum_hessian_in_leaf 0.2, max_bin 1000,
    /// min_data_in_bin 1, label_gain 0, 1, 3. LightGBM reads the sigmoid from a table, and computes in 32 bits.
    const REFERENCE: [(usize, [f64; 24]); 2] = [
        (
            1,
            [
                -0.175427, 0.15777, -0.175427, 0.067556, -0.103319, -0.175427, 0.15777, 0.067556,
                0.067556, -0.175427, 0.067556, -0.175427, -0.103319, 0.067556, -0.175427, 0.067556,
                0.067556, -0.103319, -0.175427, 0.15777, -0.175427, 0.15777, -0.103319, -0.175427,
            ],
        ),
        (
            10,
            [
                -1.329949, 1.162225, -1.329949, 0.098598, -1.01341, -1.329949, 0.188813, 0.942234,
                0.942234, -1.329949, 0.969244, -1.329949, -0.990848, 1.072011, -1.329949, 0.098598,
                0.098598, -1.01341, -1.329949, 1.059458, -1.329949, 0.188813, -0.883633, -1.329949,
            ],
        ),
    ];

    #[test]
    fn scores_equal_those_of_lightgbm() {
        let groups = groups();
        let groups: Vec<&Group> = groups.iter().collect();
        for (trees, expected) in REFERENCE {
            let learned = learn(&groups, &Growth { trees, ..GROWTH });
            assert_eq!(learned.len(), trees);
            let rows = groups.iter().flat_map(|group| &group.features);
            for (row, expected) in rows.zip(expected) {
                let score: f64 = learned.iter().map(|tree| predict(tree, row)).sum();
                assert!(
                    (score - expected).abs() < 1e-4,
                    "{trees}: {score} {expected}"
                );
            }
        }
    }

    #[test]
    fn gradients_of_a_pair_in_the_wrong_order() {
        // nDCG@5 falls by (3 - 0) · (1 - 1 / log2(3)) / 3 if the documents are exchanged; both orders are equally probable
        let change = 1.0 - 1.0 / 3f64.log2();
        let found = gradients(&[0, 2], &[0.0, 0.0], 5);
        for (gradient, sign) in found.iter().zip([1.0, -1.0]) {
            assert!((gradient.first - sign * change / 2.0).abs() < 1e-12);
            assert!((gradient.second - change / 4.0).abs() < 1e-12);
        }
        // a topic without a relevant document teaches nothing
        let none = gradients(&[0, 0], &[0.0, 1.0], 5);
        assert!(none.iter().all(|g| g.first == 0.0 && g.second == 0.0));
    }

    #[test]
    fn trees_learn_a_feature_that_tells_grades_apart_and_nothing_from_noise() {
        let grades: Vec<u32> = (0..40)
            .map(|document| u32::from(document % 4 == 0))
            .collect();
        let told = Group {
            features: grades
                .iter()
                .map(|grade| vec![None, Some(f64::from(*grade))])
                .collect(),
            grades: grades.clone(),
        };
        let trees = learn(&[&told], &GROWTH);
        let Node::Split(NodeSplit {
            feature, threshold, ..
        }) = &trees[0]
        else {
            panic!("no split: {trees:?}");
        };
        assert_eq!((*feature, *threshold), (1, 0.5));
        assert!(
            predict(&trees[0], &vec![None, Some(1.0)]) > predict(&trees[0], &vec![None, Some(0.0)])
        );
        let constant = Group {
            features: vec![vec![Some(1.0)]; 40],
            grades,
        };
        assert!(learn(&[&constant], &GROWTH).is_empty());
    }
}
