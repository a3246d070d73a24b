//! A sentence as subject, finite verb and rest, so that it can be stated and negated.

use super::nouns::{article, head, is_plural, is_uncountable};
use super::verbs::{in_number, past, plural, third_person};
use super::words::{ClauseWord, after, capitalised, position, uncapitalised, with_capital};

/// The kind of the finite verb of a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VerbKind {
    /// "should", "can".
    Modal,
    Be,
    /// "have" with a participle.
    Have,
    /// "do" with a verb in its base form. A statement with only a main verb is read like this, too ("causes" as "does cause").
    Do,
}

/// A clause, with its finite verb separated from its subject and from the rest.
#[derive(Clone, Debug)]
pub(super) struct Clause {
    /// The words before the subject ("In a democracy,"); often empty.
    pub before: Vec<ClauseWord>,
    /// Empty in an imperative.
    pub subject: Vec<ClauseWord>,
    /// The finite verb in the form that agrees with the subject: "do", "does" or "did" with [`VerbKind::Do`].
    pub finite: ClauseWord,
    pub kind: VerbKind,
    /// Adverbs and "not", the verb, and the words after it.
    pub rest: Vec<ClauseWord>,
    /// Whether the clause was a question. In questions, "any" means "some".
    pub is_asked: bool,
}

/// Adverbs that stay before a negation: "clearly does not", "is probably not".
const OF_SENTENCES: &str = "certainly clearly definitely obviously probably surely undoubtedly \
    perhaps evidently presumably";

impl Clause {
    /// The number of words of `rest` before its verb: adverbs, "not", "all" in "we all need".
    fn adverbs(&self) -> usize {
        let mut at = 0;
        while let Some(word) = self.rest.get(at) {
            let floats = word.is("all both each") && self.kind != VerbKind::Be;
            let no_longer = self.is_at(at, "no longer");
            if no_longer {
                at += 2;
            } else if word.is_adverb() || floats {
                at += 1;
            } else {
                break;
            }
        }
        at.min(self.rest.len())
    }

    /// Whether `rest` has these words at position `at`.
    fn is_at(&self, at: usize, words: &str) -> bool {
        let rest = self.rest.get(at..);
        rest.is_some_and(|rest| after(rest, words).is_some())
    }

    /// The clause as a statement.
    pub fn stated(&self) -> Vec<ClauseWord> {
        let mut words = self.before.clone();
        words.extend(self.subject.iter().cloned());
        let negated = self
            .rest
            .iter()
            .take(self.adverbs())
            .any(ClauseWord::negates);
        if self.kind != VerbKind::Do || negated {
            words.extend((!self.finite.text.is_empty()).then(|| self.finite.clone()));
            words.extend(self.rest.iter().cloned());
            return words;
        }
        if self.subject.is_empty() {
            words.extend(self.rest.iter().cloned());
            return capitalised(&words);
        }
        let verb = self.adverbs();
        let rest = self.rest.iter().enumerate().map(|(at, word)| {
            let is_verb = at == verb || at > verb && self.is_second_verb(verb, at);
            match self.finite.lower.as_str() {
                "does" if is_verb => word.replaced(&third_person(&word.text)),
                "did" if is_verb => word.replaced(&past(&word.text)),
                _ => word.clone(),
            }
        });
        words.extend(rest);
        words
    }

    /// Whether the word at position `at` of `rest` is a verb coordinated with the one at `verb` ("cause cancer and kill people").
    fn is_second_verb(&self, verb: usize, at: usize) -> bool {
        let Some(between) = self.rest.get(verb + 1..at) else {
            return false;
        };
        let joined = between.last().is_some_and(|word| word.is("and or but"));
        let is_base = self.rest.get(at).is_some_and(|word| word.tagged("VB VBP"));
        let opens = |word: &ClauseWord| word.tagged("TO MD WDT WP") || word.is("that");
        let is_inside = between.iter().any(opens);
        joined && is_base && !is_inside
    }

    /// The negation of the clause; `None` if it is not clear how to negate it.
    pub fn negated(&self) -> Option<Vec<ClauseWord>> {
        // "can and should"
        let has_two_verbs = self.finite.text.contains(' ');
        if has_two_verbs || self.subject.first().is_some_and(|word| word.is("neither")) {
            return None;
        }
        self.without_negation()
            .or_else(|| self.with_other_subject())
            .or_else(|| self.with_other_adverb())
            .or_else(|| self.without_no())
            .or_else(|| self.without_existence())
            .or_else(|| Some(self.with_not()))
    }

    /// The clause with other words, all with this part of speech, in place of `count` words of `rest`.
    fn with_rest(&self, start: usize, count: usize, words: &str, tag: &'static str) -> Clause {
        let mut clause = self.clone();
        let end = (start + count).min(clause.rest.len());
        let words = words
            .split_whitespace()
            .map(|word| ClauseWord::new(word, tag));
        clause.rest.splice(start.min(end)..end, words);
        clause
    }

    /// The clause without the negation at its verb.
    fn without_negation(&self) -> Option<Vec<ClauseWord>> {
        for at in 0..self.adverbs() {
            let word = self.rest.get(at)?;
            if word.negates() {
                let mut clause = if self.is_at(at + 1, "yet") {
                    self.with_rest(at, 2, "already", "RB")
                } else {
                    self.with_rest(at, 1, "", "RB")
                };
                clause.drop_any_more(at);
                clause.assert_indefinites();
                clause.permit();
                if clause.finite.is("ought") && !clause.is_at(at, "to") {
                    clause.rest.insert(at, ClauseWord::new("to", "TO"));
                }
                clause.replace_quantifier("some", "all");
                return Some(clause.stated());
            }
            let replacement = match word.lower.as_str() {
                "never" if self.is_deontic() => "",
                "never" => "sometimes",
                "rarely" | "seldom" => "often",
                "hardly" | "scarcely" if self.is_at(at + 1, "ever") => "often",
                "hardly" | "scarcely" | "barely" => "",
                "no" if self.is_at(at, "no longer") => "still",
                _ => continue,
            };
            let count = 1 + usize::from(word.is("no") || self.is_at(at + 1, "ever"));
            let mut clause = self.with_rest(at, count, replacement, "RB");
            if replacement.is_empty() {
                clause.permit();
            }
            return Some(clause.stated());
        }
        None
    }

    /// Replaces "must" by "may", which is the opposite of "must not".
    fn permit(&mut self) {
        if self.finite.is("must") {
            self.finite = self.finite.replaced("may");
        }
    }

    /// Whether "never" forbids something; otherwise it says how often something happens.
    fn is_deontic(&self) -> bool {
        self.finite.is("should must shall ought will would") || self.subject.is_empty()
    }

    /// Replaces "any" by "some", after the question or negation that allowed "any" is gone.
    pub fn assert_indefinites(&mut self) {
        let chooses_freely = self.chooses_freely();
        // "any better"
        let mut at = 0;
        while at < self.rest.len() {
            let next = self.rest.get(at + 1);
            if self.is_at(at, "any") && next.is_some_and(|next| next.tagged("JJR RBR")) {
                self.rest.remove(at);
            }
            at += 1;
        }
        // "is sometimes justified", but "will replace"
        let finite = &self.finite;
        let once = finite.is("will would can could may might did has have had");
        let often = if once { "" } else { "sometimes" };
        let of_subject = self.subject.iter_mut().take(usize::from(!chooses_freely));
        for word in of_subject.chain(&mut self.rest) {
            let positive = match word.lower.as_str() {
                "ever" => often,
                "any" => "some",
                "anyone" => "someone",
                "anybody" => "somebody",
                "anything" => "something",
                _ => continue,
            };
            *word = word.replaced(positive);
        }
        self.rest.retain(|word| !word.text.is_empty());
    }

    /// Whether "any" at the beginning of the subject means each one: "any child can", but not "any children can".
    fn chooses_freely(&self) -> bool {
        let permits = self.finite.is("can could may might should");
        if self.is_asked && !permits {
            return false;
        }
        match self.subject.first().map_or("", |word| word.lower.as_str()) {
            "any" => {
                !is_plural(&self.subject)
                    && self.subject.get(1).is_some_and(|word| word.lower != "of")
            }
            "anyone" | "anybody" | "anything" => permits,
            _ => false,
        }
    }

    /// Replaces "any more" by "still" after the negation is gone: "is still needed".
    fn drop_any_more(&mut self, at: usize) {
        let count = match self.rest.as_slice() {
            [.., word] if word.is("anymore") => 1,
            [.., any, more] if any.is("any") && more.is("more") => 2,
            _ => return,
        };
        self.rest.truncate(self.rest.len() - count);
        self.rest.insert(at, ClauseWord::new("still", "RB"));
    }

    /// Replaces the first word of the subject by `new` if it is `old`.
    fn replace_quantifier(&mut self, old: &str, new: &str) {
        if let Some(first) = self.subject.first_mut()
            && first.lower == old
        {
            *first = first.replaced(&like(first, new));
        }
    }

    /// The clause with the opposite of the quantifier that begins the subject.
    fn with_other_subject(&self) -> Option<Vec<ClauseWord>> {
        let first = self.subject.first()?;
        let second = self.subject.get(1);
        let mut clause = self.clone();
        let other = match first.lower.as_str() {
            "each" if second.is_some_and(|word| !word.is("of")) => {
                clause.replace_quantifier("each", "every");
                return clause.with_negated_subject();
            }
            "all" | "every" | "everyone" | "everybody" | "everything" | "everywhere" | "both"
            | "many" | "only" | "each" => return clause.with_negated_subject(),
            "not" => {
                clause.subject.remove(0);
                if first.text == "Not" {
                    clause.subject = capitalised(&clause.subject);
                }
                return Some(clause.stated());
            }
            "any" | "anyone" | "anybody" | "anything" if self.chooses_freely() => {
                let every = first.lower.replace("any", "every");
                clause.replace_quantifier(&first.lower, &every);
                return clause.with_negated_subject();
            }
            "any" | "some" if second.is_some_and(|word| word.is("of")) => "none",
            "some" if second.is_some_and(|word| word.is("people")) && self.subject.len() == 2 => {
                clause.subject.truncate(1);
                clause.put_verb_into_number(false);
                "no one"
            }
            "any" | "some" => "no",
            "anyone" | "someone" => "no one",
            "anybody" | "somebody" => "nobody",
            "anything" | "something" => "nothing",
            "nobody" => "somebody",
            "nothing" => "something",
            "none" => "some",
            "few" => "many",
            "no" if second.is_some_and(|word| word.is("one")) => {
                clause.subject.remove(1);
                "someone"
            }
            "no" => {
                clause.make_plural();
                "some"
            }
            _ => return None,
        };
        clause.replace_quantifier(&first.lower, other);
        Some(clause.stated())
    }

    /// Turns "All museums are …" into "Not all museums are …".
    fn with_negated_subject(mut self) -> Option<Vec<ClauseWord>> {
        let not = like(self.subject.first()?, "not");
        self.subject = uncapitalised(&self.subject);
        self.subject.insert(0, ClauseWord::new(&not, "RB"));
        Some(self.stated())
    }

    /// Puts the subject and its verb into the plural ("No animal is" becomes "Some animals are").
    fn make_plural(&mut self) {
        if is_plural(&self.subject) {
            return;
        }
        let head = head(&self.subject);
        let Some(noun) = head.and_then(|at| self.subject.get_mut(at)) else {
            return;
        };
        if is_uncountable(&noun.lower) {
            return;
        }
        *noun = noun.replaced(&plural(&noun.text));
        self.put_verb_into_number(true);
    }

    fn put_verb_into_number(&mut self, plural: bool) {
        if let Some(form) = in_number(&self.finite.lower, plural) {
            self.finite = self.finite.replaced(form);
        }
    }

    /// The clause with the opposite of an adverb at its verb.
    fn with_other_adverb(&self) -> Option<Vec<ClauseWord>> {
        let adverbs = self.rest.get(..self.adverbs())?;
        if let Some(at) = position(adverbs, "also") {
            return self.with_rest(at, 1, "", "RB").negated();
        }
        let at = position(adverbs, "still sometimes occasionally ever already")?;
        Some(match self.rest.get(at)?.lower.as_str() {
            "still" => self.with_rest(at, 1, "no longer", "RB").stated(),
            // "does not yet cause"
            "already" => self.with_rest(at, 1, "yet", "RB").with_not(),
            _ => self.with_rest(at, 1, "never", "RB").stated(),
        })
    }

    /// The position after the verb: after "be", or after a participle that follows an auxiliary.
    fn behind_verb(&self) -> usize {
        let mut at = self.adverbs();
        if self.kind != VerbKind::Be {
            at += 1;
            if self.is_at(at - 1, "have been") {
                at += 1;
            }
        }
        at
    }

    /// The clause without the "no" after its verb: "have no right" becomes "have a right".
    fn without_no(&self) -> Option<Vec<ClauseWord>> {
        let at = self.behind_verb();
        let word = self.rest.get(at)?;
        let positive = match word.lower.as_str() {
            "no" if self.is_at(at + 1, "one") => {
                return Some(self.with_rest(at, 2, "someone", "NN").stated());
            }
            "no" => article(self.rest.get(at + 1..)?),
            "nothing" => Some("something"),
            "nobody" => Some("somebody"),
            _ => return None,
        };
        let positive = positive.unwrap_or_default();
        Some(self.with_rest(at, 1, positive, "DT").stated())
    }

    /// Turns "there is a God" into "there is no God".
    fn without_existence(&self) -> Option<Vec<ClauseWord>> {
        if !matches!(self.subject.as_slice(), [there] if there.is("there"))
            || self.kind != VerbKind::Be
        {
            return None;
        }
        let at = self.adverbs();
        let word = self.rest.get(at)?;
        let next_is = |words: &str| self.rest.get(at + 1).is_some_and(|word| word.is(words));
        let (count, words) = match word.lower.as_str() {
            "a" | "an" if !next_is("lot few little great huge") => (1, "no"),
            "any" | "some" => (1, "no"),
            "something" => (1, "nothing"),
            "such" if next_is("a an") => (2, "no such"),
            "such" => (0, "no"),
            "more" | "enough" | "many" | "much" | "too" | "most" | "several" | "only" => {
                return None;
            }
            _ if word.is_noun() || word.tagged("JJ VBG") => (0, "no"),
            _ => return None,
        };
        Some(self.with_rest(at, count, words, "DT").stated())
    }

    /// The clause with "not" at its verb.
    fn with_not(&self) -> Vec<ClauseWord> {
        let not = ClauseWord::new("not", "RB");
        if self.subject.is_empty() {
            let mut words = self.before.clone();
            let is_joint = !self.before.is_empty() && self.kind == VerbKind::Modal;
            words.extend((!is_joint).then(|| ClauseWord::new("Do", "VBP")));
            words.push(not);
            words.extend(uncapitalised(&self.rest));
            return words;
        }
        let of_sentence = self.rest.iter().take_while(|word| word.is(OF_SENTENCES));
        let preferring = usize::from(
            self.finite.is("had would") && (self.is_at(0, "better") || self.is_at(0, "rather")),
        );
        let kept = of_sentence.count().max(preferring);
        let (adverbs, rest) = self.rest.split_at(kept.min(self.rest.len()));
        // "must not" forbids; the opposite of a duty is "does not have to"
        let is_duty = self.finite.is("must");
        let often = rest.iter().take_while(|word| word.is_adverb() && is_duty);
        let (often, rest) = rest.split_at(often.count());
        let finite = self.finite.clone();
        let verb = if is_duty {
            let plural = is_plural(&self.subject) || is_first_or_second(&self.subject);
            let auxiliary = ClauseWord::new(if plural { "do" } else { "does" }, "VBP");
            let have_to = [ClauseWord::new("have", "VB"), ClauseWord::new("to", "TO")];
            [adverbs, &[auxiliary, not], often, &have_to].concat()
        } else if finite.is("can") && kept == 0 {
            vec![finite.replaced("cannot")]
        } else if self.kind == VerbKind::Do {
            [adverbs, &[finite, not]].concat()
        } else {
            [&[finite], adverbs, &[not]].concat()
        };
        [&self.before, &self.subject, &verb, rest].concat()
    }
}

/// The word, with a capital if `other` has one.
fn like(other: &ClauseWord, word: &str) -> String {
    if other.text.starts_with(char::is_uppercase) {
        with_capital(word)
    } else {
        word.to_owned()
    }
}

fn is_first_or_second(subject: &[ClauseWord]) -> bool {
    matches!(subject, [one] if one.is("i we you they these those"))
}
