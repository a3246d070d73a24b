//! The forms of English verbs and nouns: "cause", "causes", "caused"; "child", "children".

use super::words::is_among;

/// The base form and the past form of verbs whose past form does not end in "-ed".
const IRREGULAR: &str = include_str!("irregular.tsv");

fn irregular() -> impl Iterator<Item = (&'static str, &'static str)> {
    IRREGULAR.lines().filter_map(|line| line.split_once('\t'))
}

/// The form of a finite verb in the plural or in the singular; `None` if the verb is not one of the few whose forms are listed.
pub(super) fn in_number(verb: &str, plural: bool) -> Option<&'static str> {
    let (ones, many) = ("is was has does", "are were have do");
    let mut forms = ones.split(' ').zip(many.split(' '));
    let (one, many) = forms.find(|(one, many)| verb == *one || verb == *many)?;
    Some(if plural { many } else { one })
}

fn is_vowel(c: char) -> bool {
    matches!(c, 'a' | 'e' | 'i' | 'o' | 'u')
}

fn vowels(word: &str) -> usize {
    word.chars().filter(|c| is_vowel(*c)).count()
}

/// Whether a word has one of these endings, which have blanks between them.
pub(super) fn ends_in(word: &str, endings: &str) -> bool {
    endings.split(' ').any(|ending| word.ends_with(ending))
}

/// The last three characters of a word, the last one first.
fn ending(word: &str) -> [char; 3] {
    let mut last = word.chars().rev();
    std::array::from_fn(|_| last.next().unwrap_or(' '))
}

/// Whether a word ends in a consonant and "y" ("try", and not "play").
fn ends_in_consonant_y(word: &str) -> bool {
    let [last, before, _] = ending(word);
    last == 'y' && before != ' ' && !is_vowel(before)
}

/// A word with "-s", as verbs have it in the third person and nouns in the plural.
fn with_s(word: &str) -> String {
    if let Some(stem) = word.strip_suffix('y')
        && ends_in_consonant_y(word)
    {
        format!("{stem}ies")
    } else if ends_in(word, "s x z ch sh") {
        format!("{word}es")
    } else {
        format!("{word}s")
    }
}

/// The third person of a verb: "cause", "causes". The word is in its base form; its capitals stay.
pub(super) fn third_person(base: &str) -> String {
    match base {
        "be" => "is".to_owned(),
        "have" => "has".to_owned(),
        "do" | "go" | "undo" | "undergo" | "forgo" => format!("{base}es"),
        _ => with_s(base),
    }
}

/// The past form of a verb: "cause", "caused"; "take", "took".
pub(super) fn past(base: &str) -> String {
    if let Some((_, past)) = irregular().find(|(of, _)| *of == base) {
        return past.to_owned();
    }
    if base.ends_with('e') {
        return format!("{base}d");
    }
    if let Some(stem) = base.strip_suffix('y')
        && ends_in_consonant_y(base)
    {
        return format!("{stem}ied");
    }
    if doubles(base) {
        let [last, ..] = ending(base);
        return format!("{base}{last}ed");
    }
    format!("{base}ed")
}

/// The participle "-ing" of a verb: "bake", "baking".
pub(super) fn gerund(base: &str) -> String {
    if let Some(stem) = base.strip_suffix("ie") {
        return format!("{stem}ying");
    }
    match base.strip_suffix('e') {
        Some(stem) if !ends_in(base, "ee oe ye") && base != "be" => format!("{stem}ing"),
        _ if doubles(base) => {
            let [last, ..] = ending(base);
            format!("{base}{last}ing")
        }
        _ => format!("{base}ing"),
    }
}

/// Whether a verb doubles its last consonant before "-ed": one syllable with one vowel before the consonant ("ban"), or one of the few
/// longer verbs whose last syllable is stressed.
fn doubles(base: &str) -> bool {
    let [last, before, second] = ending(base);
    let short = !is_vowel(last)
        && !matches!(last, 'w' | 'x' | 'y')
        && is_vowel(before)
        && !is_vowel(second);
    let stressed = "commit permit admit submit omit transmit occur prefer refer defer deter control \
        compel expel rebel regret forget begin equip patrol infer incur cancel travel";
    short && (vowels(base) == 1 || is_among(stressed, base))
}

/// The base form of a verb whose other forms have "i" after this stem: "try", but "lie", "die" and "tie".
fn with_y(stem: &str) -> String {
    let end = if stem.chars().count() < 2 { "ie" } else { "y" };
    format!("{stem}{end}")
}

/// The base form of a verb in the third person: "causes", "cause".
pub(super) fn base_of_third_person(form: &str) -> String {
    match form {
        "is" => return "be".to_owned(),
        "has" => return "have".to_owned(),
        _ => {}
    }
    if let Some(stem) = form.strip_suffix("ies") {
        return with_y(stem);
    }
    if let Some(stem) = form.strip_suffix("es")
        && ends_in(stem, "ss x zz sh ch o cus")
        && stem != "ach"
    {
        return stem.to_owned();
    }
    form.strip_suffix('s').unwrap_or(form).to_owned()
}

/// The base form of a verb in the past: "caused", "cause"; "took", "take". `None` if the word does not look like a past form.
pub(super) fn base_of_past(form: &str) -> Option<String> {
    if form == "were" {
        return Some("be".to_owned());
    }
    if let Some((base, _)) = irregular().find(|(_, past)| *past == form) {
        return Some(base.to_owned());
    }
    let stem = form.strip_suffix("ed")?;
    if let Some(stem) = stem.strip_suffix('i') {
        return Some(with_y(stem));
    }
    let [last, before, _] = ending(stem);
    if last == before && !is_vowel(last) {
        let single = stem.strip_suffix(last).unwrap_or(stem);
        let stays =
            matches!(last, 's' | 'f' | 'z') || last == 'l' && vowels(stem) == 1 || stem == "add";
        return Some(if stays { stem } else { single }.to_owned());
    }
    let e = if lacks_e(stem) { "e" } else { "" };
    Some(format!("{stem}{e}"))
}

/// Whether the base form of a verb is its stem before "-ed" with an "e" added: "caus", "cause".
fn lacks_e(stem: &str) -> bool {
    let [last, before, second] = ending(stem);
    match last {
        'v' | 'c' | 'u' | 'e' | 'i' => true,
        's' | 'z' => before != last && stem != "focus",
        'g' => before != 'n' || second == 'a' && !stem.ends_with("bang") && stem != "hang",
        'l' if !is_vowel(before) => !matches!(before, 'l' | 'r' | 'w'),
        'h' => ends_in(stem, "breath bath cloth"),
        'w' | 'x' | 'y' => false,
        _ if !is_vowel(before) || is_vowel(second) => ends_in(stem, "creat quir quot"),
        // a short stem without "e" would have doubled its consonant
        _ => {
            let stressed = "ignor explor ador invit unit excit cit writ delet complet compet hop \
                interfer restor stor compil inter welcom becom inflam";
            let unstressed = "it en on er or el op et al il an om am ip ow";
            vowels(stem) == 1 || is_among(stressed, stem) || !ends_in(stem, unstressed)
        }
    }
}

/// The plural of a noun: "child", "children".
pub(super) fn plural(noun: &str) -> String {
    match noun {
        "child" => "children".to_owned(),
        "man" => "men".to_owned(),
        "woman" => "women".to_owned(),
        "person" => "people".to_owned(),
        "life" => "lives".to_owned(),
        "wife" => "wives".to_owned(),
        _ => with_s(noun),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_and_irregular_verbs_have_their_forms() {
        for (base, third, past_form) in [
            ("cause", "causes", "caused"),
            ("teach", "teaches", "taught"),
            ("try", "tries", "tried"),
            ("play", "plays", "played"),
            ("have", "has", "had"),
            ("go", "goes", "went"),
            ("do", "does", "did"),
            ("fix", "fixes", "fixed"),
            ("pass", "passes", "passed"),
            ("ban", "bans", "banned"),
            ("lie", "lies", "lied"),
            ("die", "dies", "died"),
            ("improve", "improves", "improved"),
            ("create", "creates", "created"),
            ("treat", "treats", "treated"),
            ("help", "helps", "helped"),
            ("visit", "visits", "visited"),
            ("develop", "develops", "developed"),
            ("vote", "votes", "voted"),
            ("hope", "hopes", "hoped"),
            ("kill", "kills", "killed"),
            ("control", "controls", "controlled"),
            ("prefer", "prefers", "preferred"),
            ("manage", "manages", "managed"),
            ("change", "changes", "changed"),
            ("belong", "belongs", "belonged"),
            ("handle", "handles", "handled"),
            ("require", "requires", "required"),
            ("raise", "raises", "raised"),
            ("focus", "focuses", "focused"),
            ("use", "uses", "used"),
            ("win", "wins", "won"),
            ("include", "includes", "included"),
            ("increase", "increases", "increased"),
            ("reduce", "reduces", "reduced"),
            ("allow", "allows", "allowed"),
            ("explain", "explains", "explained"),
            ("need", "needs", "needed"),
            ("end", "ends", "ended"),
            ("happen", "happens", "happened"),
            ("offer", "offers", "offered"),
            ("pollute", "pollutes", "polluted"),
            ("add", "adds", "added"),
        ] {
            assert_eq!(third_person(base), third);
            assert_eq!(past(base), past_form);
            assert_eq!(base_of_third_person(third), base);
            assert_eq!(base_of_past(past_form).as_deref(), Some(base));
        }
        assert_eq!(base_of_past("were").as_deref(), Some("be"));
        assert_eq!(base_of_past("sport"), None);
    }

    #[test]
    fn participles_and_plurals() {
        for (base, form) in [
            ("bake", "baking"),
            ("buy", "buying"),
            ("run", "running"),
            ("die", "dying"),
            ("be", "being"),
            ("see", "seeing"),
        ] {
            assert_eq!(gerund(base), form);
        }
        for (one, many) in [
            ("child", "children"),
            ("city", "cities"),
            ("animal", "animals"),
            ("church", "churches"),
        ] {
            assert_eq!(plural(one), many);
        }
    }
}
