use super::*;
use proptest::prelude::*;

fn pieces(text: &str) -> Vec<String> {
    Pieces::of(text).into_list().map(Cow::into_owned).collect()
}

#[test]
fn a_text_leans_by_its_words_and_their_negations() {
    assert_eq!(leaning("a table and a chair"), None);
    assert_eq!(leaning("Support it: it is good"), Some(2.0 / 3.0));
    assert_eq!(leaning("STOP this"), Some(-0.5));
    assert_eq!(leaning("It is not dangerous"), Some(0.5));
    assert_eq!(leaning("that is not a right"), Some(-0.5));
    assert_eq!(leaning("pros and cons"), Some(0.0));
}

#[test]
fn a_short_text_is_one_piece_and_a_long_one_adds_its_first_sentences() {
    assert_eq!(pieces("LOWER THE VOTING AGE"), ["LOWER THE VOTING AGE"]);
    assert_eq!(
        pieces("@MayorLee is right! #LowerTheAge"),
        ["Mayor Lee is right!", "Mayor Lee is right! Lower The Age"]
    );
    let one = "It is high time that young people were heard in the halls of power, said the mayor.";
    let text = format!("{one} Yes. {one} {one}");
    let found = pieces(&text);
    assert_eq!(found.len(), 3);
    assert_eq!((found[0].as_str(), found[1].as_str()), (text.as_str(), one));
    // the last sentences, of at most 40 words
    assert_eq!(found[2], format!("Yes. {one} {one}"));
    // the end of a text that is not read to its end is no ending
    let long = format!("{text} {}", vec![one; 20].join(" "));
    assert!(pieces(&long)[2].starts_with("Yes. It is"));
}

#[test]
fn words_alone_tell_approval_from_rejection_and_follow_the_polarity_of_the_claim() {
    let model = TextStanceModel::committed();
    let good = "This is a great benefit and it helps to protect people.";
    let bad = "This is dangerous, it harms and kills people.";
    let of = |claim, text| model.stances(claim, text, None).balance();
    assert!(of("vaping should be allowed", good) > 0.0);
    assert!(of("vaping should be allowed", bad) < 0.0);
    assert!(of("vaping should be banned", bad) > 0.0);
}

#[test]
fn the_sum_of_an_explanation_is_what_it_explains() {
    let model = TextStanceModel::committed();
    let (claim, text) = (
        "the voting age should be lowered",
        "Young people pay taxes and should have a say in how they are spent by the state. They are also \
             informed well enough to vote, as studies of the last ten years have shown again and again.",
    );
    let logits: Vec<Logits> = pieces(text).iter().map(|_| [-1.0, 2.0, -0.5]).collect();
    for logits in [None, Some(logits.as_slice())] {
        let stances = model.stances(claim, text, logits);
        let explained = model.explain(claim, text, logits);
        assert_eq!(explained.value(), stances.balance());
        let (neither, sides) = explained.parts().split_last().unwrap();
        assert_eq!(neither.value(), stances.neither);
        let sum: f64 = sides.iter().map(Explanation::value).sum();
        let pro = (1.0 - stances.neither) * logistic(sum);
        assert!((pro - stances.pro).abs() < 1e-9, "{explained:?}");
    }
}

/// Whatever the encoder makes of the hashtags at the end of a post, a stance that is fairly sure stays.
#[test]
fn hashtags_do_not_turn_a_stance_round() {
    let model = TextStanceModel::committed();
    let claim = "bicycles are good";
    let text = "Bicycles are amazing, cheap, clean and healthy!";
    for sure in [3.0, 5.0, 9.0] {
        for sign in [1.0, -1.0] {
            let read: Logits = [-sign * sure, sign * sure, -2.0];
            let plain = model.stances(claim, text, Some(&[read]));
            for tags in ["#bike", "#fail #hate #NoMoreBikes", "#a #b #c #d #e #f"] {
                for with_tags in [[9.0, -9.0, -9.0], [-9.0, 9.0, -9.0], [-9.0, -9.0, 9.0]] {
                    let post = format!("{text} {tags}");
                    let found = model.stances(claim, &post, Some(&[read, with_tags]));
                    let change = logit(found.pro_of_sides()) - logit(plain.pro_of_sides());
                    let w = &model.weights;
                    let most = (w.whole + w.sentences) * TAGS_LIMIT;
                    assert!(change.abs() <= most + 1e-9, "{post}: {change}");
                    assert_eq!(found.balance() > 0.0, plain.balance() > 0.0, "{post}");
                }
            }
        }
    }
}

/// The weights do not change with the length of a text. Only a text that is longer than all that was learned from is less certain.
#[test]
fn the_weights_are_the_same_for_all_texts() {
    let model = TextStanceModel::committed();
    let claim = "the library should open on sundays";
    let sentence = "The stone is on the table beside the other stone in the room of the old house.";
    let repeated = |count| {
        let text = vec![sentence; count].join(" ");
        let logits = vec![[-2.0, 2.0, -2.0]; Pieces::of(&text).count()];
        model.stances(claim, &text, Some(&logits))
    };
    let once = repeated(1);
    let long = repeated(40);
    assert!(long.pro > long.con && long.pro_of_sides() <= once.pro_of_sides() + 1e-6);
    for count in [2, 3, 8] {
        let found = repeated(count);
        assert!(
            (found.pro_of_sides() - once.pro_of_sides()).abs() < 1e-6,
            "{count}"
        );
        assert!((found.neither - once.neither).abs() < 1e-6, "{count}");
    }
}

#[test]
fn weights_are_not_negative() {
    let text = WEIGHTS;
    for name in ["whole", "sentences", "words", "neither"] {
        let at = text.find(&format!("\n{name} = ")).unwrap();
        let mut changed = text.to_owned();
        changed.insert(at + name.len() + 4, '-');
        let error = TextStanceModel::parse(&changed).unwrap_err();
        assert!(
            error.to_string().contains("neither_bias"),
            "{name}: {error}"
        );
    }
}

#[test]
fn what_is_no_sentence_takes_no_side() {
    let model = TextStanceModel::committed();
    let sure: &[Logits] = &[[-9.0, 9.0, -9.0]];
    for text in [
        "",
        " \n",
        "Yes.",
        "42",
        "10 20 30",
        "|| ~~ .,",
        "xkcd grmpf",
        "l1 I0 |o ,.",
        "原子力 発電",
    ] {
        assert_eq!(
            model.stances("zoos should be closed", text, Some(sure)),
            Stances::NEITHER,
            "{text}"
        );
        let explained = model.explain("zoos should be closed", text, Some(sure));
        assert_eq!(explained.value(), 0.0);
    }
    for text in ["Ban guns!", "No, never", "NO MORE ZOOS", "50% fewer zoos"] {
        assert!(is_sentence(text), "{text}");
    }
}

proptest! {
    #[test]
    fn probabilities_of_any_text_add_up(
        claim in "\\PC{0,60}",
        text in "\\PC{0,400}",
        logits in proptest::option::of(proptest::collection::vec([-30f32..30.0, -30f32..30.0, -30f32..30.0], 1..4)),
    ) {
        let s = TextStanceModel::committed().stances(&claim, &text, logits.as_deref());
        prop_assert!((s.pro + s.con + s.neither - 1.0).abs() < 1e-9);
        prop_assert!([s.pro, s.con, s.neither].iter().all(|p| (0.0..=1.0).contains(p)));
    }
}
