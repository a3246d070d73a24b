//! VADER: Hutto and Gilbert, "VADER: A Parsimonious Rule-based Model for Sentiment Analysis of Social Media Text", ICWSM 2014. The rules
//! are those of `vaderSentiment` 3.3.2, including its quirks.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

/// What a booster ("very") adds to a valence, and a dampener ("hardly") subtracts.
const BOOST: f64 = 0.293;
/// What a word in capitals adds, if other words are not in capitals.
const CAPITALS: f64 = 0.733;
/// The factor of a negation.
const NEGATION: f64 = -0.74;
/// The constant that normalises a sum s of valences: s / √(s² + 15).
const ALPHA: f64 = 15.0;

const NEGATIONS: &str = "aint arent cannot cant couldnt darent didnt doesnt ain't aren't can't couldn't \
    daren't didn't doesn't dont hadnt hasnt havent isnt mightnt mustnt neither don't hadn't hasn't haven't \
    isn't mightn't mustn't neednt needn't never none nope nor not nothing nowhere oughtnt shant shouldnt \
    uhuh wasnt werent oughtn't shan't shouldn't uh-uh wasn't weren't without wont wouldnt won't wouldn't \
    rarely seldom despite";

const BOOSTERS: &str = "absolutely amazingly awfully completely considerable considerably decidedly deeply \
    effing enormous enormously entirely especially exceptional exceptionally extreme extremely fabulously \
    flipping flippin frackin fracking fricking frickin frigging friggin fully fuckin fucking fuggin fugging \
    greatly hella highly hugely incredible incredibly intensely major majorly more most particularly purely \
    quite really remarkably so substantially thoroughly total totally tremendous tremendously uber \
    unbelievably unusually utter utterly very";

const DAMPENERS: &str = "almost barely hardly kinda kindof kind-of less little marginal marginally occasional \
    occasionally partly scarce scarcely slight slightly somewhat sorta sortof sort-of";

/// Dampeners of two words. They count only if they begin two or three words before a word of the lexicon.
const DAMPENING_PAIRS: [[&str; 2]; 3] = [["just", "enough"], ["kind", "of"], ["sort", "of"]];

/// Phrases that have a valence as a whole.
const IDIOMS: [(&[&str], f64); 9] = [
    (&["the", "shit"], 3.0),
    (&["the", "bomb"], 3.0),
    (&["bad", "ass"], 1.5),
    (&["badass"], 1.5),
    (&["bus", "stop"], 0.0),
    (&["yeah", "right"], -2.0),
    (&["kiss", "of", "death"], -1.5),
    (&["to", "die", "for"], 3.0),
    (&["beating", "heart"], 3.5),
];

/// What the word lists say about a word.
#[derive(Clone, Copy, Default)]
struct LexiconEntry {
    /// The mean valence in the lexicon, in [-4, 4].
    valence: Option<f64>,
    /// [`BOOST`] for a booster, -[`BOOST`] for a dampener, else 0.
    boost: f64,
    negates: bool,
}

struct Lists {
    words: HashMap<&'static str, LexiconEntry>,
    /// Emoji of one code point, with their descriptions.
    emoji: HashMap<char, &'static str>,
}

static LISTS: LazyLock<Lists> = LazyLock::new(|| {
    let mut words: HashMap<&'static str, LexiconEntry> = HashMap::new();
    for line in include_str!("lexicon.tsv").lines() {
        if let Some((word, mean)) = line.split_once('\t') {
            words.entry(word).or_default().valence = mean.parse().ok();
        }
    }
    for (list, boost) in [(BOOSTERS, BOOST), (DAMPENERS, -BOOST)] {
        for word in list.split_whitespace() {
            words.entry(word).or_default().boost = boost;
        }
    }
    for word in NEGATIONS.split_whitespace() {
        words.entry(word).or_default().negates = true;
    }
    let emoji = include_str!("emoji.tsv").lines().filter_map(|line| {
        let (emoji, description) = line.split_once('\t')?;
        Some((emoji.chars().next()?, description))
    });
    let emoji = emoji.collect();
    Lists { words, emoji }
});

/// Computes the valence of texts. Creating one costs nothing after the first, because they share the word lists.
#[derive(Clone, Copy)]
pub struct Vader {
    lists: &'static Lists,
}

impl Default for Vader {
    fn default() -> Self {
        Self::new()
    }
}

/// A piece of the text between blanks, without the punctuation around it.
struct VaderToken<'a> {
    lower: Cow<'a, str>,
    /// Whether it has upper-case letters and no lower-case ones.
    capitals: bool,
    entry: LexiconEntry,
}

impl Vader {
    /// Reads the word lists when it is called for the first time.
    pub fn new() -> Self {
        Vader { lists: &LISTS }
    }

    /// The compound score of a text, in [-1, 1] with four decimals: Python's `polarity_scores(text)["compound"]`. 0 for neutral and empty
    /// texts.
    pub fn compound(&self, text: &str) -> f64 {
        let text = self.describe_emoji(text);
        let pieces = text.split(is_blank).filter(|piece| !piece.is_empty());
        let tokens: Vec<VaderToken<'_>> = pieces.map(|piece| self.token(piece)).collect();
        let shouted = tokens.iter().filter(|token| token.capitals).count();
        let sentence = VaderSentence {
            tokens: &tokens,
            mixed_capitals: 0 < shouted && shouted < tokens.len(),
        };
        let mut valences: Vec<f64> = (0..tokens.len()).map(|i| sentence.valence(i)).collect();
        if let Some(but) = tokens.iter().position(|token| token.lower == "but") {
            contrast(&mut valences, but);
        }
        let mut sum: f64 = valences.iter().sum();
        let emphasis = emphasis(&text);
        if sum > 0.0 {
            sum += emphasis;
        } else if sum < 0.0 {
            sum -= emphasis;
        }
        let compound = (sum / (sum * sum + ALPHA).sqrt()).clamp(-1.0, 1.0);
        (compound * 1e4).round() / 1e4
    }

    /// Replaces each emoji by its description, separated from a word before it.
    fn describe_emoji<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let described = |c: &char| (!c.is_ascii()).then(|| self.lists.emoji.get(c)).flatten();
        if !text.chars().any(|c| described(&c).is_some()) {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len() + 64);
        let mut after_space = true;
        for c in text.chars() {
            if let Some(description) = described(&c) {
                if !after_space {
                    out.push(' ');
                }
                out.push_str(description);
                after_space = false;
            } else {
                out.push(c);
                after_space = c == ' ';
            }
        }
        Cow::Owned(out)
    }

    fn token<'a>(&self, piece: &'a str) -> VaderToken<'a> {
        let bare = piece.trim_matches(|c: char| c.is_ascii_punctuation());
        // what remains of ":)" or "b)" would not be a word, so the emoticon is kept as it is
        let is_word = bare.chars().nth(2).is_some();
        let word = if is_word { bare } else { piece };
        let mut lower = Cow::Borrowed(word);
        if word
            .bytes()
            .any(|b| !b.is_ascii() || b.is_ascii_uppercase())
        {
            lower = word.to_lowercase().into();
        }
        let mut entry = self.lists.words.get(&*lower).copied().unwrap_or_default();
        entry.negates |= lower.contains("n't");
        VaderToken {
            capitals: word.chars().any(char::is_uppercase) && !word.chars().any(char::is_lowercase),
            lower,
            entry,
        }
    }
}

struct VaderSentence<'a> {
    tokens: &'a [VaderToken<'a>],
    /// Whether some tokens, but not all, are in capitals. Only then do capitals emphasise.
    mixed_capitals: bool,
}

impl VaderSentence<'_> {
    /// Token `i` in lower case; "" if there is none (no rule looks for that word).
    fn word(&self, i: Option<usize>) -> &str {
        let token = i.and_then(|i| self.tokens.get(i));
        token.map_or("", |token| &token.lower)
    }

    /// The valence of token `i` after all rules that depend on its neighbours.
    fn valence(&self, i: usize) -> f64 {
        let VaderToken {
            entry, capitals, ..
        } = &self.tokens[i];
        let back = |n: usize| self.word(i.checked_sub(n));
        let Some(listed) = entry.valence else {
            return 0.0;
        };
        if entry.boost != 0.0 || (back(0) == "kind" && self.word(Some(i + 1)) == "of") {
            return 0.0;
        }
        let mut valence = listed;
        let next = self.tokens.get(i + 1);
        if back(0) == "no" && next.is_some_and(|next| next.entry.valence.is_some()) {
            valence = 0.0; // it negates the next word instead
        }
        if back(1) == "no"
            || back(2) == "no"
            || (back(3) == "no" && matches!(back(1), "or" | "nor"))
        {
            valence = listed * NEGATION;
        }
        if self.mixed_capitals && *capitals {
            valence += if valence > 0.0 { CAPITALS } else { -CAPITALS };
        }
        for (distance, damping) in [(1, 1.0), (2, 0.95), (3, 0.9)] {
            let Some(j) = i.checked_sub(distance) else {
                break;
            };
            if self.tokens[j].entry.valence.is_some() {
                continue;
            }
            valence += self.boost(j, valence) * damping;
            valence = self.negate(valence, i, distance);
            if distance == 3 {
                valence = self.idioms(valence, i);
            }
        }
        if back(1) == "least" && !(i > 1 && matches!(back(2), "at" | "very")) {
            valence *= NEGATION;
        }
        valence
    }

    /// What booster `j` adds to a word with this valence.
    fn boost(&self, j: usize, valence: f64) -> f64 {
        let VaderToken {
            entry, capitals, ..
        } = &self.tokens[j];
        if entry.boost == 0.0 {
            return 0.0;
        }
        let mut boost = if valence < 0.0 {
            -entry.boost
        } else {
            entry.boost
        };
        if self.mixed_capitals && *capitals {
            boost += if valence > 0.0 { CAPITALS } else { -CAPITALS };
        }
        boost
    }

    /// The valence of word `i` after the word `distance` before it, which may be a negation.
    fn negate(&self, valence: f64, i: usize, distance: usize) -> f64 {
        let back = |n: usize| self.word(i.checked_sub(n));
        let so = |n: usize| matches!(back(n), "so" | "this");
        // "never so good" is praise. At distance 3, Python also accepts a "so" or "this" directly before the word, without "never"
        let never_so = match distance {
            2 => back(2) == "never" && so(1),
            3 => (back(3) == "never" && so(2)) || so(1),
            _ => false,
        };
        let without_doubt = distance > 1
            && back(distance) == "without"
            && (1..distance).any(|n| back(n) == "doubt");
        if never_so {
            valence * 1.25
        } else if !without_doubt && self.tokens[i - distance].entry.negates {
            valence * NEGATION
        } else {
            valence
        }
    }

    /// The valence of word `i` after phrases around it: an idiom replaces it, and a dampener of two words reduces it. Called if i > 2.
    fn idioms(&self, mut valence: f64, i: usize) -> f64 {
        let phrase = |first: usize, words: usize| {
            let tokens = self.tokens.get(i - first..i - first + words)?;
            let is_said = |(idiom, _): &&(&[&str], f64)| {
                idiom.len() == words && idiom.iter().zip(tokens).all(|(word, t)| t.lower == *word)
            };
            IDIOMS.iter().find(is_said).map(|(_, own)| *own)
        };
        let before = [(1, 2), (2, 3), (2, 2), (3, 3), (3, 2)];
        let before = before
            .into_iter()
            .find_map(|(first, words)| phrase(first, words));
        // of several, the last one counts
        let own = [before, phrase(0, 2), phrase(0, 3)];
        valence = own.into_iter().flatten().last().unwrap_or(valence);
        for first in [3, 2] {
            let pair = [self.word(Some(i - first)), self.word(Some(i - first + 1))];
            if DAMPENING_PAIRS.contains(&pair) {
                valence -= BOOST;
            }
        }
        valence
    }
}

/// Halves the valences before the first "but" and multiplies those after it by 1.5.
///
/// Python's code iterates over the list and, for each value, changes the first element that is equal to it, which may have been changed
/// before. The positions of each value are indexed here, because `list.index` would take minutes for a page of 100,000 words.
fn contrast(valences: &mut [f64], but: usize) {
    let mut positions: HashMap<u64, BTreeSet<usize>> = HashMap::new();
    // zeros stay zero
    for (i, valence) in valences.iter().enumerate().filter(|(_, v)| **v != 0.0) {
        positions.entry(valence.to_bits()).or_default().insert(i);
    }
    for i in 0..valences.len() {
        let valence = valences[i];
        let at = positions.get_mut(&valence.to_bits());
        let Some((at, first)) = at.and_then(|at| at.first().copied().map(|first| (at, first)))
        else {
            continue;
        };
        let changed = match first.cmp(&but) {
            std::cmp::Ordering::Less => valence * 0.5,
            std::cmp::Ordering::Equal => continue,
            std::cmp::Ordering::Greater => valence * 1.5,
        };
        at.remove(&first);
        positions
            .entry(changed.to_bits())
            .or_default()
            .insert(first);
        valences[first] = changed;
    }
}

/// What exclamation marks (at most four count) and question marks (from two on) add to the absolute value of the sum.
fn emphasis(text: &str) -> f64 {
    let count = |mark: u8| text.bytes().filter(|byte| *byte == mark).count();
    let exclamation = count(b'!').min(4) as f64 * 0.292;
    let question = match count(b'?') {
        0 | 1 => 0.0,
        n @ 2..=3 => n as f64 * 0.18,
        _ => 0.96,
    };
    exclamation + question
}

/// Whether Python's `str.split` splits at a character: white space of Unicode and four separators of ASCII.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}
