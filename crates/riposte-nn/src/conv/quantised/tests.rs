/// Arrays in place of vectors, with the operations that the kernels use; rounding is that of the instructions.
pub(super) mod arrays;

use proptest::prelude::*;

use super::super::tests::{below, cases};
use super::kernels::*;
use super::*;

/// The arrays, and the vectors that this machine has.
fn available() -> Vec<Instructions> {
    let mut available = vec![portable::INSTRUCTIONS];
    available.extend(Instructions::detect());
    #[cfg(target_arch = "x86_64")]
    if Instructions::detect().is_some_and(|found| found.name == avx512::INSTRUCTIONS.name)
        && is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("avxvnni")
    {
        available.push(avx2::INSTRUCTIONS);
    }
    available
}

proptest! {
    #![proptest_config(cases())]

    /// The error is bounded by what rounding both operands to 8 bits can lose, for pixels of very different
    /// brightness; and all instructions give the same bits.
    #[test]
    fn int8_products_are_near_those_of_floats_and_equal_for_all_instructions(
        length in 1usize..below(70, 11), count in 1usize..below(40, 16), blocks in 1usize..below(7, 4),
        seed in prop::collection::vec(-1f32..1.0, 64), bright in prop::collection::vec(0.01f32..100.0, 40)
    ) {
        let columns = blocks * CHANNEL_BLOCK;
        let at = |n: usize| seed[n % 64] * seed[(n / 64 + 7 * n) % 64];
        let weights: Vec<f32> = (0..length * columns).map(at).collect();
        let bias: Vec<f32> = (0..columns).map(at).collect();
        let step = length + 3;
        let map: Vec<f32> = (0..(count - 1) * step + length).map(|n| at(n + 5) * bright[n / step]).collect();
        let (mut bytes, mut quantisations) = (Vec::new(), Vec::new());
        let results: Vec<Vec<f32>> = available()
            .into_iter()
            .map(|instructions| {
                let weights = Int8Weights::pack(&weights, bias.clone(), instructions);
                weights.quantise_pixels(&map, length, step, count, &mut bytes, &mut quantisations);
                let mut out = vec![f32::NAN; count * columns];
                let windows = Windows { rows: &[&bytes], length: weights.rows(), step: weights.rows(), count };
                Int8Product {
                    windows, quantisations: &quantisations, weights: &weights, base: None, far: None,
                    activation: Activation::None,
                }
                .run(&mut out);
                out
            })
            .collect();
        let bits = |out: &[f32]| out.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        for other in &results[1..] {
            prop_assert_eq!(bits(&results[0]), bits(other));
        }
        for m in 0..count {
            let pixel = &map[m * step..m * step + length];
            for n in 0..columns {
                let column: Vec<f32> = (0..length).map(|k| weights[k * columns + n]).collect();
                let sum: f32 = pixel.iter().zip(&column).map(|(x, w)| x * w).sum();
                let greatest = column.iter().fold(0f32, |a, w| a.max(w.abs()));
                // half a step of each operand times the other operand, and the product of both
                let (x_step, w_step) = (quantisations[m].scale, greatest / 127.0);
                let lost: f32 = pixel.iter().zip(&column)
                    .map(|(x, w)| x_step * w.abs() + w_step * x.abs() / 2.0 + x_step * w_step)
                    .sum();
                let difference = (results[0][m * columns + n] - sum - bias[n]).abs();
                prop_assert!(difference <= lost + 1e-4, "{m} {n}: {difference}, at most {lost}");
            }
        }
    }
}

#[test]
fn each_activation_is_the_same_for_all_instructions() {
    let (rows, columns, count) = (12, 3 * CHANNEL_BLOCK, 15);
    let number = |n: usize| (n * 37 % 101) as f32 / 25.0 - 2.0;
    let weights: Vec<f32> = (0..rows * columns).map(number).collect();
    let map: Vec<f32> = (0..rows * count).map(|n| number(n + 11)).collect();
    for activation in [
        Activation::Relu,
        Activation::HardSwish {
            scale: 1.5,
            shift: 0.25,
        },
        Activation::HardSigmoid {
            scale: 0.2,
            shift: 0.5,
        },
    ] {
        let mut results = available().into_iter().map(|instructions| {
            let weights = Int8Weights::pack(&weights, vec![0.5; columns], instructions);
            let (low, high) = weights.range(&map);
            let quantisation = Quantisation::of_range(low, high);
            let mut bytes = vec![0; map.len()];
            weights.quantise(&map, quantisation, &mut bytes);
            let mut out = vec![f32::NAN; count * columns];
            Int8Product {
                windows: Windows {
                    rows: &[&bytes],
                    length: rows,
                    step: rows,
                    count,
                },
                quantisations: &[quantisation],
                weights: &weights,
                base: None,
                far: None,
                activation,
            }
            .run(&mut out);
            out
        });
        let first = results.next().expect("arrays are always there");
        assert!(first.iter().all(|x| x.is_finite()), "{activation:?}");
        for other in results {
            assert_eq!(first, other, "{activation:?}");
        }
    }
}

#[test]
fn zero_has_a_byte_of_its_own() {
    for (low, high) in [(0.0, 1.0), (-1.0, 0.0), (-3.0, 5.0), (0.0, 0.0)] {
        let Quantisation { scale, zero_point } = Quantisation::of_range(low, high);
        assert!((0.0..=255.0).contains(&zero_point) && zero_point.fract() == 0.0);
        assert!(
            scale > 0.0 && f32::from(Quantisation { scale, zero_point }.zero_byte()) == zero_point
        );
    }
}

#[test]
fn sums_can_begin_with_other_numbers_than_the_bias() {
    let (rows, columns, count) = (8, 2 * CHANNEL_BLOCK, 5);
    let number = |n: usize| (n * 37 % 101) as f32 / 25.0 - 2.0;
    let weights: Vec<f32> = (0..rows * columns).map(number).collect();
    let map: Vec<f32> = (0..rows * count).map(|n| number(n + 11)).collect();
    let base: Vec<f32> = (0..columns * count).map(|n| number(n + 3)).collect();
    for instructions in available() {
        let weights = Int8Weights::pack(&weights, vec![7.0; columns], instructions);
        let (mut bytes, mut quantisations) = (Vec::new(), Vec::new());
        weights.quantise_pixels(&map, rows, rows, count, &mut bytes, &mut quantisations);
        let run = |base| {
            let mut out = vec![f32::NAN; count * columns];
            Int8Product {
                windows: Windows {
                    rows: &[&bytes],
                    length: rows,
                    step: rows,
                    count,
                },
                quantisations: &quantisations,
                weights: &weights,
                base,
                far: None,
                activation: Activation::None,
            }
            .run(&mut out);
            out
        };
        let (with_bias, with_base) = (run(None), run(Some(base.as_slice())));
        for ((x, base), with_base) in with_bias.iter().zip(&base).zip(with_base) {
            assert!((x - 7.0 + base - with_base).abs() < 1e-4);
        }
    }
}

#[test]
fn whole_numbers_are_the_nearest_as_in_the_standard_library() {
    for half in -256i16..=256 {
        let middle = f32::from(half) / 2.0;
        for x in [middle.next_down(), middle, middle.next_up(), middle + 0.2] {
            assert_eq!(nearest(x), x.round() as i32, "{x}");
        }
    }
}

/// A row of zeros times the weights, which begins with `base`, with what was cut off.
fn with_far(weights: &Int8Weights, far: &Far, base: &[f32]) -> Vec<f32> {
    let (zeros, rows) = (vec![0; weights.rows()], weights.rows());
    let inputs = [zeros.as_slice()];
    let by = [Quantisation::of_range(0.0, 1.0)];
    let mut out = vec![f32::NAN; weights.columns()];
    Int8Product {
        base: Some(base),
        far: Some(far),
        ..Int8Product::new(
            Windows::new(&inputs, rows, rows, 1),
            &by,
            weights,
            Activation::None,
        )
    }
    .run(&mut out);
    out
}

proptest! {
    #![proptest_config(cases())]

    /// What is left of each number is within the limit, and together with what was cut off it is the scaled number. What was cut off is multiplied by
    /// the bytes of its row. All instructions give the same bits.
    #[test]
    fn what_lies_far_from_the_others_is_multiplied_apart(
        length in 1usize..below(70, 11), blocks in 1usize..below(7, 4), times in 0.3f32..4.0,
        seed in prop::collection::vec(-1f32..1.0, 64), size in prop::collection::vec(0.1f32..30.0, 7)
    ) {
        let columns = blocks * CHANNEL_BLOCK;
        let at = |n: usize| seed[n % 64] * seed[(n / 64 + 7 * n) % 64];
        let weights: Vec<f32> = (0..length * columns).map(at).collect();
        let numbers: Vec<f32> = (0..length).map(|n| at(n + 3) * size[n % 7]).collect();
        let factors: Vec<f32> = (0..length).map(|n| 0.5 + at(n + 9).abs()).collect();
        let mut results = Vec::new();
        for instructions in available() {
            let packed = Int8Weights::pack(&weights, vec![0.0; columns], instructions);
            let (mut scaled, mut far) = (vec![f32::NAN; length], Far::default());
            packed.scale(&numbers, &factors, times, &mut scaled, &mut far);
            let base: Vec<f32> = (0..columns).map(at).collect();
            let out = with_far(&packed, &far, &base);
            results.push((scaled, far, out));
        }
        let bits = |row: &[f32]| row.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let (scaled, far, out) = &results[0];
        for (other, other_far, other_out) in &results[1..] {
            prop_assert_eq!(bits(scaled), bits(other));
            prop_assert_eq!(far, other_far);
            prop_assert_eq!(bits(out), bits(other_out));
        }
        let whole: Vec<f32> = numbers.iter().zip(&factors).map(|(x, by)| x * by).collect();
        let mean = whole.iter().map(|x| x * x).sum::<f32>() / length as f32;
        let beyond: Vec<(usize, f32)> = far.places.iter().map(|place| *place as usize).zip(far.missing.iter().copied()).collect();
        let mut joined = scaled.clone();
        for (place, rest) in &beyond {
            joined[*place] += rest;
        }
        for ((x, whole), left) in joined.iter().zip(&whole).zip(scaled) {
            prop_assert!((x - whole).abs() <= 1e-5 * whole.abs());
            prop_assert!(left.abs() <= times * mean.sqrt() * 1.001);
        }
        for (n, found) in out.iter().enumerate() {
            let greatest = (0..length).fold(0f32, |most, k| most.max(weights[k * columns + n].abs()));
            let step = greatest / 127.0;
            let byte = |k: usize| if step > 0.0 { (weights[k * columns + n] / step).round() } else { 0.0 };
            let sum: f32 = beyond.iter().map(|(k, by)| by * byte(*k) * step).sum();
            let size: f32 = beyond.iter().map(|(k, by)| (by * byte(*k) * step).abs()).sum();
            prop_assert!((found - at(n) - sum).abs() <= 1e-5 * (1.0 + size), "{n}: {found}, {sum}");
        }
    }
}

/// Damaged weights can make any number of a row infinite, or no number.
#[test]
fn numbers_that_are_not_finite_end_in_no_panic() {
    for instructions in available() {
        let packed = Int8Weights::pack(
            &[0.5; 20 * CHANNEL_BLOCK],
            vec![0.0; CHANNEL_BLOCK],
            instructions,
        );
        for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
            for place in [0, 17, 19] {
                let mut numbers = vec![1.0; 20];
                numbers[place] = odd;
                let (mut scaled, mut far) = (vec![0.0; 20], Far::default());
                packed.scale(&numbers, &[1.0; 20], 2.0, &mut scaled, &mut far);
                with_far(&packed, &far, &[0.0; CHANNEL_BLOCK]);
                let (mut bytes, mut quantisations) = (Vec::new(), Vec::new());
                packed.quantise_pixels(&scaled, 20, 20, 1, &mut bytes, &mut quantisations);
            }
        }
    }
}

#[test]
fn weights_that_were_packed_before_give_the_same_results() {
    let (rows, columns) = (24, 5 * CHANNEL_BLOCK);
    let number = |n: usize| (n * 37 % 101) as f32 / 25.0 - 2.0;
    let matrix: Vec<f32> = (0..rows * columns).map(number).collect();
    let Some(weights) = Int8Weights::new(&matrix, vec![0.0; columns]) else {
        // the machine has no instructions for it
        return;
    };
    let (data, scale, sum) = weights.packed();
    let again = Int8Weights::of_packed(data, scale.to_vec(), sum.to_vec());
    let map: Vec<f32> = (0..rows * 7).map(|n| number(n + 11)).collect();
    let [first, second] = [&weights, &again].map(|weights| {
        let (mut bytes, mut quantisations) = (Vec::new(), Vec::new());
        weights.quantise_pixels(&map, rows, rows, 7, &mut bytes, &mut quantisations);
        let inputs = [bytes.as_slice()];
        let windows = Windows::new(&inputs, rows, rows, 7);
        let mut out = vec![f32::NAN; 7 * columns];
        Int8Product::new(windows, &quantisations, weights, Activation::None).run(&mut out);
        out
    });
    assert!(first.iter().all(|x| x.is_finite()));
    assert_eq!(first, second);
}
