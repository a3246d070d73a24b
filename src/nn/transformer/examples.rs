//! The texts that show how large the inputs of an encoder's layers become, which decides how they are quantised. Any English text would do;
//! these are of the kinds that riposte reads: claims, answers, sentences of pages, headings, and texts of a word or two.

/// A model that reads two texts at a time gets each with the next one ([`pairs`]).
pub const EXAMPLES: &[&str] = &[
    "School uniforms should be banned.",
    "I went to a school with uniforms for six years, and nobody was ever teased about shoes or jackets; what we wore was simply not a topic, and in the morning there was nothing to choose.",
    "Should the voting age be lowered?",
    "People who pay taxes at sixteen may well ask why others decide what is done with them.",
    "Which is better for a beginner, Python or Java?",
    "Python is easier to read and needs fewer lines, whereas Java shows you earlier, and more loudly, what you have got wrong. That said, for web pages neither of the two is my first choice.",
    "Nuclear power plants are safe",
    "Subscribe to our newsletter | Home | About us | Contact | Privacy policy",
    "It's not true.",
    "In 2019 the rate fell by 3.4% (from 12.1 to 11.7 per 1,000), according to the ministry's report.",
    "No",
    "They are right",
    "\"If we allow this,\" the mayor said, \"we will have to allow everything.\"",
    "Animal testing",
    "Dogs are better pets than cats: they are loyal, they can be trained, and they make you go out in any weather.",
    "Vaccines have saved millions of lives, and yet every winter there are parents who would rather trust a stranger's video than their doctor.",
];

/// Each example with the next one.
pub fn pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    EXAMPLES
        .iter()
        .copied()
        .zip(EXAMPLES.iter().skip(1).copied())
}
