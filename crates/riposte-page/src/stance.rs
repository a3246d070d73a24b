//! A stance as a bar.

use askama::Template;

use crate::words::three_decimals;

/// A stance as a bar: the part for the claim from the left, the part against it from the right.
#[derive(Debug, Template)]
#[template(path = "lean.html")]
pub struct StanceBar {
    /// The width of each part, in per cent of the bar: at most 50, which is its half.
    pro: f64,
    con: f64,
    /// The numbers with their names, and as short as a legend allows.
    says: String,
    /// A shorter text, which is shown beside the bar.
    pub short: String,
}

impl StanceBar {
    /// The bar of two probabilities.
    pub fn of(pro: f64, con: f64) -> StanceBar {
        let [of_pro, of_con] = [pro, con].map(three_decimals);
        let says = format!("P(pro) {of_pro}, P(con) {of_con}");
        StanceBar {
            pro: width(pro),
            con: width(con),
            short: says.clone(),
            says,
        }
    }

    /// The bar of P(pro) - P(con) alone.
    pub fn balance(balance: f64) -> StanceBar {
        let short = format!("{balance:+.3}").replace('-', "−");
        StanceBar {
            pro: width(balance),
            con: width(-balance),
            says: format!("P(pro) − P(con) {short}"),
            short,
        }
    }
}

/// The width of a share.
fn width(share: f64) -> f64 {
    match share.is_finite() {
        true => 50.0 * share.clamp(0.0, 1.0),
        false => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_stays_within_its_half() {
        let bar = StanceBar::of(f64::NAN, 7.0).render().unwrap();
        assert!(bar.contains("class=\"pro\" width=\"0.0%\""), "{bar}");
        assert!(bar.contains("x=\"50.0%\" width=\"50.0%\""), "{bar}");
        let bar = StanceBar::balance(-0.8).render().unwrap();
        assert!(bar.contains("P(pro) − P(con) −0.800"), "{bar}");
        assert!(bar.contains("x=\"60.0%\" width=\"40.0%\""), "{bar}");
    }
}
