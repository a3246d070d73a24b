//! Student's t distribution. Of the libraries that have it, statrs has the fewest dependencies, and these are more than the rest of this crate may add.

use std::f64::consts::FRAC_1_PI;

/// The probability that Student's t, with this number of degrees of freedom (at least 1), is at least as far from 0 as `t`.
pub(super) fn two_sided_p(t: f64, degrees: usize) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    let degrees = degrees as f64;
    let square = t * t;
    let (x, rest) = (degrees / (degrees + square), square / (degrees + square));
    // p is the regularised incomplete beta function of x with a and b. The fraction converges fast on one side of the mean, so on the other side
    // the complement is computed.
    let (a, b) = (degrees / 2.0, 0.5);
    let power = x.powf(a) * rest.powf(b) * one_by_beta(a);
    if x < (a + 1.0) / (a + b + 2.0) {
        power / a * fraction(x, a, b)
    } else {
        1.0 - power / b * fraction(rest, b, a)
    }
}

/// 1 / B(a, 1/2), for `a` a multiple of 1/2. It grows from `a` to `a + 1` by the factor (a + 1/2) / a.
fn one_by_beta(a: f64) -> f64 {
    let (mut at, mut value) = match a.fract() == 0.0 {
        true => (1.0, 0.5),
        false => (0.5, FRAC_1_PI),
    };
    while at < a {
        value *= (at + 0.5) / at;
        at += 1.0;
    }
    value
}

/// The continued fraction 1 / (1 + d1 / (1 + d2 / (1 + …))) of the incomplete beta function (Abramowitz and Stegun, 26.5.8). It is computed from the
/// front by Lentz's method, until a step changes nothing.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const STEPS: u32 = 10_000;
    let coefficient = |step: u32| {
        let m = f64::from(step / 2);
        let on = a + 2.0 * m;
        match step % 2 {
            0 => m * (b - m) * x / ((on - 1.0) * on),
            _ => -(a + m) * (a + b + m) * x / (on * (on + 1.0)),
        }
    };
    // a divisor that is 0 would stop the method: it is replaced by a tiny number
    let not_zero = |number: f64| if number == 0.0 { 1e-300 } else { number };
    let (mut value, mut front, mut back) = (1.0, 1.0, 0.0);
    for step in 1..STEPS {
        let d = coefficient(step);
        back = 1.0 / not_zero(1.0 + d * back);
        front = not_zero(1.0 + d / front);
        let factor = front * back;
        value *= factor;
        if (factor - 1.0f64).abs() < 1e-15 {
            break;
        }
    }
    1.0 / value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_is_that_of_the_distributions_that_have_a_formula() {
        for t in [0.0, 1e-9, 0.3, 1.0, 2.5, 40.0, 1e6] {
            // one degree of freedom: Cauchy's distribution
            let cauchy = 2.0 * FRAC_1_PI * (1.0f64 / t).atan();
            let two = 1.0 - t / (2.0 + t * t).sqrt();
            for (degrees, expected) in [(1, cauchy), (2, two)] {
                let p = two_sided_p(t, degrees);
                assert!(
                    (p - expected).abs() < 1e-12,
                    "{t}, {degrees}: {p}, not {expected}"
                );
                assert_eq!(p, two_sided_p(-t, degrees));
            }
        }
        assert_eq!(two_sided_p(f64::INFINITY, 9), 0.0);
    }

    /// Values of scipy.stats.t.sf(t, degrees) * 2.
    #[test]
    fn p_is_that_of_scipy() {
        for (t, degrees, expected) in SCIPY {
            let p = two_sided_p(t, degrees);
            assert!(
                (p / expected - 1.0).abs() < 1e-9,
                "{t}, {degrees}: {p}, not {expected}"
            );
        }
    }

    const SCIPY: [(f64, usize, f64); 12] = [
        (0.01, 5, 0.9924080180425819),
        (1.0, 3, 0.3910022189557705),
        (2.0, 9, 0.07655282377070101),
        (2.262, 9, 0.05001284550245463),
        (3.5, 49, 0.0010013273839442362),
        (1.96, 49, 0.05569560784626004),
        (0.7, 200, 0.484740732993482),
        (12.0, 30, 5.580185415199261e-13),
        (30.0, 99, 1.7008499117282118e-51),
        (2.0, 5000, 0.04555425998829395),
        (0.5, 99999, 0.61707617766542),
        (5.0, 4, 0.007490433881274525),
    ];
}
