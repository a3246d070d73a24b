//! The mentions of two objects in a passage.

use std::collections::HashSet;

use riposte_claims::lexicon::comparison::{ALIASES, OBJECT_STOP_WORDS};
use riposte_claims::words::{Sentence, Token, sentences, tokens};

/// Maximum distance, in tokens, of two words of an object in one mention: "goat and sheep" are two apart in "goat and sheep milk".
const MAX_GAP: usize = 2;

/// Maximum number of sentences of a text that the stance encoder reads, each of them twice. The limit bounds the time for one text; passages of
/// Touché 2022 have far fewer.
const READ_SENTENCES: usize = 256;

/// Maximum number of characters of a masked sentence.
const MASKED_CHARACTERS: usize = 600;

/// A coarse stem: the word in lower case without the endings of the plural, the possessive, "-ing" and "-ed". Confusions are rare, because stems
/// are only compared with those of the few words of two objects.
pub(super) fn stem(word: &str) -> String {
    let mut stem = word.to_lowercase().replace('’', "'");
    if let Some(bare) = stem.strip_suffix("'s").or_else(|| stem.strip_suffix('\'')) {
        stem = bare.to_owned();
    }
    let long = |s: &str, least: usize| s.chars().count() > least;
    if long(&stem, 3) {
        if let Some(bare) = stem.strip_suffix("ies") {
            stem = format!("{bare}y");
        } else if let Some(bare) = stem.strip_suffix("ves") {
            stem = format!("{bare}f");
        } else if let Some(bare) = stem.strip_suffix("sses") {
            stem = format!("{bare}ss");
        } else if stem.ends_with('s') && !stem.ends_with("ss") && !stem.ends_with("us") {
            stem.pop();
        }
    }
    let verb = stem.strip_suffix("ing").or_else(|| stem.strip_suffix("ed"));
    if let Some(bare) = verb.filter(|bare| long(bare, 2)) {
        stem = bare.to_owned();
        let mut back = stem.chars().rev();
        if long(&stem, 3) && back.next() == back.next() {
            stem.pop();
        }
    }
    if long(&stem, 3) && stem.ends_with('e') {
        stem.pop();
    }
    if long(&stem, 2) && stem.ends_with('y') {
        stem.pop();
        stem.push('i');
    }
    stem
}

/// The words by which a text names each of two objects.
#[derive(Clone, Debug)]
pub struct Objects {
    /// For each object the stems of its words and of their aliases, each with the index of the word.
    terms: [Vec<(String, usize)>; 2],
    /// The number of words that only this object has, at least 1, for each object.
    sizes: [f64; 2],
}

/// A mention of an object in a sentence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mention {
    /// Index in the sentence of the mention's first token.
    pub first: usize,
    /// Index of the mention's last token, inclusive.
    pub last: usize,
    /// The object: 0 or 1.
    pub object: usize,
    /// Share of the object's words in the mention, in (0, 1].
    pub weight: f64,
}

impl Mention {
    /// 1.0 for the first object, -1.0 for the second.
    pub fn sign(&self) -> f64 {
        if self.object == 0 { 1.0 } else { -1.0 }
    }
}

impl Objects {
    /// Creates the objects from their names in a topic ("cow milk", "goat milk"). Words that both names have do not distinguish the objects, so
    /// they are ignored unless an object has no other words.
    pub fn new(first: &str, second: &str) -> Self {
        let content = |object: &str| {
            let words: Vec<Token<'_>> = tokens(object).into_iter().filter(|t| t.word).collect();
            let names = |t: &&Token<'_>| !OBJECT_STOP_WORDS.contains(&t.lower.as_str());
            let mut stems: Vec<String> = words.iter().filter(names).map(|t| stem(t.text)).collect();
            if stems.is_empty() {
                stems = words.iter().map(|t| stem(t.text)).collect();
            }
            let mut seen = HashSet::new();
            stems.retain(|stem| seen.insert(stem.clone()));
            stems
        };
        let all = [content(first), content(second)];
        let own = |n: usize| {
            let (mine, other) = (&all[n], &all[1 - n]);
            let own = || mine.iter().filter(|s| !other.contains(s));
            let has_own = own().next().is_some();
            own()
                .chain(mine.iter().filter(|_| !has_own))
                .collect::<Vec<_>>()
        };
        let own = [own(0), own(1)];
        let with_aliases = |n: usize| {
            let mut terms: Vec<(String, usize)> = Vec::new();
            for (word, term) in own[n].iter().enumerate() {
                terms.push(((*term).clone(), word));
                let aliases = ALIASES.iter().find(|(name, _)| stem(name) == **term);
                for alias in aliases.map_or(&[][..], |(_, aliases)| aliases) {
                    terms.push((stem(alias), word));
                }
            }
            terms
        };
        let named = [with_aliases(0), with_aliases(1)];
        let alone = |n: usize| -> Vec<(String, usize)> {
            let other = |s: &String| named[1 - n].iter().any(|(term, _)| term == s);
            let alone = named[n].iter().filter(|(s, _)| !other(s));
            alone.cloned().collect()
        };
        Objects {
            terms: [alone(0), alone(1)],
            sizes: [own[0].len().max(1) as f64, own[1].len().max(1) as f64],
        }
    }

    /// The same objects in the opposite order.
    pub fn swapped(&self) -> Self {
        let [a, b] = self.terms.clone();
        Objects {
            terms: [b, a],
            sizes: [self.sizes[1], self.sizes[0]],
        }
    }

    /// The sentences of a text with their mentions. "Former" and "latter" are mentions of the objects of the last sentence that named both, in
    /// the order of that sentence.
    pub(super) fn read<'a>(&self, text: &'a str) -> Vec<(Sentence<'a>, Vec<Mention>)> {
        let mut former = None;
        let read = |sentence: Sentence<'a>| {
            let mentions = self.mentions(&sentence, former);
            let first = mentions.first().map(|m| m.object);
            if mentions.iter().any(|m| Some(m.object) != first) {
                former = first;
            }
            (sentence, mentions)
        };
        sentences(text).into_iter().map(read).collect()
    }

    /// The mentions in a sentence, in its order. Different words of one object form one mention if they are close together. `former` is the
    /// object that "former" refers to, if any.
    fn mentions(&self, sentence: &Sentence<'_>, former: Option<usize>) -> Vec<Mention> {
        let mut mentions: Vec<Mention> = Vec::new();
        let mut seen: Vec<usize> = Vec::new();
        for (position, token) in sentence.tokens.iter().enumerate().filter(|(_, t)| t.word) {
            let stem = stem(token.text);
            let found = (0..2).find_map(|n| {
                let term = self.terms[n].iter().find(|(term, _)| *term == stem)?;
                Some((n, Some(term.1)))
            });
            let pronoun = || match token.lower.as_str() {
                "former" => former.map(|n| (n, None)),
                "latter" => former.map(|n| (1 - n, None)),
                _ => None,
            };
            let Some((object, word)) = found.or_else(pronoun) else {
                continue;
            };
            match (mentions.last_mut(), word) {
                (Some(open), Some(word))
                    if open.object == object
                        && position - open.last <= MAX_GAP
                        && !seen.is_empty()
                        && !seen.contains(&word) =>
                {
                    open.last = position;
                    seen.push(word);
                    open.weight = seen.len() as f64 / self.sizes[object];
                }
                _ => {
                    // "former" and "latter" refer to the complete object, so no word is added to their mention
                    seen = word.into_iter().collect();
                    mentions.push(Mention {
                        first: position,
                        last: position,
                        object,
                        weight: word.map_or(1.0, |_| 1.0 / self.sizes[object]),
                    });
                }
            }
        }
        mentions
    }

    /// The texts that the stance encoder reads for an [`ObjectStanceModel`](super::ObjectStanceModel): each sentence with a mention, first with `OBJA`
    /// and `OBJB` in place of the first and the second object, then with the two exchanged. Sentences are cut after 600 characters, and only the
    /// first 256 sentences are read ([`Objects::unread`]).
    pub fn masked(&self, text: &str) -> Vec<[String; 2]> {
        let mut masked = Vec::new();
        for (sentence, mentions) in self.read(text) {
            if masked.len() == READ_SENTENCES {
                break;
            }
            if !mentions.is_empty() {
                masked.push([["OBJA", "OBJB"], ["OBJB", "OBJA"]].map(|names| {
                    let (mut out, mut done) = (String::new(), sentence.start);
                    for mention in &mentions {
                        let [first, last] =
                            [mention.first, mention.last].map(|n| &sentence.tokens[n]);
                        out.push_str(&text[done..first.start]);
                        out.push_str(names[mention.object]);
                        done = last.end;
                    }
                    out.push_str(&text[done..sentence.start + sentence.text.len()]);
                    out.chars().take(MASKED_CHARACTERS).collect()
                }));
            }
        }
        masked
    }

    /// A sentence that says what [`Objects::masked`] leaves out of a text; `None` if nothing is left out.
    pub fn unread(&self, text: &str) -> Option<String> {
        let sentences = self.read(text);
        let naming = sentences.iter().filter(|(_, m)| !m.is_empty()).count();
        (naming > READ_SENTENCES).then(|| format!(
            "the stance encoder read the first {READ_SENTENCES} of its {naming} sentences that name an object"
        ))
    }
}
