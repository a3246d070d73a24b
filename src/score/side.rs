//! Does an image argue, and for which side? The traits of the models that estimate it.

use riposte_eval::{Explanation, Stance};

use crate::index::analyzer::Analyzer;
use crate::index::images::ImageEvidence;

/// Says that the formula or the network of a team has put an image on one side. The value is 0.
pub(crate) const SIDE: &str = "side";

/// Says that an image is in both lists, because its stance is not estimated. The value is 0.
pub(crate) const BOTH_SIDES: &str = "both-sides";

/// Estimates whether images argue.
pub(crate) trait ArgumentModel {
    /// How much each image argues. The estimate for one image can depend on the others.
    fn argues(&self, images: &[&ImageEvidence]) -> Vec<Explanation>;
}

/// Puts images on a side.
pub(crate) trait SideModel {
    /// The side of each image towards the query. `analyzer` is the one for the words of images.
    fn sides(&self, images: &[&ImageEvidence], query: &str, analyzer: &Analyzer) -> Vec<Sides>;
}

/// The scores of an image as PRO and as CON; `None` keeps it out of that list.
pub(crate) struct Sides {
    pub pro: Option<Explanation>,
    pub con: Option<Explanation>,
}

impl Sides {
    /// The score in the list of this stance.
    pub fn of(&self, stance: Stance) -> Option<&Explanation> {
        match stance {
            Stance::Pro => self.pro.as_ref(),
            Stance::Con => self.con.as_ref(),
        }
    }

    /// PRO if the value is positive, CON if it is negative. Both scores are 0, so only relevance decides the order.
    pub fn by_sign(name: &'static str, value: f64) -> Sides {
        Sides::by_side(name, value, format!("{value:.4}"))
    }

    /// As [`Sides::by_sign`]. `how` describes the value.
    pub fn by_side(name: &'static str, value: f64, how: String) -> Sides {
        let score = |is_listed: bool| {
            let score = || Explanation::new(SIDE, 0.0).named(name);
            is_listed.then(|| score().with_how(how.clone()))
        };
        Sides {
            pro: score(value > 0.0),
            con: score(value < 0.0),
        }
    }

    /// On both sides, because no stance is estimated.
    pub fn both() -> Sides {
        let side = Explanation::new(BOTH_SIDES, 0.0).named("on both sides");
        let side = || side.clone().with_how("no stance is estimated");
        Sides {
            pro: Some(side()),
            con: Some(side()),
        }
    }
}
