//! Small networks of dense layers.

use anyhow::{Result, ensure};
use serde::Deserialize;

/// A dense layer: a row of weights and a bias for each output.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DenseLayer {
    pub weights: Vec<Vec<f64>>,
    pub bias: Vec<f64>,
}

impl DenseLayer {
    /// W · x + b.
    pub fn apply(&self, x: &[f64]) -> Vec<f64> {
        let outputs = self.weights.iter().zip(&self.bias);
        outputs
            .map(|(row, bias)| bias + row.iter().zip(x).map(|(w, x)| w * x).sum::<f64>())
            .collect()
    }
}

/// The input and the outputs of all layers. [`relu`] is applied to the outputs of every layer except the last.
pub fn activations(layers: &[DenseLayer], x: &[f64]) -> Vec<Vec<f64>> {
    let mut outputs = vec![x.to_vec()];
    for (at, layer) in layers.iter().enumerate() {
        let mut output = layer.apply(outputs.last().map_or(&[], Vec::as_slice));
        if at + 1 < layers.len() {
            relu(&mut output);
        }
        outputs.push(output);
    }
    outputs
}

/// The outputs of the last layer.
pub fn outputs(layers: &[DenseLayer], x: &[f64]) -> Vec<f64> {
    activations(layers, x).pop().unwrap_or_default()
}

/// Sets negative numbers to 0.
pub fn relu(x: &mut [f64]) {
    x.iter_mut().for_each(|x| *x = x.max(0.0));
}

/// Probabilities that are proportional to the exponentials of the values.
pub fn softmax(x: &[f64]) -> Vec<f64> {
    let largest = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = x.iter().map(|x| (x - largest).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|power| power / sum).collect()
}

/// Checks that the layers have the sizes `sizes`: the number of inputs, then the number of outputs of each layer.
///
/// # Errors
/// A layer has another size, or a weight is not finite.
pub(crate) fn check(name: &str, layers: &[DenseLayer], sizes: &[usize]) -> Result<()> {
    ensure!(
        layers.len() + 1 == sizes.len(),
        "{name} has {} layers, not {}",
        layers.len(),
        sizes.len().saturating_sub(1)
    );
    for (layer, size) in layers.iter().zip(sizes.windows(2)) {
        let &[inputs, outputs] = size else {
            continue;
        };
        let fits = layer.weights.len() == outputs
            && layer.bias.len() == outputs
            && layer.weights.iter().all(|row| row.len() == inputs);
        ensure!(
            fits,
            "a layer of {name} does not have {inputs} × {outputs} weights"
        );
        let mut numbers = layer.weights.iter().flatten().chain(&layer.bias);
        ensure!(
            numbers.all(|x| x.is_finite()),
            "{name} has weights that are not finite numbers"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense(weights: &[&[f64]], bias: &[f64]) -> DenseLayer {
        DenseLayer {
            weights: weights.iter().map(|row| row.to_vec()).collect(),
            bias: bias.to_vec(),
        }
    }

    #[test]
    fn two_layers_give_the_numbers_worked_out_by_hand() {
        let layers = [
            dense(&[&[1.0, 2.0], &[-1.0, 0.5]], &[0.5, 0.0]),
            dense(&[&[2.0, 10.0]], &[-1.0]),
        ];
        // 3 + 2 · 1 + .5 = 5.5, and -3 + .5 < 0; 2 · 5.5 - 1 = 10
        let found = activations(&layers, &[3.0, 1.0]);
        assert_eq!(found, [vec![3.0, 1.0], vec![5.5, 0.0], vec![10.0]]);
        // the last layer may be negative: 2 · .5 · 0 - 1
        assert_eq!(outputs(&layers, &[-0.5, 0.0]), [-1.0 + 10.0 * 0.5]);
        assert_eq!(outputs(&layers[1..], &[0.0, 0.0]), [-1.0]);
        check("net", &layers, &[2, 2, 1]).unwrap();
        assert!(check("net", &layers, &[2, 3, 1]).is_err());
        assert!(check("net", &layers, &[2, 1]).is_err());
        let broken = [dense(&[&[f64::NAN]], &[0.0])];
        assert!(check("net", &broken, &[1, 1]).is_err());
    }

    #[test]
    fn probabilities_add_up_to_one() {
        let found = softmax(&[0.0, 3f64.ln(), 6f64.ln()]);
        for (found, expected) in found.iter().zip([0.1, 0.3, 0.6]) {
            assert!((found - expected).abs() < 1e-12, "{found}");
        }
        assert_eq!(softmax(&[1000.0, 1000.0]), [0.5, 0.5]);
    }
}
