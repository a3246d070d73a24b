/// Arrays in place of vectors, with the operations that the kernels use; rounding is that of the instructions.
pub(super) mod arrays;

use proptest::prelude::*;

use super::super::tests::cases;
use super::super::usual_or_miri;
use super::kernels::*;
use super::*;

/// The arrays, and all that this machine has.
fn available() -> Vec<Instructions> {
    let mut available = vec![portable::INSTRUCTIONS];
    #[cfg(target_arch = "x86_64")]
    {
        let best = Instructions::detect();
        available.extend(best);
        if best.is_some_and(|best| best.name == amx::INSTRUCTIONS.name) {
            available.push(avx512::INSTRUCTIONS);
        }
        let is_better = best.is_some_and(|best| best.name != avx2::INSTRUCTIONS.name);
        if is_better
            && is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("avxvnni")
        {
            available.push(avx2::INSTRUCTIONS);
        }
    }
    available
}

proptest! {
    #![proptest_config(cases())]

    /// The error is bounded by what rounding both operands to 8 bits can lose, for pixels of very different
    /// brightness; and all instructions give the same bits.
    #[test]
    fn int8_products_are_near_those_of_floats_and_equal_for_all_instructions(
        length in 1usize..usual_or_miri(150, 11), count in 1usize..usual_or_miri(150, 18), blocks in 1usize..usual_or_miri(7, 4),
        seed in prop::collection::vec(-1f32..1.0, 64), bright in prop::collection::vec(0.01f32..100.0, 150)
    ) {
        let columns = blocks * CHANNEL_BLOCK;
        let at = |n: usize| seed[n % 64] * seed[(n / 64 + 7 * n) % 64];
        let weights: Vec<f32> = (0..length * columns).map(at).collect();
        let bias: Vec<f32> = (0..columns).map(at).collect();
        let step = length + 3;
        let map: Vec<f32> = (0..(count - 1) * step + length).map(|n| at(n + 5) * bright[n / step]).collect();
        let (mut bytes, mut quantisations) = (Aligned::default(), Vec::new());
        let results: Vec<Vec<f32>> = available()
            .into_iter()
            .map(|instructions| {
                let weights = Int8Weights::pack(&weights, bias.clone(), Rounding::Nearest, instructions);
                let line = weights.quantise_pixels(&map, length, step, count, &mut bytes, &mut quantisations);
                let mut out = vec![f32::NAN; count * columns];
                let windows = SlidingWindows { rows: &[&bytes], length: weights.rows(), step: line, count };
                Int8Product {
                    windows, quantisations: &quantisations, weights: &weights, begin: InitialSums::Bias, outliers: None,
                    activation: ConvActivation::None,
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
    let (rows, columns, count) = (12, 3 * CHANNEL_BLOCK, usual_or_miri(15, 5));
    let number = |n: usize| (n * 37 % 101) as f32 / 25.0 - 2.0;
    let weights: Vec<f32> = (0..rows * columns).map(number).collect();
    let map: Vec<f32> = (0..rows * count).map(|n| number(n + 11)).collect();
    for activation in [
        ConvActivation::Relu,
        ConvActivation::HardSwish {
            scale: 1.5,
            shift: 0.25,
        },
        ConvActivation::HardSigmoid {
            scale: 0.2,
            shift: 0.5,
        },
    ] {
        let mut results = available().into_iter().map(|instructions| {
            let weights = Int8Weights::pack(
                &weights,
                vec![0.5; columns],
                Rounding::Nearest,
                instructions,
            );
            let (low, high) = weights.range(&map);
            let quantisation = Quantisation::of_range(low, high);
            let mut bytes = vec![0; map.len()];
            weights.quantise(&map, quantisation, &mut bytes);
            let mut out = vec![f32::NAN; count * columns];
            Int8Product {
                windows: SlidingWindows {
                    rows: &[&bytes],
                    length: rows,
                    step: rows,
                    count,
                },
                quantisations: &[quantisation],
                weights: &weights,
                begin: InitialSums::Bias,
                outliers: None,
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
fn windows_over_several_rows_are_the_same_for_all_instructions() {
    let number = |n: usize| (n * 37 % 101) as f32 / 25.0 - 2.0;
    let columns = usual_or_miri(3, 1) * CHANNEL_BLOCK;
    let shapes = [
        (4, 4, usual_or_miri(70, 5)),
        (12, 8, usual_or_miri(37, 17)),
        (68, 12, 37),
        (64, 64, 33),
        (192, 4, 16),
        (132, 8, 65),
    ];
    for &(length, step, count) in &shapes[..usual_or_miri(shapes.len(), 2)] {
        let weights: Vec<f32> = (0..3 * length * columns).map(number).collect();
        let map: Vec<u8> = (0..3 * (count * step + length))
            .map(|n| (n * 89 % 251) as u8)
            .collect();
        let rows: Vec<&[u8]> = map.chunks(count * step + length).collect();
        let quantisation = Quantisation::of_range(-1.0, 2.0);
        let mut results = available().into_iter().map(|instructions| {
            let weights = Int8Weights::pack(
                &weights,
                vec![0.5; columns],
                Rounding::Nearest,
                instructions,
            );
            let mut out = vec![f32::NAN; count * columns];
            let windows = SlidingWindows::new(&rows, length, step, count);
            Int8Product::new(windows, &[quantisation], &weights, ConvActivation::None)
                .run(&mut out);
            out
        });
        let first = results.next().expect("arrays are always there");
        assert!(first.iter().all(|x| x.is_finite()));
        for other in results {
            assert_eq!(first, other, "{length} {step} {count}");
        }
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn products_of_pairs_are_exact(
        pairs in 1usize..usual_or_miri(40, 6), count in 1usize..usual_or_miri(30, 14), blocks in 1usize..3, seed in prop::collection::vec(any::<i16>(), 64)
    ) {
        let columns = blocks * PairProduct::COLUMNS;
        let at = |n: usize| seed[n % 64] ^ seed[(n / 64 + 7 * n) % 64];
        let step = 2 * pairs + 3;
        let rows: Vec<i16> = (0..count * step).map(at).collect();
        let half = |n: usize, c: usize| at(n * columns + c + 11);
        let matrix: Vec<i32> = (0..pairs * columns)
            .map(|n| {
                let (pair, c) = (n / columns, n % columns);
                i32::from(half(2 * pair, c)) & 0xffff | i32::from(half(2 * pair + 1, c)) << 16
            })
            .collect();
        for instructions in available() {
            let mut out = vec![0; count * columns];
            PairProduct { rows: &rows, step, count, pairs, matrix: &matrix, columns }.run_by(instructions, &mut out);
            for m in 0..count {
                for c in 0..columns {
                    let products = (0..2 * pairs).map(|n| i32::from(rows[m * step + n]).wrapping_mul(i32::from(half(n, c))));
                    let sum = products.fold(0i32, i32::wrapping_add);
                    prop_assert_eq!(out[m * columns + c], sum, "{} {} {}", instructions.name, m, c);
                }
            }
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
    // more windows than a group of AMX has, of which fewer than a tile would be left; Miri has no AMX
    let (rows, columns, count) = (8, 2 * CHANNEL_BLOCK, usual_or_miri(69, 5));
    let number = |n: usize| (n * 37 % 101) as f32 / 25.0 - 2.0;
    let weights: Vec<f32> = (0..rows * columns).map(number).collect();
    let map: Vec<f32> = (0..rows * count).map(|n| number(n + 11)).collect();
    let base: Vec<f32> = (0..columns * count).map(|n| number(n + 3)).collect();
    for instructions in available() {
        let weights = Int8Weights::pack(
            &weights,
            vec![7.0; columns],
            Rounding::Nearest,
            instructions,
        );
        let (mut bytes, mut quantisations) = (Aligned::default(), Vec::new());
        let step = weights.quantise_pixels(&map, rows, rows, count, &mut bytes, &mut quantisations);
        let run = |begin, out: &[f32]| {
            let mut out = out.to_vec();
            Int8Product {
                windows: SlidingWindows {
                    rows: &[&bytes],
                    length: rows,
                    step,
                    count,
                },
                quantisations: &quantisations,
                weights: &weights,
                begin,
                outliers: None,
                activation: ConvActivation::None,
            }
            .run(&mut out);
            out
        };
        let none = vec![f32::NAN; count * columns];
        let with_bias = run(InitialSums::Bias, &none);
        let with_base = run(InitialSums::Numbers(&base), &none);
        assert_eq!(run(InitialSums::Out, &base), with_base);
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

/// The position of each clipped number of the only row, and its excess.
fn cut_off(outliers: &Outliers) -> Vec<(usize, f32)> {
    let [row] = outliers.rows.as_slice() else {
        panic!("one row was clipped")
    };
    let numbers = outliers.fours.iter().zip(&outliers.amounts).enumerate();
    let cut = numbers.map(|(n, (four, amount))| {
        let byte = amount.trailing_zeros() / 8;
        let steps = amount >> (8 * byte);
        assert!((1..=255).contains(&steps));
        let sign = if n < row.below { 1.0 } else { -1.0 };
        ((4 * four + byte) as usize, sign * steps as f32 * row.step)
    });
    cut.collect()
}

/// A row of zeros and outliers times the weights, added to `base`.
fn with_outliers(weights: &Int8Weights, outliers: &Outliers, base: &[f32]) -> Vec<f32> {
    let (zeros, rows) = (vec![0; weights.rows()], weights.rows());
    let inputs = [zeros.as_slice()];
    let by = [Quantisation::of_range(0.0, 1.0)];
    let mut out = vec![f32::NAN; weights.columns()];
    Int8Product {
        begin: InitialSums::Numbers(base),
        outliers: Some(outliers),
        ..Int8Product::new(
            SlidingWindows::new(&inputs, rows, rows, 1),
            &by,
            weights,
            ConvActivation::None,
        )
    }
    .run(&mut out);
    out
}

proptest! {
    #![proptest_config(cases())]

    /// Each clipped number is within the limit, and with its excess it is the scaled number. The excess is multiplied by the bytes of its row. All
    /// instructions give the same bits.
    #[test]
    fn what_lies_far_from_the_others_is_multiplied_apart(
        length in 1usize..usual_or_miri(70, 11), blocks in 1usize..usual_or_miri(7, 4), times in 0.3f32..4.0,
        seed in prop::collection::vec(-1f32..1.0, 64), size in prop::collection::vec(0.1f32..30.0, 7)
    ) {
        let columns = blocks * CHANNEL_BLOCK;
        let at = |n: usize| seed[n % 64] * seed[(n / 64 + 7 * n) % 64];
        let weights: Vec<f32> = (0..length * columns).map(at).collect();
        let numbers: Vec<f32> = (0..length).map(|n| at(n + 3) * size[n % 7]).collect();
        let factors: Vec<f32> = (0..length).map(|n| 0.5 + at(n + 9).abs()).collect();
        let mut results = Vec::new();
        for instructions in available() {
            let packed = Int8Weights::pack(&weights, vec![0.0; columns], Rounding::Nearest, instructions);
            let (mut left, mut outliers) = (vec![f32::NAN; length], Outliers::default());
            let mut bytes = vec![0; length];
            let by = packed.prepare(&numbers, (&factors, times), &mut left, &mut outliers, &mut bytes);
            let base: Vec<f32> = (0..columns).map(at).collect();
            let out = with_outliers(&packed, &outliers, &base);
            results.push((left, bytes, by, outliers, out));
        }
        let bits = |row: &[f32]| row.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let (left, bytes, by, outliers, out) = &results[0];
        for (other, other_bytes, _, other_outliers, other_out) in &results[1..] {
            prop_assert_eq!(bits(left), bits(other));
            prop_assert_eq!(bytes, other_bytes);
            prop_assert_eq!((&outliers.fours, &outliers.amounts, &outliers.rows), (&other_outliers.fours, &other_outliers.amounts, &other_outliers.rows));
            prop_assert_eq!(bits(out), bits(other_out));
        }
        for (x, byte) in left.iter().zip(bytes) {
            prop_assert!((x - (f32::from(*byte) - by.zero_point) * by.scale).abs() <= by.scale, "{x}, {byte}");
        }
        let whole: Vec<f32> = numbers.iter().zip(&factors).map(|(x, by)| x * by).collect();
        let mean = whole.iter().map(|x| x * x).sum::<f32>() / length as f32;
        let beyond = cut_off(outliers);
        let mut joined = left.clone();
        for (place, rest) in &beyond {
            joined[*place] += rest;
        }
        for ((x, whole), left) in joined.iter().zip(&whole).zip(left) {
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

proptest! {
    #![proptest_config(cases())]

    /// Inputs that are all equal give the sum of a column, which only the rounding of the inputs and half a step of the weights change.
    #[test]
    fn the_sum_of_each_column_is_kept(
        rows in 1usize..usual_or_miri(90, 9), blocks in 1usize..3, seed in prop::collection::vec(-1f32..1.0, 64)
    ) {
        let columns = blocks * CHANNEL_BLOCK;
        // the second column is zero, and all weights of the third are equal
        let at = |n: usize| match n % columns {
            1 => 0.0,
            2 => seed[0],
            _ => seed[n % 64] * seed[(n / 64 + 7 * n) % 64],
        };
        let weights: Vec<f32> = (0..rows * columns).map(at).collect();
        let pack = |rounding| Int8Weights::pack(&weights, vec![0.0; columns], rounding, portable::INSTRUCTIONS);
        let (kept, nearest) = (pack(Rounding::KeepingSums), pack(Rounding::Nearest));
        let mut sums = vec![0f64; columns];
        for row in weights.chunks(columns) {
            sums.iter_mut().zip(row).for_each(|(sum, weight)| *sum += f64::from(*weight));
        }
        for (n, sum) in sums.into_iter().enumerate() {
            let error = f64::from(kept.sum[n]) * f64::from(kept.scale[n]) - sum;
            prop_assert!(error.abs() <= 0.501 * f64::from(kept.scale[n]) + 1e-5, "column {n}: {error}");
        }
        // no weight is more than a step from where it was
        let changes = kept.data.iter().zip(&*nearest.data).map(|(a, b)| i32::from(*a) - i32::from(*b));
        prop_assert!(changes.into_iter().all(|change| change.abs() <= 1));
        prop_assert!(kept.data.iter().all(|byte| *byte >= -127));
    }
}

/// Damaged weights can make any number of a row infinite or NaN.
#[test]
fn numbers_that_are_not_finite_end_in_no_panic() {
    for odd in [f32::NAN, f32::INFINITY, f32::MAX] {
        let mut weights = [0.5; 20 * CHANNEL_BLOCK];
        weights[5] = odd;
        for rounding in [Rounding::Nearest, Rounding::KeepingSums] {
            let bias = vec![0.0; CHANNEL_BLOCK];
            Int8Weights::pack(&weights, bias, rounding, portable::INSTRUCTIONS);
        }
    }
    for instructions in available() {
        let packed = Int8Weights::pack(
            &[0.5; 20 * CHANNEL_BLOCK],
            vec![0.0; CHANNEL_BLOCK],
            Rounding::Nearest,
            instructions,
        );
        for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
            for place in [0, 17, 19] {
                let mut numbers = vec![1.0; 20];
                numbers[place] = odd;
                let (mut left, mut outliers) = (vec![0.0; 20], Outliers::default());
                let by = (&[1.0; 20][..], 2.0);
                packed.prepare(&numbers, by, &mut left, &mut outliers, &mut [0; 20]);
                with_outliers(&packed, &outliers, &[0.0; CHANNEL_BLOCK]);
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
    let data: Vec<u8> = data.iter().map(|byte| byte.cast_unsigned()).collect();
    let again = Int8Weights::of_packed(&data, scale.to_vec(), sum.to_vec());
    let map: Vec<f32> = (0..rows * 7).map(|n| number(n + 11)).collect();
    let [first, second] = [&weights, &again].map(|weights| {
        let (mut bytes, mut quantisations) = (Aligned::default(), Vec::new());
        let step = weights.quantise_pixels(&map, rows, rows, 7, &mut bytes, &mut quantisations);
        let inputs = [&*bytes];
        let windows = SlidingWindows::new(&inputs, rows, step, 7);
        let mut out = vec![f32::NAN; 7 * columns];
        Int8Product::new(windows, &quantisations, weights, ConvActivation::None).run(&mut out);
        out
    });
    assert!(first.iter().all(|x| x.is_finite()));
    assert_eq!(first, second);
}
