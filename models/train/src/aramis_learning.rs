//! Learning the weights of the networks of Aramis: gradients, and Adam with early stopping and decay of weights.

use riposte::score::logistic;
use riposte::systems::aramis::layers::{DenseLayer, activations, relu};
use riposte::systems::aramis::networks::{
    ArgumentInputs, ArgumentNetwork, COLOUR_SIZES, GRID, MAP_SIZES, STANCE_INPUTS, STANCE_SIZES,
    StanceNetwork, TRUNK_SIZES,
};
use seeded_random::Random;

/// The learning rate of Adam, the examples in a step, and the maximum number of passes, as in the training of Aramis.
const RATE: f64 = 1e-3;
const BATCH: usize = 18;
const PASSES: usize = 200;
/// Training stops when the loss of the examples that are set aside has not improved for this many passes; the best weights are kept. Aramis
/// waits for 8 passes, each of which has fifty times as many steps as a pass here.
const PATIENCE: usize = 30;
/// One in this many examples is set aside.
const SET_ASIDE: usize = 6;
/// The share of the learning rate by which weights decay in each step.
const DECAY: f64 = 0.1;
const BETAS: [f64; 2] = [0.9, 0.999];

pub type StanceInputs = [f64; STANCE_INPUTS];

/// A picture with a label.
pub struct Example<I> {
    /// Examples with the pictures of one subject or topic are left out of training together.
    pub group: String,
    pub inputs: I,
    /// The number of its class.
    pub class: usize,
    /// The weight of its loss.
    pub weight: f64,
}

/// The classes of a stance.
pub const CON: usize = 0;
pub const NEUTRAL: usize = 1;
pub const PRO: usize = 2;

/// A network that can learn.
pub trait Learner {
    type Inputs;
    type Network: Clone;

    /// A network of random weights.
    fn start(&self, random: &mut Random) -> Self::Network;

    /// All weights, in a fixed order.
    fn weights<'a>(&self, network: &'a mut Self::Network) -> Vec<&'a mut f64>;

    /// The loss of an example. Its gradient is added to `gradient`.
    fn loss(
        &self,
        network: &Self::Network,
        example: &Example<Self::Inputs>,
        gradient: &mut Self::Network,
    ) -> f64;
}

/// Random weights as in Keras: uniform between -r and r, the root of 6 / (inputs + outputs). Biases are 0.
fn drawn(sizes: &[usize], random: &mut Random) -> Vec<DenseLayer> {
    let layer = |size: &[usize]| {
        let limit = (6.0 / (size[0] + size[1]) as f64).sqrt();
        let mut row = || {
            let weight = |_| (2.0 * random.fine_fraction() - 1.0) * limit;
            (0..size[0]).map(weight).collect()
        };
        DenseLayer {
            weights: (0..size[1]).map(|_| row()).collect(),
            bias: vec![0.0; size[1]],
        }
    };
    sizes.windows(2).map(layer).collect()
}

fn weights_of(layers: &mut [DenseLayer]) -> impl Iterator<Item = &mut f64> {
    layers.iter_mut().flat_map(|layer| {
        let weights = layer.weights.iter_mut().flatten();
        weights.chain(&mut layer.bias)
    })
}

/// Adds the gradient of the layers to `gradient`, given their [`activations`] and the gradient with respect to their outputs. Returns the
/// gradient with respect to their inputs.
fn backward(
    layers: &[DenseLayer],
    activations: &[Vec<f64>],
    outputs: &[f64],
    gradient: &mut [DenseLayer],
) -> Vec<f64> {
    let mut slope = outputs.to_vec();
    for at in (0..layers.len()).rev() {
        let inputs = &activations[at];
        for (output, slope) in slope.iter().enumerate() {
            gradient[at].bias[output] += slope;
            let row = gradient[at].weights[output].iter_mut();
            row.zip(inputs).for_each(|(g, x)| *g += slope * x);
        }
        let mut below = vec![0.0; inputs.len()];
        for (row, slope) in layers[at].weights.iter().zip(&slope) {
            below.iter_mut().zip(row).for_each(|(b, w)| *b += slope * w);
        }
        if at > 0 {
            through_relu(&mut below, inputs);
        }
        slope = below;
    }
    slope
}

/// Sets the gradient to 0 where the output of [`relu`] is 0.
fn through_relu(slope: &mut [f64], outputs: &[f64]) {
    for (slope, output) in slope.iter_mut().zip(outputs) {
        if *output <= 0.0 {
            *slope = 0.0;
        }
    }
}

/// Learns [`ArgumentNetwork`] by the squared error.
#[derive(Default)]
pub struct ArgumentLearner {}

impl Learner for ArgumentLearner {
    type Inputs = ArgumentInputs;
    type Network = ArgumentNetwork;

    fn start(&self, random: &mut Random) -> ArgumentNetwork {
        let limit = (6.0f64 / 8.0).sqrt();
        ArgumentNetwork {
            filter: [(); 4].map(|()| (2.0 * random.fine_fraction() - 1.0) * limit),
            filter_bias: 0.0,
            map: drawn(&MAP_SIZES, random),
            colours: drawn(&COLOUR_SIZES, random),
            trunk: drawn(&TRUNK_SIZES, random),
        }
    }

    fn weights<'a>(&self, network: &'a mut ArgumentNetwork) -> Vec<&'a mut f64> {
        let layers = weights_of(&mut network.map)
            .chain(weights_of(&mut network.colours))
            .chain(weights_of(&mut network.trunk));
        let filter = network.filter.iter_mut();
        filter
            .chain([&mut network.filter_bias])
            .chain(layers)
            .collect()
    }

    fn loss(
        &self,
        network: &ArgumentNetwork,
        example: &Example<ArgumentInputs>,
        gradient: &mut ArgumentNetwork,
    ) -> f64 {
        let inputs = &example.inputs;
        let pooled = network.pooled(&inputs.text_map);
        let map = activations(&network.map, &pooled.map(|(value, _)| value));
        let colours = activations(&network.colours, &inputs.colours);
        let trunk = activations(&network.trunk, &network.joined(inputs));
        let of_last = |outputs: &[Vec<f64>]| outputs.last().cloned().unwrap_or_default();
        let found = logistic(of_last(&trunk)[0]);
        let error = found - example.class as f64;
        let slope = [2.0 * error * found * (1.0 - found) * example.weight];
        let joined = backward(&network.trunk, &trunk, &slope, &mut gradient.trunk);
        let branch = |outputs: &[Vec<f64>], slope: &[f64]| {
            let mut slope = slope.to_vec();
            let mut outputs = of_last(outputs);
            relu(&mut outputs);
            through_relu(&mut slope, &outputs);
            slope
        };
        let of_map = branch(&map, &joined[..3]);
        let of_colours = branch(&colours, &joined[3..6]);
        backward(
            &network.colours,
            &colours,
            &of_colours,
            &mut gradient.colours,
        );
        let of_pool = backward(&network.map, &map, &of_map, &mut gradient.map);
        for (slope, (_, at)) in of_pool.iter().zip(pooled) {
            gradient.filter_bias += slope;
            for (weight, step) in gradient.filter.iter_mut().zip([0, 1, GRID, GRID + 1]) {
                *weight += slope * inputs.text_map[at + step];
            }
        }
        error * error * example.weight
    }
}

/// Learns [`StanceNetwork`] by the cross-entropy.
#[derive(Default)]
pub struct StanceLearner {}

impl Learner for StanceLearner {
    type Inputs = StanceInputs;
    type Network = StanceNetwork;

    fn start(&self, random: &mut Random) -> StanceNetwork {
        StanceNetwork {
            layers: drawn(&STANCE_SIZES, random),
        }
    }

    fn weights<'a>(&self, network: &'a mut StanceNetwork) -> Vec<&'a mut f64> {
        weights_of(&mut network.layers).collect()
    }

    fn loss(
        &self,
        network: &StanceNetwork,
        example: &Example<StanceInputs>,
        gradient: &mut StanceNetwork,
    ) -> f64 {
        let outputs = activations(&network.layers, &example.inputs);
        let found = network.probabilities(&example.inputs);
        let mut slope = found;
        slope[example.class] -= 1.0;
        let slope = slope.map(|slope| slope * example.weight);
        backward(&network.layers, &outputs, &slope, &mut gradient.layers);
        -found[example.class].max(1e-12).ln() * example.weight
    }
}

/// Learns a network. Returns the best one, and the number of passes after which it was the best.
pub fn learn<L: Learner>(
    learner: &L,
    examples: &[&Example<L::Inputs>],
    seed: u64,
) -> (L::Network, usize) {
    let mut random = Random::new(seed, "aramis", examples.len() as u64);
    let mut order: Vec<&Example<L::Inputs>> = examples.to_vec();
    shuffle(&mut order, &mut random);
    let aside = order.split_off(order.len() - order.len() / SET_ASIDE);
    let mut network = learner.start(&mut random);
    let mut zeros = network.clone();
    learner
        .weights(&mut zeros)
        .into_iter()
        .for_each(|x| *x = 0.0);
    let mut moments = vec![[0f64; 2]; learner.weights(&mut network).len()];
    let mut step = 0;
    let mut best = (f64::INFINITY, network.clone(), 0);
    for pass in 1..=PASSES {
        shuffle(&mut order, &mut random);
        for batch in order.chunks(BATCH) {
            let mut gradient = zeros.clone();
            for example in batch {
                learner.loss(&network, example, &mut gradient);
            }
            step += 1;
            let of_moments = BETAS.map(|beta| 1.0 - beta.powi(step));
            let slopes = learner.weights(&mut gradient);
            let weights = learner.weights(&mut network).into_iter().zip(slopes);
            for ((weight, slope), moments) in weights.zip(&mut moments) {
                let slope = *slope / batch.len() as f64;
                for ((moment, beta), x) in moments.iter_mut().zip(BETAS).zip([slope, slope * slope])
                {
                    *moment = beta * *moment + (1.0 - beta) * x;
                }
                let [mean, square] = [0, 1].map(|n| moments[n] / of_moments[n]);
                *weight -= RATE * (mean / (square.sqrt() + 1e-7) + DECAY * *weight);
            }
        }
        let mut unused = zeros.clone();
        let losses = aside
            .iter()
            .map(|example| learner.loss(&network, example, &mut unused));
        let loss: f64 = losses.sum();
        if loss < best.0 {
            best = (loss, network.clone(), pass);
        } else if pass >= best.2 + PATIENCE {
            break;
        }
    }
    (best.1, best.2)
}

fn shuffle<T>(items: &mut [T], random: &mut Random) {
    for at in (1..items.len()).rev() {
        items.swap(at, random.below(at + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use riposte::systems::aramis::networks::side;

    /// Compares the gradient with differences of losses.
    fn check<L: Learner>(learner: &L, example: &Example<L::Inputs>) {
        let mut random = Random::new(3, "test", 0);
        let mut network = learner.start(&mut random);
        let weights = learner.weights(&mut network);
        // biases change too, so that few units are inactive
        weights
            .into_iter()
            .for_each(|x| *x += 0.05 * random.fine_fraction());
        let mut gradient = network.clone();
        learner
            .weights(&mut gradient)
            .into_iter()
            .for_each(|x| *x = 0.0);
        let mut unused = gradient.clone();
        learner.loss(&network, example, &mut gradient);
        let slopes: Vec<f64> = learner
            .weights(&mut gradient)
            .into_iter()
            .map(|x| *x)
            .collect();
        assert!(slopes.iter().filter(|x| **x != 0.0).count() > slopes.len() / 10);
        let step = 1e-6;
        for (at, slope) in slopes.iter().enumerate() {
            let [above, below] = [step, -step].map(|step| {
                let mut moved = network.clone();
                *learner.weights(&mut moved)[at] += step;
                learner.loss(&moved, example, &mut unused)
            });
            let expected = (above - below) / (2.0 * step);
            assert!(
                (slope - expected).abs() < 1e-6,
                "weight {at}: {slope}, not {expected}"
            );
        }
    }

    #[test]
    fn gradients_are_the_differences_of_losses() {
        let mut inputs = ArgumentInputs {
            text_map: [0.0; GRID * GRID],
            colours: [0.6, 0.3, 0.1],
            features: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.0, 1.0, 0.3],
        };
        for (at, cell) in inputs.text_map.iter_mut().enumerate() {
            *cell = ((7 * at) % 11) as f64 / 11.0;
        }
        for class in [0, 1] {
            let example = Example {
                group: String::new(),
                inputs: inputs.clone(),
                class,
                weight: 1.5,
            };
            check(&ArgumentLearner {}, &example);
        }
        for class in [CON, NEUTRAL, PRO] {
            let example = Example {
                group: String::new(),
                inputs: std::array::from_fn(|at| ((5 * at) % 7) as f64 / 7.0),
                class,
                weight: 0.7,
            };
            check(&StanceLearner {}, &example);
        }
    }

    #[test]
    fn a_network_learns_what_one_input_says() {
        let mut random = Random::new(5, "test", 0);
        let mut examples = Vec::new();
        for _ in 0..180 {
            let mut inputs = [0.0; STANCE_INPUTS];
            inputs.iter_mut().for_each(|x| *x = random.fine_fraction());
            let class = (3.0 * inputs[4]) as usize;
            examples.push(Example {
                group: String::new(),
                inputs,
                class,
                weight: 1.0,
            });
        }
        let (known, asked) = examples.split_at(150);
        let known: Vec<&Example<StanceInputs>> = known.iter().collect();
        let (network, passes) = learn(&StanceLearner {}, &known, 1);
        assert!(passes > 5, "{passes}");
        let right = asked.iter().map(|e| {
            let found = network.probabilities(&e.inputs);
            (side(found) + 1) as usize == e.class
        });
        assert!(right.filter(|is| *is).count() > 18);
    }
}
