//! Words that compare two things, choose one of them or call them alike.
//!
//! All lists but [`WEIGHING`] are features with which riposte finds the stance of a text towards two objects. Its learned weights belong to exactly
//! these words.

use super::list;

/// Words that weigh one thing against another. Their number shows how much a passage compares, which is one of the opinions by which passages are
/// re-ranked. This list mixes words that the lists below separate.
pub const WEIGHING: &[&str] = &list::<28>(
    "better worse than versus vs compare compared compares comparison whereas while unlike both \
    prefer preferred best more less faster cheaper difference differences advantage advantages \
    disadvantage disadvantages pros cons",
);

/// Comparatives that praise the object that they describe.
pub const BETTER: &[&str] = &list::<26>(
    "better faster easier superior healthier safer quicker smoother nicer stronger cheaper smarter \
    cleaner richer preferable happier cooler greater tastier simpler finer brighter clearer \
    comfier sturdier bigger",
);

/// Comparatives that criticise the object that they describe.
pub const WORSE: &[&str] = &[
    "worse", "slower", "harder", "inferior", "weaker", "poorer", "heavier", "uglier", "costlier",
    "dumber", "noisier", "riskier", "louder", "bulkier", "buggier",
];

/// Comparatives that are followed by "to" instead of "than".
pub const TAKES_TO: &[&str] = &["superior", "inferior", "preferable"];

/// Qualities of which more is worse, but for which VADER has no valence: "more expensive than".
pub const UNWANTED: &[&str] = &["expensive", "difficult", "complex", "complicated", "prone"];

/// Verbs that say outright which object the writer chooses.
pub const PREFER: &[&str] = &list::<16>(
    "prefer prefers preferred recommend recommends recommended choose chose choosing love loves \
    favor favour suggest opt stick",
);

/// Verbs that can express which object the writer chooses. They count less than the verbs of [`PREFER`].
pub const CHOOSE: &[&str] = &[
    "pick", "picked", "loved", "buy", "use", "get", "try", "go", "enjoy",
];

/// Superlatives, good and bad.
pub const SUPERLATIVES: &[&str] = &list::<18>(
    "best finest greatest easiest fastest safest healthiest favorite favourite ideal winner \
    cheapest strongest worst slowest hardest poorest weakest",
);

/// Words that announce a comparison, whatever its result.
pub const COMPARING: &[&str] = &list::<8>("vs versus v compare compared comparing comparison than");

/// Words that make a preference depend on something.
pub const CONDITIONS: &[&str] = &["if", "depends", "depending", "unless", "whether"];

/// Words that set one statement against another.
pub const CONTRASTS: &[&str] =
    &list::<9>("while whereas however but although though conversely contrast unlike");

/// Words that speak of both objects at once or call them alike: signs of a neutral stance.
pub const ALIKE: &[&str] =
    &list::<10>("both either equally similar same equal neither difference differences comparable");

/// Words for advantages and disadvantages.
pub const PROS_AND_CONS: &[&str] = &list::<10>(
    "advantage advantages disadvantage disadvantages pros cons benefits benefit drawbacks drawback",
);

/// Tokens between two clauses, punctuation included.
pub const CLAUSE_BREAKS: &[&str] = &[
    ",", ";", ":", "(", ")", "but", "while", "whereas", "however", "although", "though", "and",
    "or",
];

/// Words that do not name an object: "to load up a class" is about loading and classes. The list is for the stance towards objects, where it
/// is also a feature; it is no stop list of retrieval.
pub const OBJECT_STOP_WORDS: &[&str] = &list::<31>(
    "the a an to in of with at for do it my your and or on is be by from as having have no not \
    without one that this you i",
);

/// Other names of a few everyday objects, by the object. Names of products are missing on purpose: the list would never be complete.
pub const ALIASES: &[(&str, &[&str])] = &[
    ("mac", &["macintosh"]),
    ("pc", &["windows"]),
    ("train", &["rail"]),
    ("plane", &["airplane", "aircraft", "flight", "airline"]),
    ("laptop", &["notebook"]),
    ("football", &["soccer"]),
    ("television", &["tv"]),
    ("car", &["automobile"]),
    ("dog", &["puppy", "canine"]),
    ("cat", &["kitten", "feline"]),
    ("stone", &["rock", "gravel"]),
    ("wood", &["wooden", "bark"]),
];
