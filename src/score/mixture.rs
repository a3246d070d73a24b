//! Mixes two values of each document of a list into a weighted sum.

use serde::Deserialize;

/// How the values of a list are scaled before they are mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scaling {
    /// The values are not scaled.
    None,
    /// The smallest value of the list becomes 0 and the largest 1. If all values are equal, they become 0.
    MinMax,
}

/// The two scaled values of a document, and their mixture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mixed {
    pub scaled: [f64; 2],
    pub value: f64,
}

/// `weight · first + (1 - weight) · second` for each document of a list. The values are scaled within this list first.
pub(crate) fn mix(list: &[[f64; 2]], weight: f64, scaling: Scaling) -> Vec<Mixed> {
    let range = |of: usize| {
        let values = || list.iter().map(move |pair| pair[of]);
        let low = values().fold(f64::INFINITY, f64::min);
        (low, values().fold(f64::NEG_INFINITY, f64::max) - low)
    };
    let ranges = [range(0), range(1)];
    let scaled = |of: usize, value: f64| match (scaling, ranges[of]) {
        (Scaling::None, _) => value,
        (Scaling::MinMax, (low, width)) if width > 0.0 => (value - low) / width,
        (Scaling::MinMax, _) => 0.0,
    };
    list.iter()
        .map(|[first, second]| {
            let scaled = [scaled(0, *first), scaled(1, *second)];
            Mixed {
                scaled,
                value: weight * scaled[0] + (1.0 - weight) * scaled[1],
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_documents_are_mixed_within_their_own_list() {
        let list = [[-9.0, 0.1], [-5.0, 0.3], [-6.0, 0.2]];
        let values = |list: &[[f64; 2]], weight, scaling| -> Vec<f64> {
            let mixed = mix(list, weight, scaling).into_iter();
            mixed.map(|m| (m.value * 1e6).round() / 1e6).collect()
        };
        // scaled: 0, 1, .75 and 0, 1, .5
        assert_eq!(values(&list, 0.5, Scaling::MinMax), [0.0, 1.0, 0.625]);
        assert_eq!(values(&list, 0.1, Scaling::MinMax), [0.0, 1.0, 0.525]);
        assert_eq!(values(&list, 0.1, Scaling::None), [-0.81, -0.23, -0.42]);
        // without the second document, the third one is the best of the list
        let rest = [list[0], list[2]];
        assert_eq!(values(&rest, 0.5, Scaling::MinMax), [0.0, 1.0]);
        // equal values become 0
        assert_eq!(values(&[[3.0, 2.0]], 0.5, Scaling::MinMax), [0.0]);
        assert!(mix(&[], 0.5, Scaling::MinMax).is_empty());
    }
}
