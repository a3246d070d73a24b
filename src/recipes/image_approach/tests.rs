use super::*;

/// The approaches that come with riposte.
fn included() -> Vec<ImageApproach> {
    let all = approaches::all(Task::Images).unwrap().into_iter();
    all.map(|about| ImageApproach::find(&about.name).unwrap())
        .collect()
}

/// The error in a recipe.
fn error(text: &str) -> String {
    let read = approaches::parse::<ImageApproach>(Task::Images, text);
    format!("{:#}", read.unwrap_err())
}

#[test]
fn the_included_approaches_are_parsed() {
    let all = included();
    let names: Vec<&str> = all.iter().map(|approach| approach.name.as_str()).collect();
    assert!(all.iter().all(|approach| !approach.source.is_empty()));
    assert_eq!(
        names,
        [
            "riposte",
            "minsc",
            "boromir-afinn",
            "boromir-query",
            "boromir-bert",
            "aramis",
            "boromir-clusters",
            "boromir-afinn-clusters",
            "boromir-afinn-clusters-only",
            "jester",
            "aramis-neural",
            "aramis-neural-stance",
            "aramis-neural-both",
            "jean-luc-picard",
            "jean-luc-picard-text",
            "jean-luc-picard-image-text",
            "jean-luc-picard-both-texts",
            "riposte-claims",
            "claims-caption",
            "claims-clip",
            "claims-text",
            "claims-page"
        ]
    );
}

#[test]
fn approaches_of_teams_keep_all_images_and_filter_before_the_cut() {
    for approach in included() {
        if approach.name.starts_with("riposte") {
            continue;
        }
        assert!(approach.lists.duplicates, "{}", approach.name);
        assert!(!approach.unknown.is_empty(), "{}", approach.name);
        if approach.form == ListForm::Claims {
            assert_eq!(approach.stance, StanceRecipe::Both);
            continue;
        }
        // Minsc estimates no stances, and Jean-Luc Picard only those of the fifty most relevant images
        let cuts_first =
            approach.stance == StanceRecipe::Crawl || approach.name.starts_with("jean-luc-picard");
        assert_eq!(approach.lists.cut == Cut::AfterStance, !cuts_first);
    }
}

#[test]
fn unknown_parameters_are_errors() {
    let all = approaches::all(Task::Images).unwrap();
    let good = all[0].text;
    for (from, to, message) in [
        ("\"bm25 near\"", "\"bm25 far\"", "bm25 far"),
        ("model = \"beliefs\"", "model = \"guess\"", "guess"),
        ("name =", "names =", "names"),
        (
            "\"bm25 near\" = 0.2",
            "\"bm25 near\" = -1.0",
            "must be 0 or more",
        ),
        (
            "scale = \"unit\"",
            "scale = \"unit\"\nreading = -0.5",
            "reading must be 0 or more",
        ),
    ] {
        let error = error(&good.replace(from, to));
        assert!(error.contains(message), "{error}");
    }
    let aramis = all[5].text;
    for (from, to, message) in [
        ("mu = 1000.0", "", "need each other"),
        ("mu = 1000.0", "mu = 0.0", "mu must be above 0"),
        ("scale = \"raw\"", "scale = \"unit\"", "needs scale"),
        ("topic = 0.5", "topic = 1.5", "from 0 to 1"),
        ("[1.0, 1.0, 1.0, 0.0, 1.0]", "[0, 0, 0, 0, 0]", "add up"),
        ("turn_below", "turned_below", "turned_below"),
        ("\"crawled\"", "\"found\"", "found"),
        (
            "mu = 1000.0",
            "mu = 1000.0\nreading = 0.5",
            "a weight of reading needs",
        ),
    ] {
        assert!(aramis.contains(from), "{from}");
        let error = error(&aramis.replace(from, to));
        assert!(error.contains(message), "{error}");
    }
    let clusters = all[6].text;
    for (from, to, message) in [
        ("count = 14", "count = 0", "from 1 to 1024"),
        ("dimensions = 10", "dimensions = 0", "from 1 to 1024"),
        ("lowest = 1.0", "lowest = 6.0", "no smaller than the lowest"),
        ("lowest = 1.0", "lowest = -1.0", "0 or more"),
    ] {
        assert!(clusters.contains(from), "{from}");
        let error = error(&clusters.replace(from, to));
        assert!(error.contains(message), "{error}");
    }
    let late = good.replace("[argument]", "[lists]\ncut = \"after-stance\"\n[argument]");
    let late = error(&late);
    assert!(late.contains("estimated for all images"), "{late}");
    let nobody = ImageApproach::find("nobody").unwrap_err().to_string();
    assert!(nobody.contains("riposte, minsc"), "{nobody}");
}
