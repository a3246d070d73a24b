//! Takes the name of the site out of the title of a page.

/// What stands between a title and the name of the site, with white space around it.
const SEPARATORS: [&str; 12] = ["|", "-", "–", "—", "−", "·", "•", "»", "«", "/", "::", "~"];

/// The title without the name of the site at its end or beginning, if it is there: one of `sites`, in other words or only in part.
///
/// `sites` are the names that the page declares, and the host of its address.
pub(super) fn without_site<'a>(title: &'a str, sites: &[&str]) -> &'a str {
    if title.len() > crate::limits::MAX_TITLE_BYTES {
        return title;
    }
    let sites: Vec<String> = sites.iter().map(|site| letters(site)).collect();
    let is_site = |part: &str| {
        let part = letters(part);
        sites.iter().any(|site| is_name_of(&part, site))
    };
    let splits: Vec<(&str, &str)> = splits(title).collect();
    // the first one that fits leaves the least: "Calendar | Racing | F1 | Indy" on the site "Racing | F1 | Indy"
    let suffix = splits.iter().copied().find(|(_, end)| is_site(end));
    let colon = title.split_once(": ");
    let mut prefixes = splits.iter().copied().chain(colon);
    let prefix = prefixes.find(|(start, _)| is_site(start));
    match (suffix, prefix) {
        (Some((rest, _)), _) | (None, Some((_, rest))) if !letters(rest).is_empty() => rest,
        _ => title,
    }
}

/// The title at each of its separators, in two.
fn splits(title: &str) -> impl Iterator<Item = (&str, &str)> {
    let spaces = title.match_indices(' ');
    spaces.filter_map(|(at, _)| {
        let (start, rest) = title.split_at(at);
        let (separator, end) = rest.trim_start().split_once(' ')?;
        SEPARATORS
            .contains(&separator)
            .then_some((start.trim_end(), end.trim_start()))
    })
}

/// Whether a part of a title names the site: it has the same letters, or one has at least half of those of the other.
fn is_name_of(part: &str, site: &str) -> bool {
    let (short, long) = if part.len() < site.len() {
        (part, site)
    } else {
        (site, part)
    };
    !short.is_empty() && 2 * short.len() >= long.len() && long.contains(short)
}

/// The host of an address, without "www."; empty if it has none.
pub(super) fn host(address: &str) -> &str {
    let (_, rest) = address.split_once("//").unwrap_or_default();
    let host = rest.split(['/', '?', '#', ':']).next().unwrap_or_default();
    host.strip_prefix("www.").unwrap_or(host)
}

/// The letters, in lower case, and digits of a text, for comparison.
pub(super) fn letters(text: &str) -> String {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_site_is_taken_off() {
        for (title, sites, expected) in [
            (
                "Zoos should close - BBC News",
                &["BBC News", "bbc.co.uk"][..],
                "Zoos should close",
            ),
            (
                "Hermitian matrix - Wikipedia",
                &["", "en.wikipedia.org"],
                "Hermitian matrix",
            ),
            ("Zoos - The Washington Post", &["Washington Post"], "Zoos"),
            (
                "Anomaly Detection Using SQL | Haki Benita",
                &["", "hakibenita.com"],
                "Anomaly Detection Using SQL",
            ),
            (
                "Calendar 2018 | Racing | F1 | Indy",
                &["Racing | F1 | Indy | MotoGP"],
                "Calendar 2018",
            ),
            ("The Daily – Zoos", &["The Daily"], "Zoos"),
            (
                "The Daily: Zoos: yes or no?",
                &["The Daily"],
                "Zoos: yes or no?",
            ),
            // parts that do not name it, and what would leave nothing
            (
                "Zoos - why they should close",
                &["BBC News", "bbc.co.uk"],
                "Zoos - why they should close",
            ),
            (
                "Vote-by-mail in the news",
                &["News"],
                "Vote-by-mail in the news",
            ),
            ("BBC News", &["BBC News"], "BBC News"),
            ("- BBC News", &["BBC News"], "- BBC News"),
            ("Zoos | ", &["", ""], "Zoos | "),
        ] {
            assert_eq!(without_site(title, sites), expected);
        }
    }

    #[test]
    fn the_host_is_the_middle_of_an_address() {
        for (address, expected) in [
            ("https://www.example.org/a//b", "example.org"),
            ("//cdn.example.org:80?x", "cdn.example.org"),
            ("/a", ""),
            ("", ""),
        ] {
            assert_eq!(host(address), expected);
        }
    }
}
