//! Finds the finite verb of a statement.

use super::clause::{Clause, VerbKind};
use super::nouns::{head, is_plural};
use super::verbs::{base_of_past, base_of_third_person};
use super::words::{ClauseWord, is_at, position, read, tag_at, text};

/// Words that open a clause at the beginning of a sentence. A comma ends the clause.
const OPENINGS: &str = "if when although because while since unless though whereas";

/// Reads a statement as a clause; `None` if it has no finite verb, or several main clauses.
pub(super) fn clause(words: &[ClauseWord]) -> Option<Clause> {
    let start = subject_start(words)?;
    let (before, main) = words.split_at(start);
    if let Some(clause) = imperative(before, main) {
        return Some(clause);
    }
    let at = finite(main)?;
    if is_followed_by_another_clause(main.get(at + 1..)?) {
        return None;
    }
    let (subject, rest) = main.split_at(at);
    let (finite, rest) = rest.split_first()?;
    // "often rely", "also is": these adverbs belong to the verb
    let end = subject.iter().rposition(|word| !is_mid_adverb(word));
    let (subject, adverbs) = subject.split_at(end.map_or(0, |at| at + 1));
    if subject.is_empty() {
        return None;
    }
    clause_of(before, subject, adverbs, finite, rest)
}

/// Adverbs without "-ly" that can be in front of the verb that they belong to.
const MID_ADVERBS: &str = "often also still never always sometimes seldom just even ever already \
    soon no longer n't cannot";

/// Whether an adverb can be in front of the verb that it belongs to. Other adverbs end a subject ("time outdoors").
fn is_mid_adverb(word: &ClauseWord) -> bool {
    word.is_adverb() && word.lower.ends_with("ly") && !word.is("early daily only")
        || word.is(MID_ADVERBS) && !word.is_noun()
}

/// Contracted auxiliaries that stand for one word, with that word, its tag and its kind.
const CONTRACTIONS: [(&str, &str, &str, VerbKind); 7] = [
    ("ca", "can", "MD", VerbKind::Modal),
    ("wo", "will", "MD", VerbKind::Modal),
    ("'ll", "will", "MD", VerbKind::Modal),
    ("'d", "would", "MD", VerbKind::Modal),
    ("'re", "are", "VBP", VerbKind::Be),
    ("'m", "am", "VBP", VerbKind::Be),
    ("'ve", "have", "VBP", VerbKind::Have),
];

/// The clause with this finite verb.
fn clause_of(
    before: &[ClauseWord],
    subject: &[ClauseWord],
    adverbs: &[ClauseWord],
    finite: &ClauseWord,
    rest: &[ClauseWord],
) -> Option<Clause> {
    let place = adverbs.len();
    let mut rest = [adverbs, rest].concat();
    let next = rest.iter().find(|word| !word.is_adverb()).cloned();
    let is_modal = finite.tag == "MD";
    // "can and should"
    if is_modal && next.as_ref().is_some_and(|next| next.tag == "CC") {
        return None;
    }
    let is_contraction = |(short, _, tag, _): &&(&str, &str, &str, VerbKind)| {
        *short == finite.lower && (!is_modal || *tag == "MD")
    };
    let (finite, kind) = match CONTRACTIONS.iter().find(is_contraction) {
        Some((_, word, tag, kind)) => (ClauseWord::new(word, tag), *kind),
        None => auxiliary_of(finite, next.as_ref(), &mut rest, place)?,
    };
    Some(Clause {
        before: before.to_vec(),
        subject: subject.to_vec(),
        finite,
        kind,
        rest,
        is_asked: false,
    })
}

/// The auxiliary verb of a clause with this finite verb, and its kind. If the finite verb is a main verb, its base form goes to position `place` of
/// `rest`, and the auxiliary is the implied one ("did", "should"). `next` is the first word of `rest` that is no adverb.
fn auxiliary_of(
    finite: &ClauseWord,
    next: Option<&ClauseWord>,
    rest: &mut Vec<ClauseWord>,
    place: usize,
) -> Option<(ClauseWord, VerbKind)> {
    let next_is = |words: &str| next.is_some_and(|next| next.is(words));
    let verb_is = |tags: &str| next.is_some_and(|next| next.tagged(tags));
    Some(match finite.lower.as_str() {
        "cannot" => {
            rest.insert(0, ClauseWord::new("not", "RB"));
            (finite.replaced("can"), VerbKind::Modal)
        }
        "can" if is_at(rest, 0, "not") => (finite.replaced("can"), VerbKind::Modal),
        _ if finite.tag == "MD" => (finite.clone(), VerbKind::Modal),
        "'s" if verb_is("VBN") && next_is("been become gone had") => {
            (ClauseWord::new("has", "VBZ"), VerbKind::Have)
        }
        "'s" => (ClauseWord::new("is", "VBZ"), VerbKind::Be),
        "is" | "are" | "was" | "were" | "am" => (finite.clone(), VerbKind::Be),
        // "it be used" means "it should be used"
        "be" => {
            rest.insert(place, finite.clone());
            (ClauseWord::new("should", "MD"), VerbKind::Modal)
        }
        "had" if next_is("better") => (finite.clone(), VerbKind::Have),
        "has" | "have" | "had" if verb_is("VBN VBD") => (finite.clone(), VerbKind::Have),
        // "hurt", "cut": the present has the same form
        lower if finite.tag == "VBD" && base_of_past(lower).as_deref() == Some(lower) => {
            rest.insert(place, finite.clone());
            (ClauseWord::new("do", "VBP"), VerbKind::Do)
        }
        "do" | "does" | "did"
            if verb_is("VB VBP") || rest.get(place).is_some_and(ClauseWord::negates) =>
        {
            (finite.clone(), VerbKind::Do)
        }
        lower => {
            let (auxiliary, base) = match finite.tag {
                "VBD" => ("did", base_of_past(lower)?),
                _ if finite.is_third_person() => ("does", base_of_third_person(lower)),
                _ => ("do", lower.to_owned()),
            };
            rest.insert(place, ClauseWord::new(&base, "VB"));
            (ClauseWord::new(auxiliary, finite.tag), VerbKind::Do)
        }
    })
}

/// Verbs that begin demands. The tagger takes them for names there.
const DEMANDS: &str = "ban abolish stop repeal legalize legalise prohibit eliminate deny allow \
    protect outlaw boycott";

/// An imperative: "Ban guns", "Don't ban guns".
fn imperative(before: &[ClauseWord], main: &[ClauseWord]) -> Option<Clause> {
    let clause = |rest: &[ClauseWord]| Clause {
        before: before.to_vec(),
        subject: Vec::new(),
        finite: ClauseWord::new("do", "VBP"),
        kind: VerbKind::Do,
        rest: rest.to_vec(),
        is_asked: false,
    };
    match main {
        // "Let's ban cars"
        [verb, us, rest @ ..] if verb.lower == "let" && us.is("'s us") => {
            let mut clause = clause(rest);
            clause.before.extend([verb.clone(), us.clone()]);
            clause.kind = VerbKind::Modal;
            clause.finite = ClauseWord::new("", "MD");
            Some(clause)
        }
        [verb, not, rest @ ..] if verb.lower == "do" && not.negates() => {
            let is_base = rest.first().is_some_and(|word| word.tag == "VB");
            is_base.then(|| clause(&main[1..]))
        }
        [verb, next, ..] if verb.is(DEMANDS) && !next.is_finite() && !next.tagged("IN CC") => {
            Some(clause(main))
        }
        [never, verb, ..] if never.lower == "never" && verb.tag.starts_with("VB") => {
            Some(clause(main))
        }
        [verb, second, ..] if verb.tag == "VB" && !verb.is("let") => {
            // "Travel is fun": a verb follows the word that looks like one
            let is_object = !second.is_finite() && second.tag != "VB";
            let causes = verb.is("let make help have see watch");
            let words = main.iter().enumerate().skip(2);
            let mut words = words.take_while(|(_, word)| !word.tagged("WDT WP IN , CC PRP"));
            let has_finite = words.any(|(at, word)| {
                let next = main.get(at + 1).map_or("", |next| next.tag);
                is_auxiliary(word)
                    || word.tagged("VB VBP") && main[at - 1].is_noun() && !causes
                    || word.tagged("VBZ NNS") && matches!(next, "DT" | "PRP$")
                    || word.tag == "VBZ" && next.starts_with("NN")
            });
            (is_object && !has_finite).then(|| clause(main))
        }
        _ => None,
    }
}

/// The position of the subject's first word: after a clause with "if", a phrase with a preposition, or a heading; `None` if a clause with "if" has no
/// end.
fn subject_start(words: &[ClauseWord]) -> Option<usize> {
    let first = words.first()?;
    let comma = position(words, ",");
    if first.is(OPENINGS) {
        return comma.map(|at| at + 1).filter(|at| *at < words.len());
    }
    let begins_with_phrase = first.tag == "IN" || first.tag == "RB";
    let heading = position(words, ": – —");
    let end = comma.filter(|_| begins_with_phrase).or(heading);
    let is_verbless = |end: &usize| words.iter().take(*end).all(|word| !word.is_finite());
    let start = end.filter(is_verbless).map_or(0, |at| at + 1);
    Some(if start < words.len() { start } else { 0 })
}

/// The position of the finite verb of the main clause: the first word that certainly is one or, if none is certain, the most likely one.
pub(super) fn finite(words: &[ClauseWord]) -> Option<usize> {
    let mut likely: Option<(i32, usize)> = None;
    for at in outside_relative_clauses(words) {
        match likelihood(words, at) {
            Some(CERTAIN..) => return Some(at),
            Some(score) if likely.is_none_or(|(best, _)| score > best) => {
                likely = Some((score, at))
            }
            _ => {}
        }
    }
    likely.map(|(_, at)| at)
}

/// The positions of the words after the first, without relative clauses: from the pronoun to the end of its verbs.
pub(super) fn outside_relative_clauses(words: &[ClauseWord]) -> impl Iterator<Item = usize> {
    let mut next = 1;
    std::iter::from_fn(move || {
        while let Some(end) = relative_clause(words, next) {
            next = end;
        }
        next += 1;
        (next <= words.len()).then_some(next - 1)
    })
}

/// A word with at least this likelihood is certainly a finite verb.
const CERTAIN: i32 = 8;

/// How likely the word at position `at` is to be the finite verb. This depends on its tag, on whether "will" can precede it, and on whether it agrees
/// with the words before it. `None` if the word cannot be a finite verb.
fn likelihood(words: &[ClauseWord], at: usize) -> Option<i32> {
    let (last, word) = (words.get(at - 1)?, words.get(at)?);
    let subject = words.get(..at)?;
    if last.tagged("TO MD") || last.is("to") || cannot_end_subject(subject) {
        return None;
    }
    if is_auxiliary(word) {
        return Some(if agrees(subject, word) { CERTAIN } else { 4 });
    }
    if cannot_be_verb(words, at) {
        return None;
    }
    if word.tag == "VBD" {
        let is_regular = word.lower.ends_with("ed");
        return Some(CERTAIN - i32::from(is_regular));
    }
    // "Automation will increase efficiency"
    let future = with_will(words, at, word.is_third_person());
    if !future.get(at + 1)?.tagged("VB VBP") {
        return None;
    }
    // "represents mankind": the next word was taken for a verb, but is the object of this one
    let next = words.get(at + 1);
    let has_object = next.is_some_and(|next| next.is_finite() && !next.is_third_person())
        && future.get(at + 2).is_some_and(ClauseWord::is_noun)
        && word.is_third_person();
    let score = likelihood_by_neighbours(words, at, &future) + if has_object { 6 } else { 0 };
    let is_certain = word.is_finite() || has_object;
    (score >= -4).then(|| score.min(CERTAIN - i32::from(!is_certain)))
}

/// Whether the word at position `at`, which is no auxiliary, cannot be a verb: it begins a new phrase, is clearly a noun or a name, or has a tag that
/// the tagger never gives to verbs.
fn cannot_be_verb(words: &[ClauseWord], at: usize) -> bool {
    let (last, word, next) = (&words[at - 1], &words[at], words.get(at + 1));
    let is_open = word.tagged("NN NNS VB VBP VBZ VBD JJ IN RB NNP");
    let closes = [",", "\"", "”", "’", "'", ")", "''"];
    let is_cut = last.is_mark() && !closes.contains(&last.text.as_str());
    let is_head =
        |next: &ClauseWord| next.is("of") || [":", "–", "-"].contains(&next.text.as_str());
    // "pros and cons", "school uniforms": a noun at the end or before a conjunction stays a noun
    let ends = next.is_none_or(|next| next.tagged("CC MD"));
    let has_infinitive = is_at(words, at + 1, "to") && tag_at(words, at + 2) == "VB";
    let is_noun = word.is_noun() && next.is_some_and(is_head)
        || word.tag == "NNS" && (ends || has_infinitive);
    let is_name = word.tag == "NNP" && !word.is_third_person();
    let is_preposition =
        word.tag == "IN" && word.lower.chars().count() < 5 || word.is(PREPOSITIONS);
    is_cut || is_noun || is_name || !is_open || is_preposition
}

/// How likely the word at position `at` is to be the finite verb, by its tag and the words around it. `future` has the words with "will"
/// before this one, tagged again.
fn likelihood_by_neighbours(words: &[ClauseWord], at: usize, future: &[ClauseWord]) -> i32 {
    let (word, next, follows) = (&words[at], words.get(at + 1), words.get(at + 2));
    let mut score = match word.tag {
        "VBZ" | "VBP" => 8,
        "VB" | "MD" | "VBD" => 4,
        "NNP" => 0,
        _ => 2,
    };
    if !agrees(&words[..at], word) {
        score -= 8;
    }
    // "sports foster unity": the verb comes next
    let comes_next = match tag_at(words, at + 1) {
        "NN" => true,
        "IN" | "JJ" => follows.is_some_and(|word| word.tagged("JJ DT PRP$")),
        _ => false,
    };
    if word.tag == "NNS" && comes_next && follows.is_some() && follows_will(words, at + 1) {
        score -= 4;
    }
    // "packaging increases waste": verbs that need no object are few
    if next.is_none() {
        score -= 5;
    }
    // "food chains contribute": this word is the noun before the verb
    let is_verb = |next: &ClauseWord| next.tagged("VB VBP VBZ MD");
    let before_verb = future.get(at + 2).is_some_and(is_verb)
        || next.is_some_and(|next| !next.is_third_person() && is_verb(next)) && follows.is_some();
    if before_verb && !word.is("help helps make makes let lets") {
        score -= 8;
    }
    score
}

/// Prepositions of five letters or more, which the tagger can take for verbs.
pub(super) const PREPOSITIONS: &str = "about above across after against along among around \
    before behind below between beyond during inside outside through towards toward under until \
    without";

/// Whether the last word cannot end a subject because it is a preposition, an article or an adjective.
fn cannot_end_subject(subject: &[ClauseWord]) -> bool {
    let [before @ .., last] = subject else {
        return true;
    };
    let of_the = before.last().is_some_and(|word| word.lower == "the");
    let not_nominal = "JJ JJR JJS RB IN MD TO CC PRP$ VB VBP VBZ VBD VBN";
    if !of_the && subject.iter().all(|word| word.tagged(not_nominal)) {
        return true;
    }
    match last.tag {
        "IN" | "CC" | "PRP$" | "POS" => !last.is("in up out off"),
        "DT" => !last.is("this that these those all both each some any"),
        "JJ" => !of_the && !before.is_empty(),
        _ => false,
    }
}

/// Whether the verb agrees with the subject in number, as far as their forms show.
fn agrees(subject: &[ClauseWord], verb: &ClauseWord) -> bool {
    let third = verb.is_third_person();
    let base = verb.tagged("VBP VB NN IN JJ") && !third;
    let is_relative = subject.iter().any(|word| word.tagged("WDT WP WRB"));
    let in_number = |plural: bool| if plural { !third } else { !base };
    match subject {
        // a noun that was taken for a verb: "food chains"
        [.., last] if last.tagged("VBZ VBP VB") && !is_relative => {
            in_number(last.lower.ends_with('s'))
        }
        [one] if one.is("i we you they") => in_number(true),
        [one] if one.is("he she it") => in_number(false),
        _ => {
            let Some(noun) = head(subject).and_then(|at| subject.get(at)) else {
                return true;
            };
            let is_gerund = subject[0].lower.ends_with("ing");
            noun.lower.ends_with("ics")
                || noun.is("media news data police people")
                || is_gerund && tag_at(subject, 1) == "NNS"
                || noun.tag.starts_with("NNP") && (third || noun.lower.ends_with('s'))
                || verb.is("be")
                || in_number(is_plural(subject))
        }
    }
}

fn is_auxiliary(word: &ClauseWord) -> bool {
    word.tag == "MD"
        || word.tag.starts_with("VB")
            && word.is("is are was were am do does did has have had 's 're 'm 've")
}

/// Tags the words again, in this order.
pub(super) fn tagged_again(words: Vec<ClauseWord>) -> Vec<ClauseWord> {
    let tagged = read(&text(&words));
    if tagged.len() == words.len() {
        tagged
    } else {
        words
    }
}

/// The end of the verbs of a relative clause that begins at position `at` ("who have completed" in "felons who have completed their sentence");
/// `None` if no relative clause begins there.
pub(super) fn relative_clause(words: &[ClauseWord], at: usize) -> Option<usize> {
    let word = words.get(at)?;
    let last = at.checked_sub(1).and_then(|at| words.get(at))?;
    let opens = match word.tag {
        "WDT" | "WP" | "WP$" | "WRB" => true,
        "IN" => word.lower == "that" && last.is_noun(),
        // "the money we spend on war"
        "PRP" => last.is_noun() && word.is("i we you they he she"),
        _ => false,
    };
    if !opens {
        return None;
    }
    let next = words.get(at + 1)?;
    let start = if word.tag != "PRP"
        && next.tagged("NN NNS IN")
        && !words.get(at + 2).is_some_and(ClauseWord::is_finite)
        && follows_will(words, at + 1)
    {
        at + 1
    } else {
        let is_verb = |word: &ClauseWord| word.is_finite() || word.tag == "VB";
        at + 1 + words[at + 1..].iter().position(is_verb)?
    };
    let mut end = start + 1;
    while let Some(next) = words.get(end) {
        let is_verb = |word: &ClauseWord| word.tag.starts_with("VB") || word.tag == "MD";
        let second = words.get(end + 1).filter(|_| next.tag == "CC");
        let joined = second.is_some_and(|word| is_verb(word) && !word.is("be"));
        let last = &words[end - 1];
        let takes_base = last.tag == "MD" || last.is_adverb() || last.is("do does did");
        let is_inside =
            next.is_adverb() || next.tagged("VBN VBG") || next.tag == "VB" && takes_base || joined;
        if !is_inside {
            break;
        }
        end += 1 + usize::from(joined);
    }
    Some(end)
}

/// The words with "will" before the word at position `at`, tagged again. If that word is inflected, its base form takes its place.
fn with_will(words: &[ClauseWord], at: usize, is_inflected: bool) -> Vec<ClauseWord> {
    let (before, behind) = words.split_at(at.min(words.len()));
    let [verb, rest @ ..] = behind else {
        return Vec::new();
    };
    let base = if is_inflected {
        base_of_third_person(&verb.lower)
    } else {
        verb.lower.clone()
    };
    let will = [ClauseWord::new("will", "MD"), ClauseWord::new(&base, "VB")];
    tagged_again([before, &will, rest].concat())
}

/// Whether a word is tagged as a verb when "will" precedes it.
fn follows_will(words: &[ClauseWord], at: usize) -> bool {
    let tagged = with_will(words, at, tag_at(words, at) == "NNS");
    tag_at(&tagged, at + 1) == "VB"
}

/// Whether a main clause with its own subject follows. Then negating the first verb does not negate the whole sentence.
fn is_followed_by_another_clause(rest: &[ClauseWord]) -> bool {
    rest.iter().enumerate().any(|(at, word)| {
        // "is not bad because it kills" would deny the reason
        let gives_reason = word.lower == "because" && !is_at(rest, at + 1, "of");
        if word.is("; . ! ?") || gives_reason {
            return true;
        }
        if word.tag != "CC" || !word.is("and but or so yet") {
            return false;
        }
        let next = &rest[at + 1..];
        let is_pronoun = next.first().is_some_and(|word| word.tagged("PRP EX"));
        let is_noun = |word: &ClauseWord| word.is_noun() || word.is_adjective() || word.tag == "DT";
        let is_subject = is_pronoun || next.first().is_some_and(is_noun);
        let verb = next.iter().position(ClauseWord::is_finite);
        let has_verb = verb.is_some_and(|verb| (1..8).contains(&verb));
        let is_apart = at > 0 && rest[at - 1].text == ",";
        is_subject && has_verb && (is_apart || is_pronoun || word.is("but"))
            || is_apart && word.is("but")
    })
}
