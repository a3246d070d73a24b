//! Which of two objects a passage prefers (src/score/object_stance.rs).

use proptest::prelude::*;
use riposte::reading::stance_encoder::StanceEncoder;
use riposte::score::object_stance::{Belief, ObjectStanceModel, Objects, PREFERENCE};
use riposte_eval::ObjectStance::{First, Neutral, No, Second};

use crate::stance_encoder::real;

/// The belief from the words of a passage, without an encoder.
fn belief(first: &str, second: &str, passage: &str) -> Belief {
    ObjectStanceModel::committed().belief(&Objects::new(first, second), passage, None)
}

fn belief_by_encoder(model: &StanceEncoder, objects: &Objects, passage: &str) -> Belief {
    let masked = objects.masked(passage);
    let pairs: Vec<(&str, &str)> = masked
        .iter()
        .flatten()
        .map(|text| (PREFERENCE, text.as_str()))
        .collect();
    let logits = model.logits(&pairs).unwrap();
    ObjectStanceModel::committed().belief(objects, passage, Some(logits.as_chunks::<2>().0))
}

/// Passages that prefer cats to dogs.
const FOR_CATS: [&str; 5] = [
    "Cats are better than dogs. I prefer cats because they are clean and quiet.",
    "Dogs are worse than cats in every way. They are slower and a dog is much noisier than a cat.",
    "I would not recommend dogs. I love my cat, cats are wonderful and easier to keep than dogs.",
    "I had both cats and dogs. The former are better than the latter, and I prefer the former.",
    "If you ask me, choose a cat: a cat is less expensive than a dog, and cats are more independent.",
];

#[test]
fn better_than_names_the_better_one() {
    for passage in FOR_CATS {
        let found = belief("cats", "dogs", passage);
        assert_eq!(found.decision, First, "{passage} {found:?}");
        let swapped = belief("dogs", "cats", passage);
        assert_eq!(swapped.decision, Second, "{passage} {swapped:?}");
    }
    // a negation reverses the comparison
    let [first, second, ..] =
        belief("cats", "dogs", "Cats are not better than dogs.").probabilities;
    assert!(first < second, "{first} {second}");
}

#[test]
fn objects_are_found_by_their_parts_plurals_and_genitives() {
    let found = |first: &str, second: &str, passage: &str| {
        let masked = Objects::new(first, second).masked(passage);
        masked
            .first()
            .map(|[as_is, _]| as_is.clone())
            .unwrap_or_default()
    };
    for (first, second, passage, masked) in [
        (
            "cow milk",
            "goat milk",
            "Goat's milk beats cows' milk.",
            "OBJB milk beats OBJA' milk.",
        ),
        (
            "steel knives",
            "ceramic knives",
            "A ceramic knife, not steel.",
            "A OBJB knife, not OBJA.",
        ),
        ("bake", "fry food", "Baked, not fried.", "OBJA, not OBJB."),
        ("MAC", "PC", "Macs or a PC!", "OBJA or a OBJB!"),
        (
            "Family Guy",
            "The Simpsons",
            "Is Family Guy funny?",
            "Is OBJA funny?",
        ),
        ("C++", "C#", "C# is not C++.", "OBJB is not OBJA."),
    ] {
        assert_eq!(found(first, second, passage), masked);
    }
    assert_eq!(
        Objects::new("tea", "coffee").masked("Tea? Or none. Coffee."),
        [["OBJA?", "OBJB?"], ["OBJB.", "OBJA."]]
    );
}

#[test]
fn a_list_of_links_takes_no_stance_and_praise_of_both_is_neutral() {
    let menu = "Cats Dogs Birds Fish Home About Us Contact Cat Breeds Dog Breeds Cat Food Reviews Dog Food \
        Reviews Forum Login Register Site Map Privacy Policy Photos Videos";
    assert_eq!(belief("cats", "dogs", menu).decision, No);
    let both = "Both cats and dogs are good pets. Dogs and cats are equally loved, and both have advantages: cats are \
        better than dogs in a small flat, but dogs are better than cats for a walk. Either cats or dogs can make you \
        happy, while neither dogs nor cats are easy.";
    let found = belief("cats", "dogs", both);
    assert_eq!(found.decision, Neutral, "{found:?}");
}

#[test]
fn probabilities_are_explained() {
    let objects = Objects::new("cats", "dogs");
    let opened = ObjectStanceModel::committed().explain(&objects, FOR_CATS[0], None);
    let belief = belief("cats", "dogs", FOR_CATS[0]);
    assert_eq!(
        (opened.name(), opened.value()),
        ("stance FIRST", belief.probabilities[0])
    );
    let [takes, neutral, which] = opened.parts() else {
        panic!("{opened:?}")
    };
    let first = takes.value() * (1.0 - neutral.value()) * which.value();
    assert!((first - opened.value()).abs() < 1e-12);
}

fn swapped(belief: &Belief) -> Belief {
    let [first, second, neutral, no] = belief.probabilities;
    Belief {
        probabilities: [second, first, neutral, no],
        decision: match belief.decision {
            First => Second,
            Second => First,
            other => other,
        },
    }
}

proptest! {
    #[test]
    fn swapping_the_objects_swaps_first_and_second(
        words in proptest::collection::vec(
            prop::sample::select(vec![
                "cats", "dog", "better", "than", "not", "I", "prefer", "but", ",", ".", "!", "great", "bad", "former",
                "latter", "the", "worse", "more", "expensive", "if", "both", "PC",
            ]),
            0..60,
        ),
    ) {
        let passage = words.join(" ");
        let objects = Objects::new("cats", "dogs");
        let model = ObjectStanceModel::committed();
        let as_is = model.belief(&objects, &passage, None);
        prop_assert!((as_is.probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let other = model.belief(&objects.swapped(), &passage, None);
        prop_assert_eq!(&other, &swapped(&as_is));
        prop_assert_eq!(&model.belief(&Objects::new("dogs", "cats"), &passage, None), &other);
    }

    #[test]
    fn any_text_and_objects_have_a_stance(a in "\\PC{0,20}", b in "\\PC{0,20}", text in "\\PC{0,200}") {
        let passage = format!("{a} is better than {b}. {text} {b}'s");
        let objects = Objects::new(&a, &b);
        objects.masked(&passage);
        let belief = ObjectStanceModel::committed().belief(&objects, &passage, None);
        prop_assert!(belief.probabilities.iter().all(|p| (0.0..=1.0).contains(p)));
    }
}

#[test]
fn the_encoder_changes_probabilities_and_swaps_with_the_objects() {
    let Some(model) = real() else { return };
    let objects = Objects::new("cats", "dogs");
    // only the encoder reads a short passage; all three models read a long one
    let long = FOR_CATS.join(" ");
    let mut right = 0;
    for passage in FOR_CATS.iter().copied().chain([long.as_str()]) {
        let found = belief_by_encoder(&model, &objects, passage);
        assert_ne!(
            found.probabilities,
            belief("cats", "dogs", passage).probabilities
        );
        right += usize::from(found.decision == First);
        let other = belief_by_encoder(&model, &objects.swapped(), passage);
        assert_eq!(other, swapped(&found));
    }
    // the encoder does not understand "less expensive than"
    assert!(right >= 5, "{right} of 6");
    let neither = belief_by_encoder(&model, &objects, "She has two cats and a dog.");
    assert_eq!(neither.decision, No, "{neither:?}");
}

#[test]
fn a_short_text_that_praises_each_object_for_something_is_neutral() {
    let Some(model) = real() else { return };
    let objects = Objects::new("Python", "Java");
    for (passage, decision) in [
        ("Python is slower, but easier to read.", Neutral),
        ("Java is faster, while Python is easier to learn.", Neutral),
        ("Python is easier to learn. Java is faster.", Neutral),
        ("Python is as good as Java.", Neutral),
        ("Python is slower than Java.", Second),
        ("Python is faster and easier to read than Java.", First),
        ("Java is slower and harder to learn than Python.", First),
        ("", No),
        ("1.2 / 3.4", No),
        ("Python and Java were released in the nineties.", No),
    ] {
        let found = belief_by_encoder(&model, &objects, passage);
        assert_eq!(found.decision, decision, "{passage} {found:?}");
        let sum: f64 = found.probabilities.iter().sum();
        assert!((sum - 1.0).abs() < 1e-9, "{passage} {found:?}");
        let other = belief_by_encoder(&model, &objects.swapped(), passage);
        assert_eq!(other, swapped(&found), "{passage}");
    }
}

#[test]
fn weights_that_would_favour_an_object_are_refused() {
    let weights = include_str!("../../models/own/object-stance.toml");
    let biased = weights.replacen(
        "[lexical.which]\nbias = 0",
        "[lexical.which]\nbias = 0.1",
        1,
    );
    assert_ne!(biased, weights);
    let said = format!("{:#}", ObjectStanceModel::parse(&biased).unwrap_err());
    assert!(said.contains("its bias and means must be 0"), "{said}");
    let lacking = weights.replacen("\"choices\" =", "\"other\" =", 1);
    let said = format!("{:#}", ObjectStanceModel::parse(&lacking).unwrap_err());
    assert!(said.contains("\"other\" is not a feature"), "{said}");
    assert!(ObjectStanceModel::parse("").is_err());
}
