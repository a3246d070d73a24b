use proptest::prelude::*;
use rten_simd::isa::GenericIsa;

use super::super::tests::{cases, numbers};
use super::*;

fn hard_swish(x: f32) -> f32 {
    2.0 * x * (x + 3.0).clamp(0.0, 6.0) / 6.0 - 0.25
}

const HARD_SWISH: ConvActivation = ConvActivation::HardSwish {
    scale: 2.0,
    shift: -0.25,
};

/// The product with this machine's widest vectors, and with the portable ones of four lanes.
fn on_both(windows: SlidingWindows<f32>, weights: &[f32], bias: &[f32]) -> [Vec<f32>; 2] {
    let isa = GenericIsa::new();
    let packed = [
        PackedWeights::new(weights, bias.to_vec()),
        PackedWeights::with_lanes(weights, bias.to_vec(), isa.f32().len()),
    ];
    let [fast, portable] = packed.each_ref().map(|weights| Product {
        windows,
        weights,
        accumulate: false,
        activation: HARD_SWISH,
    });
    let mut results = [(); 2].map(|()| vec![f32::NAN; windows.count * bias.len()]);
    let [fast_out, portable_out] = &mut results;
    fast.run(fast_out);
    ProductInto {
        product: portable,
        out: portable_out,
    }
    .eval(isa);
    results
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_product_is_the_sum_of_products(
        rows in 1usize..4, length in 1usize..usual_or_miri(20, 4), step in 1usize..usual_or_miri(9, 5), count in 0usize..usual_or_miri(40, 28),
        blocks in 1usize..usual_or_miri(7, 3), seed: u64
    ) {
        let columns = blocks * CHANNEL_BLOCK;
        // exactly as many numbers as the windows need, so that a read beyond them leaves the allocation
        let width = count.saturating_sub(1) * step + length;
        let map: Vec<Vec<f32>> = (0..rows).map(|n| numbers(width, seed ^ n as u64)).collect();
        let weights = numbers(rows * length * columns, seed.rotate_left(9));
        let bias = numbers(columns, seed.rotate_left(17));
        let slices: Vec<&[f32]> = map.iter().map(Vec::as_slice).collect();
        let windows = SlidingWindows { rows: &slices, length, step, count };
        for out in on_both(windows, &weights, &bias) {
            for m in 0..count {
                for n in 0..columns {
                    let sum: f64 = (0..rows * length)
                        .map(|k| {
                            let x = map[k / length][m * step + k % length];
                            f64::from(x) * f64::from(weights[k * columns + n])
                        })
                        .sum();
                    let expected = hard_swish(sum as f32 + bias[n]);
                    prop_assert!((out[m * columns + n] - expected).abs() < 1e-4, "{m} {n}");
                }
            }
        }
    }
}

/// Runs the product over windows that end one number beyond their row, or into an output that is one number too short.
fn run_short(row: usize, out: usize) {
    let map = vec![1.0; row];
    let weights = PackedWeights::new(&[1.0; 3 * CHANNEL_BLOCK], vec![0.0; CHANNEL_BLOCK]);
    let windows = SlidingWindows {
        rows: &[&map],
        length: 3,
        step: 2,
        count: 4,
    };
    Product {
        windows,
        weights: &weights,
        accumulate: false,
        activation: ConvActivation::None,
    }
    .run(&mut vec![0.0; out]);
}

#[test]
fn windows_that_fit_exactly_are_computed() {
    run_short(9, 4 * CHANNEL_BLOCK);
}

#[test]
#[should_panic = "windows.fit()"]
fn a_window_beyond_its_row_is_refused() {
    run_short(8, 4 * CHANNEL_BLOCK);
}

#[test]
#[should_panic = "out.len()"]
fn an_output_that_is_too_short_is_refused() {
    run_short(9, 4 * CHANNEL_BLOCK - 1);
}

#[test]
fn bounds_that_overflow_do_not_hold() {
    assert!(holds(0, 0, 5, 5));
    assert!(holds(7, 3, 2, 3));
    assert!(!holds(6, 3, 2, 3));
    assert!(!holds(100, usize::MAX, 2, 1));
    assert!(!holds(100, 2, usize::MAX, 1));
}

#[test]
fn a_product_in_parts_is_the_whole_product() {
    // more rows than a group has if there are many weights, and inputs in three parts
    let part = usual_or_miri(50, 3);
    let (inputs, columns, count) = (3 * part, usual_or_miri(480, 32), MANY_WINDOWS + 5);
    let map = numbers(inputs * count, 3);
    let weights = numbers(inputs * columns, 5);
    let bias = numbers(columns, 7);
    let run = |first: usize, length: usize, bias: Vec<f32>, accumulate, out: &mut [f32]| {
        let weights = &weights[first * columns..(first + length) * columns];
        Product {
            windows: SlidingWindows {
                rows: &[&map[first..]],
                length,
                step: inputs,
                count,
            },
            weights: &PackedWeights::new(weights, bias),
            accumulate,
            activation: ConvActivation::None,
        }
        .run(out);
    };
    let (mut whole, mut parts) = (
        vec![f32::NAN; columns * count],
        vec![f32::NAN; columns * count],
    );
    run(0, inputs, bias.clone(), false, &mut whole);
    run(0, part, bias, false, &mut parts);
    run(part, part, vec![9.0; columns], true, &mut parts);
    run(2 * part, part, vec![9.0; columns], true, &mut parts);
    assert!(inputs * columns > MANY_WEIGHTS);
    assert_eq!(whole, parts);
}
