//! Words that approve, reject, blame, negate or make a claim.

use super::list;

/// Stems that turn a claim against its subject: "Should bottled water be banned?".
///
/// A stem of up to three letters counts only as a whole word or with one of [`SHORT_STEM_ENDINGS`]; a longer one counts at the
/// beginning of any word. Words that begin as in [`NOT_AGAINST`] do not count.
pub const AGAINST: &[&str] = &list::<30>(
    "ban abolish prohibit outlaw eliminat restrict repeal scrap remov reduc penali criminal unsafe \
    harm danger bad wrong unhealth unethic immoral unnecessar useless resign cut stop forbid end \
    destroy damag worse",
);

/// Endings that a short stem of [`AGAINST`] may have ("bans", "banned", "banning", "cutting").
pub const SHORT_STEM_ENDINGS: &[&str] = &["", "s", "ned", "ning", "ed", "ting"];

/// Beginnings of words that begin with a stem of [`AGAINST`] but mean something else.
pub const NOT_AGAINST: &[&str] = &list::<14>(
    "band bank banner bang bangladesh harmon endanger endorse endeavo cute badge badminton \
    cutting-edge endow",
);

/// Stems of verbs that say that the subject causes something. With one of [`EVILS`] after it, the claim is against its subject:
/// "Does poverty cause crime?".
pub const CAUSES: &[&str] = &["cause", "contribute", "increase", "lead", "promote"];

/// Stems of bad things that a subject may be said to cause ([`CAUSES`]).
pub const EVILS: &[&str] = &[
    "violen", "crime", "harm", "death", "disease", "addict", "traffick", "poverty", "obes",
    "damage",
];

/// Words that negate what follows. [`negates`] also recognises contractions.
pub const NEGATIONS: &[&str] = &["not", "no", "never", "without"];

/// Whether a word in lower case negates what follows: one of [`NEGATIONS`], or a contraction of "not" ("isn't"), with a straight
/// or a curly apostrophe.
pub fn negates(word: &str) -> bool {
    NEGATIONS.contains(&word) || word.ends_with("n't") || word.ends_with("n’t")
}

/// Words that, besides [`NEGATIONS`], turn a topic against its subject: "Should we imprison fewer people?".
pub const REDUCTIONS: &[&str] = &["fewer", "less"];

/// Words that, besides those of [`negates`], negate a comparison or a choice: "neither is better".
pub const NEGATIVE_WORDS: &[&str] = &["nothing", "none", "neither", "nor", "cannot", "hardly"];

/// Words of approval; the counterpart of [`OPPOSE`].
pub const SUPPORT: &[&str] = &list::<40>(
    "yes support supports pro pros good great benefit benefits beneficial advantage advantages \
    right rights allow legalize legalise better help helps save saves protect protects love safe \
    freedom equality equal deserve important positive improve improves healthy effective works \
    justice fair success",
);

/// Words of rejection, with negations among them; the counterpart of [`SUPPORT`].
pub const OPPOSE: &[&str] = &list::<52>(
    "no not against stop ban banned bans con cons bad danger dangers dangerous harm harms harmful \
    risk risks wrong kill kills never anti myth lie lies problem problems evil oppose opposes \
    disadvantage disadvantages ruin ruins destroy destroys dont don't shouldn't shouldnt isn't \
    negative fail fails failure worse worst unsafe cruel abuse death",
);

/// Words that state, demand or ask something. A picture whose text has them argues.
///
/// Approval and rejection count equally here.
/// The list overlaps with [`SUPPORT`] and [`OPPOSE`] and contains neither: riposte's learned weights of images belong to exactly these words.
pub const CLAIM_WORDS: &[&str] = &list::<52>(
    "should must need needs stop ban support vote save end no not never yes why because don't dont \
    can't cant isn't right rights wrong reasons facts myth truth against for pro pros con cons \
    benefits advantages disadvantages effects impact better worse more less if but protect join \
    fight enough now lower raise",
);

/// Words with which writers refer to themselves. They are more frequent in passages of opinion than in passages of facts.
pub const FIRST_PERSON: &[&str] = &["i", "i'm", "i've", "i'd", "my", "me"];
