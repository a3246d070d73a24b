//! Functions with an error of a few hundred thousandths, for numbers that are rounded to 8 or 16 bits afterwards. Those of rten are exact to the last digits, and
//! take twice to three times as long.

use rten_simd::ops::{BitOps, IntOps, NumOps};
use rten_simd::{Isa, Simd, SimdUnaryOp};

/// x · Φ(x), within 6e-5 for |x| up to 10: Φ(x) - ½ is x times a polynomial in x², fitted by least squares of the error of x · Φ(x) up to [`FLAT`], where Φ is
/// nearly 1.
pub(super) struct Gelu;

/// The greatest |x| for which Φ(x) is computed; beyond it, Φ stays the same.
const FLAT: f32 = 4.38;
/// The coefficient of the highest power first.
const PHI: [f32; 9] = [
    3.690_031e-11,
    -3.850_879e-9,
    1.773_007e-7,
    -4.781_948_5e-6,
    8.487_656e-5,
    -0.001_058_439_7,
    0.009_654_18,
    -0.066_093_66,
    0.398_770_57,
];

impl SimdUnaryOp<f32> for Gelu {
    #[inline(always)]
    fn eval<I: Isa>(&self, isa: I, x: I::F32) -> I::F32 {
        let ops = isa.f32();
        let near = ops.clamp(x, ops.splat(-FLAT), ops.splat(FLAT));
        let square = ops.mul(near, near);
        let mut polynomial = ops.splat(PHI[0]);
        for coefficient in &PHI[1..] {
            polynomial = ops.mul_add(polynomial, square, ops.splat(*coefficient));
        }
        ops.mul(x, ops.mul_add(near, polynomial, ops.splat(0.5)))
    }
}

/// e^x for x of at most 0, with a relative error below 1e-5. Numbers below -80 count as -80.
#[derive(Default)]
pub(super) struct Exp;

/// The coefficients of a polynomial for numbers up to ln(2)/2, fitted by least squares of the relative error; that of the highest power first.
const POWERS: [f32; 6] = [
    0.008_290_27,
    0.041_897_92,
    0.166_676_37,
    0.499_991_5,
    0.999_999_7,
    1.0,
];
/// Added to a number, it leaves the nearest whole one in the lowest bits.
const ROUNDING: f32 = 12_582_912.0;

impl SimdUnaryOp<f32> for Exp {
    #[inline(always)]
    fn eval<I: Isa>(&self, isa: I, x: I::F32) -> I::F32 {
        let (ops, ints) = (isa.f32(), isa.i32());
        let x = ops.max(x, ops.splat(-80.0));
        // e^x = 2^whole · e^rest
        let rounded = ops.mul_add(x, ops.splat(std::f32::consts::LOG2_E), ops.splat(ROUNDING));
        let whole = ops.sub(rounded, ops.splat(ROUNDING));
        let rest = ops.mul_add(whole, ops.splat(-std::f32::consts::LN_2), x);
        let mut power = ops.splat(POWERS[0]);
        for coefficient in &POWERS[1..] {
            power = ops.mul_add(power, rest, ops.splat(*coefficient));
        }
        let rounded: I::I32 = rounded.reinterpret_cast();
        let power: I::I32 = power.reinterpret_cast();
        ints.add(power, ints.shift_left::<23>(rounded))
            .reinterpret_cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gelu_is_x_times_the_normal_distribution() {
        let xs: Vec<f32> = (-40_000..=40_000).map(|n| n as f32 / 4000.0).collect();
        let (mut found, mut exact) = (xs.clone(), xs.clone());
        Gelu.map_mut(&mut found);
        rten_vecmath::Gelu {}.map_mut(&mut exact);
        for ((x, found), exact) in xs.iter().zip(found).zip(exact) {
            assert!((found - exact).abs() < 6e-5, "{x}: {found}, not {exact}");
        }
    }

    #[test]
    fn the_power_of_e_is_near_for_all_numbers_up_to_zero() {
        let xs: Vec<f32> = (0..=80_000).map(|n| n as f32 / -1000.0).collect();
        let mut found = xs.clone();
        Exp.map_mut(&mut found);
        for (x, found) in xs.iter().zip(found) {
            let exact = f64::from(*x).exp();
            let error = (f64::from(found) - exact).abs() / exact;
            assert!(error < 1e-5, "{x}: {found}, not {exact}");
        }
        let mut far = [-81.0, -1e30, f32::NEG_INFINITY, 0.0];
        Exp.map_mut(&mut far);
        assert!(far[..3].iter().all(|x| (0.0..1e-34).contains(x)), "{far:?}");
        assert_eq!(far[3], 1.0);
    }
}
