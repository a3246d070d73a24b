//! Twins of labelled pairs: a text is put into a sentence that denies, concedes, quotes, asks, mocks or compares, and gets the stance of the new
//! sentence. The collections have few such texts, and an encoder that has not seen them judges by single words.
//!
//! The encoder ignores capitals, so the templates do too.

use riposte_claims::negated;
use riposte_claims::words::sentences;
use seeded_random::Random;

use crate::data::StanceExample;

/// The number of words of texts that are put into templates.
const WORDS: std::ops::RangeInclusive<usize> = 3..=30;

/// The stance of a twin, compared with the texts that it was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// That of the text `{a}`.
    OfA,
    /// The opposite of that of the text `{a}`.
    AgainstA,
    /// That of the text `{b}`, which has the opposite stance of `{a}`.
    OfB,
    Neither,
}

use Side::{AgainstA, Neither, OfA, OfB};

/// Templates over one text.
const OF_ONE: [(&str, Side); 72] = [
    // denial
    ("it is not true that {a}", AgainstA),
    ("it is false that {a}", AgainstA),
    ("it is simply wrong to say that {a}", AgainstA),
    ("it is a myth that {a}", AgainstA),
    ("it is not the case that {a}", AgainstA),
    ("nobody should believe that {a}", AgainstA),
    ("i do not believe that {a}", AgainstA),
    ("i don't think that {a}", AgainstA),
    ("there is no evidence that {a}", AgainstA),
    ("there is no reason to think that {a}", AgainstA),
    ("no study has ever shown that {a}", AgainstA),
    ("the idea that {a} is nonsense", AgainstA),
    ("the claim that {a} has been refuted", AgainstA),
    (
        "contrary to what many think, it isn't true that {a}",
        AgainstA,
    ),
    ("{a}. this is not true", AgainstA),
    ("{a}? no, that is wrong", AgainstA),
    ("nobody has ever proved that {a}", AgainstA),
    ("we can't accept the argument that {a}", AgainstA),
    ("it would be a mistake to assume that {a}", AgainstA),
    ("it has never been the case that {a}", AgainstA),
    // denial of a denial
    ("it is true that {a}", OfA),
    ("it is not false that {a}", OfA),
    ("it is not a myth that {a}", OfA),
    ("nobody can deny that {a}", OfA),
    ("it cannot be denied that {a}", OfA),
    ("there is no doubt that {a}", OfA),
    ("i do not doubt that {a}", OfA),
    ("it would be wrong to deny that {a}", OfA),
    ("it is not wrong to say that {a}", OfA),
    ("nobody who knows the facts would dispute that {a}", OfA),
    ("don't let anyone tell you that it isn't so: {a}", OfA),
    ("it is hard not to see that {a}", OfA),
    // quotation that agrees, rejects or reports
    ("according to several studies, {a}", OfA),
    ("experts agree that {a}", OfA),
    ("as the saying goes, \"{a}\", and that is how it is", OfA),
    ("\"{a}\", says a doctor who has seen it all", OfA),
    ("my teacher always told us that {a}, and she was right", OfA),
    ("some people claim that {a}. they are wrong", AgainstA),
    ("they keep telling us that {a}. that is nonsense", AgainstA),
    (
        "\"{a}\" is what people say who know nothing about it",
        AgainstA,
    ),
    (
        "it is often said that {a}, but nothing could be further from the truth",
        AgainstA,
    ),
    ("we were told that \"{a}\". it was a lie", AgainstA),
    ("critics say that {a}, but they forget the facts", AgainstA),
    (
        "the old story that {a} is repeated by people who should know better",
        AgainstA,
    ),
    (
        "the lobby wants us to believe that {a}. don't fall for it",
        AgainstA,
    ),
    ("the reporter asked several people whether {a}", Neither),
    ("the committee will discuss next week whether {a}", Neither),
    ("whether {a} is a question for another day", Neither),
    ("the study will find out whether {a}", Neither),
    // questions that argue, and questions that ask
    ("who can deny that {a}?", OfA),
    ("isn't it obvious that {a}?", OfA),
    ("don't you see that {a}?", OfA),
    ("when will people understand that {a}?", OfA),
    ("how can anyone believe that {a}?", AgainstA),
    ("who still believes that {a}?", AgainstA),
    ("where is the proof that {a}?", AgainstA),
    ("do you seriously want to tell me that {a}?", AgainstA),
    ("why should anyone think that {a}?", AgainstA),
    ("is it true that {a}?", Neither),
    ("do you think that {a}?", Neither),
    ("how many people think that {a}?", Neither),
    // irony
    ("sure, {a}. and pigs can fly", AgainstA),
    ("yeah right, {a}", AgainstA),
    ("oh please, {a}? give me a break", AgainstA),
    ("of course {a}, and the earth is flat", AgainstA),
    ("{a}, said no one ever", AgainstA),
    ("right, because {a}. what could possibly go wrong", AgainstA),
    ("{a}. yeah, sure. tell me another one", AgainstA),
    (
        "oh, how clever: {a}. did you come up with that all by yourself",
        AgainstA,
    ),
    ("because, as we all know, {a}. not", AgainstA),
    ("what a surprise, {a}. who would have guessed", OfA),
    ("oh no, who could have known that {a}", OfA),
];

/// Templates over two texts of opposite stances towards the claim.
const OF_TWO: [(&str, Side); 34] = [
    ("although {a}, {b}", OfB),
    ("{b}, although {a}", OfB),
    ("{a}, but {b}", OfB),
    ("{a}. but {b}", OfB),
    ("{a}. however, {b}", OfB),
    ("{a}; nevertheless, {b}", OfB),
    ("while {a}, {b}", OfB),
    ("even if {a}, {b}", OfB),
    ("{b}, even though {a}", OfB),
    ("{b}, even if {a}", OfB),
    ("admittedly, {a}. still, {b}", OfB),
    ("granted, {a}, and yet {b}", OfB),
    ("it is true that {a}, yet {b}", OfB),
    ("yes, {a}. all the same, {b}", OfB),
    ("of course {a}, but in the end {b}", OfB),
    ("{a}, to be sure. the truth is that {b}", OfB),
    ("i know that {a}. what matters more is that {b}", OfB),
    ("some say that {a}. in fact {b}", OfB),
    ("opponents argue that {a}, but {b}", OfB),
    ("supporters argue that {a}, but {b}", OfB),
    ("despite the claim that {a}, {b}", OfB),
    ("they say that {a}. i say that {b}", OfB),
    ("it is not that {a}, but that {b}", OfB),
    ("instead of saying that {a}, we should admit that {b}", OfB),
    ("{b}. it is not true that {a}", OfB),
    ("{a}. that may be, but {b}", OfB),
    ("you can say that {a} as often as you like: {b}", OfB),
    ("{a}? no: {b}", OfB),
    ("some say that {a}, others say that {b}", Neither),
    (
        "arguments on one side: {a}. arguments on the other side: {b}",
        Neither,
    ),
    (
        "the speakers disagreed: one said that {a}, another that {b}",
        Neither,
    ),
    ("is it that {a}, or that {b}?", Neither),
    ("on the one hand {a}, on the other hand {b}", Neither),
    ("both are true: {a}, and {b}", Neither),
];

/// Words and their opposites. Each pair is used in both directions.
const OPPOSITES: [(&str, &str); 52] = [
    ("more", "fewer"),
    ("more", "less"),
    ("better", "worse"),
    ("safer", "more dangerous"),
    ("cheaper", "more expensive"),
    ("higher", "lower"),
    ("greater", "smaller"),
    ("easier", "harder"),
    ("healthier", "unhealthier"),
    ("stronger", "weaker"),
    ("increase", "reduce"),
    ("increases", "reduces"),
    ("increase", "decrease"),
    ("increases", "decreases"),
    ("improve", "worsen"),
    ("improves", "worsens"),
    ("help", "hurt"),
    ("helps", "hurts"),
    ("benefit", "harm"),
    ("benefits", "harms"),
    ("protect", "endanger"),
    ("protects", "endangers"),
    ("cause", "prevent"),
    ("causes", "prevents"),
    ("encourage", "discourage"),
    ("encourages", "discourages"),
    ("strengthen", "weaken"),
    ("strengthens", "weakens"),
    ("create", "destroy"),
    ("creates", "destroys"),
    ("good", "bad"),
    ("safe", "dangerous"),
    ("effective", "ineffective"),
    ("necessary", "unnecessary"),
    ("needed", "superfluous"),
    ("useful", "useless"),
    ("beneficial", "harmful"),
    ("healthy", "unhealthy"),
    ("fair", "unfair"),
    ("moral", "immoral"),
    ("ethical", "unethical"),
    ("right", "wrong"),
    ("easy", "hard"),
    ("cheap", "expensive"),
    ("important", "unimportant"),
    ("legal", "illegal"),
    ("success", "failure"),
    ("advantage", "disadvantage"),
    ("advantages", "disadvantages"),
    ("solve", "create"),
    ("solves", "creates"),
    ("fails", "succeeds"),
];

/// Words that make it unclear whether a text says the opposite when one of its words is replaced.
const UNCLEAR: [&str; 12] = [
    "not", "no", "never", "but", "although", "however", "though", "while", "without", "nobody",
    "nothing", "cannot",
];

/// The text for a template: on one line, without its final mark. None if it is not a single statement of a suitable length.
fn statement(text: &str) -> Option<String> {
    let text = text.trim().trim_end_matches(['.', '!', ' ', ';', ',']);
    let count = text.split_whitespace().count();
    let fits =
        WORDS.contains(&count) && !text.contains(['?', '"', ':']) && sentences(text).len() == 1;
    fits.then(|| text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn pick<'a, T>(items: &'a [T], random: &mut Random) -> &'a T {
    &items[random.below(items.len())]
}

/// A text made from `a` (and `b`, a text about the same claim with the opposite stance), and its stance. None if the texts fit no template.
pub fn of_text(
    a: &StanceExample,
    b: Option<&StanceExample>,
    random: &mut Random,
) -> Option<(String, Side)> {
    let first = statement(&a.text)?;
    match random.below(10) {
        0..=3 => {
            let (template, side) = pick(&OF_ONE, random);
            Some((template.replace("{a}", &first), *side))
        }
        4..=6 => {
            let second = statement(&b?.text)?;
            let (template, side) = pick(&OF_TWO, random);
            let text = template.replace("{a}", &first).replace("{b}", &second);
            Some((text, *side))
        }
        7 => {
            let words = first.split_whitespace().count();
            let negated = (words <= 20).then(|| negated(&first)).flatten()?;
            Some((negated, AgainstA))
        }
        _ => Some((opposite(&first, random)?, AgainstA)),
    }
}

/// The text with one word replaced by its opposite. None if there is no such word, several of them, or a word that makes the outcome unclear.
fn opposite(text: &str, random: &mut Random) -> Option<String> {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    let bare =
        |word: &str| -> String { word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned() };
    let is_unclear = |word: &&str| UNCLEAR.contains(&bare(word).as_str()) || word.ends_with("n't");
    if words.iter().any(is_unclear) {
        return None;
    }
    let mut found: Vec<(usize, Vec<&str>)> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let word = bare(word);
        let others: Vec<&str> = OPPOSITES
            .iter()
            .filter_map(|(a, b)| match () {
                () if *a == word => Some(*b),
                () if *b == word => Some(*a),
                () => None,
            })
            .collect();
        if !others.is_empty() {
            found.push((at, others));
        }
    }
    let [(at, others)] = found.as_slice() else {
        return None;
    };
    let other = pick(others, random);
    let mut made: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let place = made.get_mut(*at)?;
    *place = place.replace(&bare(place), other);
    Some(made.join(" "))
}

/// Claims about a subject `{x}`, and whether each says the same.
type OtherClaims = [(&'static str, bool); 4];

/// Beginnings and ends of claims, and claims about the same subject.
const CLAIMS: [(&str, &str, OtherClaims); 14] = [
    (
        "we should ban ",
        "",
        [
            ("{x} should be forbidden", true),
            ("{x} must be outlawed", true),
            ("{x} should be allowed", false),
            ("{x} should stay legal", false),
        ],
    ),
    (
        "",
        " should be banned",
        [
            ("we should forbid {x}", true),
            ("{x} should be prohibited", true),
            ("{x} should be permitted", false),
            ("there is nothing wrong with {x}", false),
        ],
    ),
    (
        "we should legalize ",
        "",
        [
            ("{x} should be legal", true),
            ("{x} should be allowed", true),
            ("{x} should be forbidden", false),
            ("{x} should stay illegal", false),
        ],
    ),
    (
        "",
        " should be legalized",
        [
            ("we should allow {x}", true),
            ("{x} should be legal", true),
            ("{x} should be a crime", false),
            ("we should ban {x}", false),
        ],
    ),
    (
        "we should abolish ",
        "",
        [
            ("we should get rid of {x}", true),
            ("{x} should be abolished", true),
            ("we should keep {x}", false),
            ("we need {x}", false),
        ],
    ),
    (
        "",
        " should be abolished",
        [
            ("we should do away with {x}", true),
            ("{x} should end", true),
            ("{x} should be kept", false),
            ("we need {x}", false),
        ],
    ),
    (
        "we should end ",
        "",
        [
            ("{x} should stop", true),
            ("we should put an end to {x}", true),
            ("{x} should go on", false),
            ("we should keep {x}", false),
        ],
    ),
    (
        "we should subsidize ",
        "",
        [
            ("the state should pay for {x}", true),
            ("{x} should get public money", true),
            ("{x} should not get a penny of public money", false),
            ("we should stop paying for {x}", false),
        ],
    ),
    (
        "we should abandon ",
        "",
        [
            ("we should give up {x}", true),
            ("{x} should be abandoned", true),
            ("we should keep {x}", false),
            ("{x} is worth keeping", false),
        ],
    ),
    (
        "we should adopt ",
        "",
        [
            ("{x} should be adopted", true),
            ("we need {x}", true),
            ("we should reject {x}", false),
            ("{x} would be a mistake", false),
        ],
    ),
    (
        "we should oppose ",
        "",
        [
            ("we should fight {x}", true),
            ("{x} is wrong", true),
            ("we should support {x}", false),
            ("{x} is good", false),
        ],
    ),
    (
        "we should support ",
        "",
        [
            ("{x} is good", true),
            ("{x} deserves our support", true),
            ("we should oppose {x}", false),
            ("{x} is wrong", false),
        ],
    ),
    (
        "we should introduce ",
        "",
        [
            ("we need {x}", true),
            ("{x} should be introduced", true),
            ("{x} should never be introduced", false),
            ("we should reject {x}", false),
        ],
    ),
    (
        "",
        " brings more harm than good",
        [
            ("{x} does more harm than good", true),
            ("the harm of {x} is greater than its benefit", true),
            ("{x} brings more good than harm", false),
            ("the benefit of {x} is greater than its harm", false),
        ],
    ),
];

/// The subject of a claim of a known form ("we should ban zoos": "zoos"), and the other claims about it.
fn known_form(claim: &str) -> Option<(&str, &'static [(&'static str, bool); 4])> {
    CLAIMS.iter().find_map(|(start, end, others)| {
        let has_start = claim.get(..start.len())?.eq_ignore_ascii_case(start);
        let subject = claim.get(start.len()..)?.strip_suffix(end)?;
        (has_start && !subject.is_empty()).then_some((subject, others))
    })
}

/// Another claim about the same subject, and whether it says the same.
pub fn of_claim(claim: &str, random: &mut Random) -> Option<(String, bool)> {
    if let Some((subject, others)) = known_form(claim)
        && random.percent(60)
    {
        let (template, same) = pick(others, random);
        return Some((template.replace("{x}", subject), *same));
    }
    if random.percent(25) {
        let denials = [
            "it is not true that ",
            "it is wrong that ",
            "nobody should demand that ",
        ];
        return Some((format!("{}{claim}", pick(&denials, random)), false));
    }
    Some((negated(claim)?, false))
}

/// Texts about a subject that take no side.
const ABOUT: [&str; 28] = [
    "{x}",
    "what is {x}?",
    "pros and cons of {x}",
    "arguments for and against {x}",
    "a short history of {x}",
    "this page is about {x}",
    "{x}: definition, examples, facts",
    "news and background on {x}",
    "statistics on {x} by country",
    "a survey asked 1,000 people about {x}",
    "in this lesson students discuss {x}",
    "photo: {x}, 2015",
    "the debate about {x} continues",
    "there are different views on {x}",
    "opinions on {x} are divided",
    "frequently asked questions about {x}",
    "read more about {x} in our dossier",
    "{x} - wikipedia",
    "the essay looks at both sides of {x}",
    "she has written a book on {x}",
    "parliament will debate {x} in the autumn",
    "the commission is to report on {x} by june",
    "the word {x} is explained in the glossary",
    "laws on {x} differ from country to country",
    "the conference on {x} takes place in vienna",
    "is there a debate about {x} in your country?",
    "when did the discussion about {x} begin?",
    "tell us what you think about {x}",
];

/// Texts that say nothing about any claim: phrases that surround articles on web pages, and plain statements.
const UNRELATED: [&str; 64] = [
    "click here to read more",
    "subscribe to our newsletter",
    "all rights reserved",
    "image: getty images",
    "terms of use and privacy policy",
    "share this on facebook or twitter",
    "this site uses cookies",
    "log in or create an account",
    "page 3 of 12",
    "figure 2: results by year",
    "monday to friday, 9 am to 5 pm",
    "add to basket",
    "free shipping on orders over 50 dollars",
    "written by our staff on 4 march 2019",
    "leave a comment",
    "related articles",
    "table of contents",
    "home about contact",
    "download the pdf",
    "source: own calculation",
    "the weather will be mild with some rain in the west",
    "the train leaves from platform four",
    "the second volume was published in 1987",
    "he was born in a small town in ohio",
    "the river is about two hundred miles long",
    "the recipe serves four people",
    "the house has three bedrooms and a garden",
    "the band released its first album in may",
    "the match ended two to one",
    "the film is based on a novel",
    "the shop sells books and records",
    "the word comes from latin",
    "the company has 300 employees",
    "the meeting will take place on thursday",
    "my cat sleeps all day",
    "the museum has a new wing",
    "it was a long and quiet evening",
    "the road is closed because of works",
    "the paint comes in six colours",
    "please turn off your phone",
    "10 20 30 40 50",
    "jan feb mar apr may jun",
    "lorem ipsum dolor sit amet",
    "model no. 4711, made in germany",
    "yes",
    "no",
    "maybe",
    "thank you for your time",
    "i have not decided yet",
    "i do not know enough about this to have an opinion",
    "i can see both sides",
    "it depends",
    "next question please",
    "both sides agreed to meet again",
    "the results were mixed",
    "some agree, some disagree",
    "there are advantages and disadvantages",
    "experts disagree",
    "more research is needed",
    "the jury is still out",
    "good morning everyone",
    "see you next week",
    "the author teaches at a university",
    "the photo was taken in 1962",
];

/// A text that takes no side on the claim, and whether it is about something else. A text about the claim needs a claim of a known form, or one
/// that can be asked as a question.
pub fn neutral(claim: &str, random: &mut Random) -> (String, bool) {
    if random.percent(60) {
        if let Some((subject, _)) = known_form(claim) {
            return (pick(&ABOUT, random).replace("{x}", subject), false);
        }
        if random.percent(50)
            && let Some(question) = asked(claim)
        {
            return (question, false);
        }
    }
    ((*pick(&UNRELATED, random)).to_owned(), true)
}

/// The claim as a question ("should zoos be closed?"). None if it has no verb that can begin the question.
fn asked(claim: &str) -> Option<String> {
    for verb in ["should", "is", "are", "must", "can", "will"] {
        let between = format!(" {verb} ");
        if let Some((subject, rest)) = claim.split_once(&between) {
            return Some(format!("{verb} {subject} {rest}?"));
        }
    }
    None
}

/// The adjectives of comparisons: the worse and the better one.
const COMPARATIVES: [(&str, &str); 24] = [
    ("slower", "faster"),
    ("more expensive", "cheaper"),
    ("harder to read", "easier to read"),
    ("heavier", "lighter"),
    ("less reliable", "more reliable"),
    ("harder to learn", "easier to learn"),
    ("worse", "better"),
    ("more dangerous", "safer"),
    ("noisier", "quieter"),
    ("weaker", "stronger"),
    ("less comfortable", "more comfortable"),
    ("less tasty", "tastier"),
    ("uglier", "prettier"),
    ("less healthy", "healthier"),
    ("less durable", "more durable"),
    ("less efficient", "more efficient"),
    ("harder to clean", "easier to clean"),
    ("less flexible", "more flexible"),
    ("more boring", "more fun"),
    ("less powerful", "more powerful"),
    ("less popular", "more popular"),
    ("buggier", "more stable"),
    ("dirtier", "cleaner"),
    ("less precise", "more precise"),
];

/// A sentence about OBJA and OBJB, and whether it says that OBJA is better. None if it prefers neither.
pub fn comparison(random: &mut Random) -> (String, Option<bool>) {
    let at = random.below(COMPARATIVES.len());
    let step = 1 + random.below(COMPARATIVES.len() - 1);
    let (one, two) = (
        COMPARATIVES[at],
        COMPARATIVES[(at + step) % COMPARATIVES.len()],
    );
    let (object, other) = if random.percent(50) {
        ("OBJA", "OBJB")
    } else {
        ("OBJB", "OBJA")
    };
    let is_a = object == "OBJA";
    let mixed: [String; 8] = [
        format!("{object} is {}, but {}.", one.0, two.1),
        format!("{object} is {} than {other}, but {}.", one.1, two.0),
        format!("{object} is {}, while {other} is {}.", one.1, two.1),
        format!(
            "{object} is {}. On the other hand, {other} is {}.",
            one.1, two.1
        ),
        format!("{object} may be {}, yet {other} is {}.", one.1, two.1),
        format!(
            "If you want something {}, take {object}; if you want something {}, take {other}.",
            one.1, two.1
        ),
        format!(
            "Both {object} and {other} have their strengths: one is {}, the other is {}.",
            one.1, two.1
        ),
        format!("{object} is as good as {other}."),
    ];
    let clear: [(String, bool); 8] = [
        (format!("{object} is {} and {}.", one.1, two.1), true),
        (
            format!("{object} is {} and {} than {other}.", one.0, two.0),
            false,
        ),
        (format!("{object} is {} than {other}.", one.1), true),
        (format!("{object} is not {} than {other}.", one.1), false),
        (
            format!("{object} is {}, and {other} is {}.", one.1, one.0),
            true,
        ),
        (
            format!("Compared with {object}, {other} is {}.", one.1),
            false,
        ),
        (
            format!("Although {other} is {}, I prefer {object}.", one.1),
            true,
        ),
        (format!("{object} isn't as good as {other}."), false),
    ];
    if random.percent(60) {
        (pick(&mixed, random).clone(), None)
    } else {
        let (text, of_object) = pick(&clear, random);
        (text.clone(), Some(*of_object == is_a))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> StanceExample {
        StanceExample {
            claim: "we should ban zoos".to_owned(),
            text: text.to_owned(),
            supports: true,
            quality: None,
            group: String::new(),
        }
    }

    #[test]
    fn one_word_that_turns_the_meaning_is_replaced_by_its_opposite() {
        let mut random = Random::new(1, "twins", 0);
        let made = opposite("Zoos are harmful to animals.", &mut random);
        assert_eq!(made.as_deref(), Some("zoos are beneficial to animals."));
        assert_eq!(opposite("zoos are not harmful", &mut random), None);
        assert_eq!(opposite("good zoos are harmful", &mut random), None);
        assert_eq!(opposite("zoos have animals", &mut random), None);
    }

    #[test]
    fn twins_hold_the_words_of_their_texts() {
        let mut random = Random::new(1, "twins", 1);
        let (a, b) = (
            row("Animals suffer there."),
            row("Children learn a lot there!"),
        );
        let mut sides = Vec::new();
        for _ in 0..200 {
            if let Some((text, side)) = of_text(&a, Some(&b), &mut random) {
                if text.starts_with("Animals do not suffer there") {
                    assert_eq!(side, AgainstA);
                    continue;
                }
                assert!(text.contains("Animals suffer there"), "{text}");
                assert!(!text.contains(['{', '}']), "{text}");
                assert_eq!(
                    side == OfB,
                    text.contains("Children learn a lot there") && side != Neither
                );
                sides.push(side);
            }
        }
        for side in [OfA, AgainstA, OfB, Neither] {
            assert!(sides.contains(&side), "{side:?}");
        }
        assert_eq!(of_text(&row("Why?"), None, &mut random), None);
    }

    #[test]
    fn claims_of_a_known_form_have_other_claims_about_their_subject() {
        let found = known_form("We should ban zoos").unwrap();
        assert_eq!(found.0, "zoos");
        assert_eq!(
            known_form("The vow of celibacy should be abolished")
                .unwrap()
                .0,
            "The vow of celibacy"
        );
        assert!(known_form("zoos are cruel").is_none());
        assert_eq!(
            asked("zoos should be closed").as_deref(),
            Some("should zoos be closed?")
        );
    }
}
