//! How well a text is written, as a reader would judge it (src/score/quality.rs).

use proptest::prelude::*;
use riposte::score::quality::{self, Kind};

const GOOD: &str = "Raising the minimum wage would help working families. According to a study by the \
    university of Washington, wages rose by 3 percent after the increase, while the number of jobs stayed the same. \
    Critics claim that prices would follow; however, the study found no such effect. Therefore the benefits for \
    workers outweigh the small costs for employers, because people who earn more also spend more in local shops.";

fn quality(text: &str) -> f64 {
    quality::quality(Kind::Argument, text)
}

#[track_caller]
fn worse(worse: &str, than: &str) {
    let (worse_is, than_is) = (quality(worse), quality(than));
    assert!(
        worse_is < than_is - 0.01,
        "{worse_is:.3} for {worse:?} is not below {than_is:.3} for {than:?}"
    );
}

#[test]
fn shouting_swearing_and_typos_lower_the_quality() {
    worse(&GOOD.to_uppercase(), GOOD);
    worse(&GOOD.replace(". ", "!!! "), GOOD);
    worse(&GOOD.replace("Critics", "Those fucking idiots"), GOOD);
    worse(
        &GOOD
            .replace("the ", "teh ")
            .replace("Therefore", "wich is becuase i beleive")
            .replace(". ", ".")
            .to_lowercase(),
        GOOD,
    );
    worse("my opponent forfeits this round. vote con", GOOD);
    worse(
        &GOOD.replace("Critics claim", "lol ur dumb, u r gonna say"),
        GOOD,
    );
}

#[test]
fn an_argument_is_better_than_a_menu_or_a_headline() {
    let menu = "Home Products About Us Contact Site Map Privacy Policy Terms Of Use Login Register \
        Forum Recent Posts Archive Categories News Reviews Photos Videos Podcasts Shop Advertise";
    worse(menu, GOOD);
    worse("Minimum wage: raise it", GOOD);
}

#[test]
fn the_explanation_adds_up_to_the_quality() {
    for kind in [Kind::Argument, Kind::Passage] {
        let opened = quality::explain(kind, GOOD);
        assert_eq!(opened.value, quality::quality(kind, GOOD));
        let sum: f64 = opened.parts.iter().map(|part| part.value).sum();
        assert!((1.0 / (1.0 + (-sum).exp()) - opened.value).abs() < 1e-12);
        assert!(opened.parts.iter().any(|part| part.name == "profanity"));
    }
}

proptest! {
    #[test]
    fn any_text_has_a_quality(text in "(\\PC|[ .!?,A-Z\n'’+#])*") {
        for kind in [Kind::Argument, Kind::Passage] {
            let value = quality::quality(kind, &text);
            prop_assert!(value > 0.0 && value < 1.0, "{value}");
        }
    }
}
