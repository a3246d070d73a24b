//! Published approaches on a few images with made-up evidence. The expected scores are worked out by hand.

use std::path::PathBuf;

use riposte_eval::{DocId, Stance, TopicId};
use tempfile::TempDir;

use super::*;
use crate::collection::images::CrawlRank;
use crate::evidence::ocr::OcrLine;
use crate::evidence::page::PageWords;
use crate::evidence::picture::PictureStatistics;
use crate::evidence::store::{self, NewEvidence};
use crate::evidence::{AfinnValence, Evidence, PageEvidence, PartValue, TextPart, VaderValence};
use crate::index::images;
use crate::index::inverted::IndexingBudget;
use crate::reading::ReadingModels;
use crate::recipes::channels::CHANNELS;
use crate::recipes::image_approach::ScoreRecipe;
use crate::score::mixture::Scaling;
use crate::systems::aramis::AramisFeatures;
use crate::systems::aramis::networks::{self, ArgumentInputs, ArgumentNetwork, StanceNetwork};
use crate::workspace::Outputs;

/// The evidence of one image with one page.
#[derive(Default)]
struct Made {
    main: &'static str,
    title: &'static str,
    ocr: &'static str,
    /// VADER's score of the words near the image.
    vader_near: f64,
    vader_title: f64,
    vader_main: f64,
    vader_ocr: f64,
    afinn_main: f64,
    red: f32,
    green: f32,
    /// By query and rank, for topic 1.
    crawled: &'static [(&'static str, u32)],
}

struct Collection {
    dir: TempDir,
    store: Store,
}

impl Collection {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("e.sqlite"), CHANNELS).unwrap();
        Collection { dir, store }
    }

    fn add(&mut self, id: &str, made: Made) {
        fn of_page<T>(part: TextPart, value: T) -> PartValue<T> {
            PartValue {
                page: "P1".to_owned(),
                part,
                value,
            }
        }
        let crawled = made.crawled.iter().map(|(query, rank)| CrawlRank {
            query: (*query).to_owned(),
            topic: "1".to_owned(),
            rank: *rank,
        });
        let page = PageEvidence {
            id: "P1".to_owned(),
            words: PageWords {
                title: made.title.to_owned(),
                main: made.main.to_owned(),
                ..PageWords::default()
            },
            rankings: crawled.collect(),
            ..PageEvidence::default()
        };
        let line = OcrLine {
            text: made.ocr.to_owned(),
            confidence: 1.0,
            corners: [(10.0, 10.0), (60.0, 10.0), (60.0, 40.0), (10.0, 40.0)],
            block: 0,
        };
        let lines = (!made.ocr.is_empty()).then_some(line);
        let afinn = AfinnValence {
            sum: made.afinn_main,
            words: 1,
        };
        let mut evidence = Evidence::of(DocId(id.to_owned()));
        evidence.put(vec![page]);
        evidence.put(lines.into_iter().collect::<Vec<_>>());
        evidence.put(PictureStatistics {
            width: 100,
            height: 100,
            text_fraction: 0.0,
            brightness: 0.5,
            contrast: 0.1,
            saturation: 0.1,
            colourfulness: 10.0,
            red: made.red,
            green: made.green,
            blue: 0.0,
            bright: 0.0,
            dark: 0.0,
            average: [0; 3],
            colours: 9,
            edges: 0.0,
            flat: 0.0,
            photograph: 1.0,
            // all show the same picture
            phash: 7,
        });
        evidence.put(vec![
            of_page(TextPart::Near, VaderValence(made.vader_near)),
            of_page(TextPart::Title, VaderValence(made.vader_title)),
            of_page(TextPart::Main, VaderValence(made.vader_main)),
            PartValue {
                page: String::new(),
                part: TextPart::Ocr,
                value: VaderValence(made.vader_ocr),
            },
        ]);
        evidence.put(vec![of_page(TextPart::Main, afinn)]);
        let made = || store::Provenance {
            producer: "made up".to_owned(),
            ..store::Provenance::default()
        };
        let channels = ["page", "ocr", "picture", "vader", "afinn"];
        let record = NewEvidence {
            evidence,
            fingerprint: "f".to_owned(),
            made: channels.map(|channel| (channel, made())).into(),
            files: None,
        };
        self.store.write(&[record]).unwrap();
    }

    fn rank(&mut self, approach: &ImageApproach, title: &str) -> ImageRanking {
        let analyzer = &approach.relevance.analyzer;
        let effort = IndexingBudget {
            threads: 1,
            ..IndexingBudget::default()
        };
        let place: PathBuf = self.dir.path().join(format!("{analyzer}.index"));
        let opened = images::open(&mut self.store, &place, analyzer, effort, &mut |_| ()).unwrap();
        let ids = self.store.text_hashes().unwrap().into_iter();
        let index = ImageIndex::new(opened.0, ids.map(|(id, _)| id));
        let models = ReadingModels::default();
        let outputs = Outputs::open(&self.dir.path().join("outputs.sqlite")).unwrap();
        let mut reader = Reader::new(models, outputs).unwrap();
        let settings = ImageRankingSettings {
            approach: approach.clone(),
            parts: TopicParts::default(),
            overlap: false,
            tag: "t".to_owned(),
            claim_length: 5,
            keep: KeepExplanations::InMemory,
            candidates: None,
        };
        let topic = Topic {
            id: TopicId("1".to_owned()),
            title: title.to_owned(),
            description: None,
            narrative: None,
            objects: None,
            argument: None,
        };
        let (store, topics) = (&self.store, [topic]);
        rank(
            &index,
            store,
            &mut reader,
            None,
            &topics,
            &settings,
            &mut |_| (),
        )
        .unwrap()
    }
}

fn approach(name: &str) -> ImageApproach {
    ImageApproach::find(name).unwrap()
}

/// The images and scores of one list.
fn list(ranking: &ImageRanking, stance: Stance) -> Vec<(&str, f64)> {
    let lines = ranking.lines.iter().filter(|line| line.stance == stance);
    lines
        .map(|line| (line.image.0.as_str(), line.score.unwrap()))
        .collect()
}

/// Checks a list against images and scores, which are rounded to six decimals in a run.
#[track_caller]
fn assert_list(ranking: &ImageRanking, stance: Stance, expected: &[(&str, f64)]) {
    let found = list(ranking, stance);
    let ids = |list: &[(&str, f64)]| -> Vec<String> {
        list.iter().map(|(id, _)| (*id).to_owned()).collect()
    };
    assert_eq!(ids(&found), ids(expected), "{stance}: {found:?}");
    for ((id, score), (_, hand)) in found.iter().zip(expected) {
        assert!((score - hand).abs() < 2e-5, "{id}: {score}, not {hand}");
    }
}

/// Images for PRO and CON about alpha and beta, of which the crawl found all but the last for topic 1.
fn alpha_and_beta() -> Collection {
    const FOUND: &[(&str, u32)] = &[("alpha", 1)];
    let mut collection = Collection::new();
    let mut add = |id, main, vader_near, red, green, crawled| {
        let made = Made {
            main,
            vader_near,
            red,
            green,
            crawled,
            ..Made::default()
        };
        collection.add(id, made);
    };
    add("Ia", "alpha alpha beta", 0.5, 0.1, 0.2, FOUND);
    add("Ib", "alpha gamma", 0.5, 0.0, 0.4, FOUND);
    add("Ic", "delta beta gamma", 0.5, 0.1, 0.1, FOUND);
    add("Id", "beta", -0.8, 0.0, 0.0, FOUND);
    add("Ie", "alpha alpha beta beta", 0.5, 0.0, 0.9, &[]);
    collection
}

#[test]
fn aramis_mixes_topic_and_argument_within_each_list() {
    let mut collection = alpha_and_beta();
    let mut aramis = approach("aramis");
    // of the four images that the crawl found, three have alpha and three have beta among nine words
    let p = 1000.0 * 3.0 / 9.0;
    let topic = |alpha: f64, beta: f64, length: f64| {
        ((alpha + p) / (length + 1000.0)).ln() + ((beta + p) / (length + 1000.0)).ln()
    };
    let (a, b, c) = (
        topic(2.0, 1.0, 3.0),
        topic(1.0, 0.0, 2.0),
        topic(0.0, 1.0, 3.0),
    );
    let of_b = (b - c) / (a - c);
    assert!((of_b - 0.3335).abs() < 1e-4);
    // red + green are .3, .4 and .2; the other terms of the argument are equal, so that .5, 1 and 0 remain after scaling
    for weight in [0.5, 0.1] {
        aramis.lists.score = ScoreRecipe::Mixture {
            topic: weight,
            scaling: Scaling::MinMax,
        };
        let score = |topic: f64, argues: f64| weight * topic + (1.0 - weight) * argues;
        let mut expected = vec![
            ("Ia", score(1.0, 0.5)),
            ("Ib", score(of_b, 1.0)),
            ("Ic", score(0.0, 0.0)),
        ];
        expected.sort_by(|x, y| y.1.total_cmp(&x.1));
        let ranking = collection.rank(&aramis, "Is alpha beta?");
        assert_list(&ranking, Stance::Pro, &expected);
        // the only image of its list
        assert_list(&ranking, Stance::Con, &[("Id", 0.0)]);
    }
}

#[test]
fn aramis_turns_the_stance_if_the_query_is_negative() {
    let mut collection = alpha_and_beta();
    // words that no image has do not change the scores
    let ranking = collection.rank(&approach("aramis"), "Is alpha beta a terrible crime?");
    assert_list(&ranking, Stance::Pro, &[("Id", 0.0)]);
    let con: Vec<&str> = list(&ranking, Stance::Con).iter().map(|l| l.0).collect();
    assert_eq!(con, ["Ia", "Ib", "Ic"]);
}

#[test]
fn an_explanation_of_a_mixture_adds_up() {
    let ranking = alpha_and_beta().rank(&approach("aramis"), "Is alpha beta?");
    assert_eq!(ranking.explained.len(), 4);
    for image in ranking.explained.iter() {
        let score = image.pro.as_ref().or(image.con.as_ref()).unwrap();
        let [topic, argues] = [0, 1].map(|at| &score.parts()[at]);
        assert!((score.value() - 0.5 * (topic.value() + argues.value())).abs() < 1e-12);
        let [raw] = argues.parts() else { panic!() };
        let sum: f64 = raw.parts().iter().map(|term| term.value()).sum();
        assert!((raw.value() - sum).abs() < 1e-12 && raw.parts().len() == 5);
    }
}

#[test]
fn boromir_filters_by_sentiment_before_the_best_images_are_taken() {
    let mut collection = Collection::new();
    let mut add = |n: usize, main, afinn_main| {
        let made = Made {
            main,
            afinn_main,
            ..Made::default()
        };
        collection.add(&format!("I{n:03}"), made);
    };
    // 120 positive images that match better than all negative ones
    (0..120).for_each(|n| add(n, "cars cars cars", 2.0));
    (120..128).for_each(|n| add(n, "cars and other words besides", -3.0));
    add(128, "cars cars", 0.0);
    // these have no word of the query; the list has no room for the last
    (129..132).for_each(|n| add(n, "nothing of it", -1.0));
    let afinn = approach("boromir-afinn");
    let ranking = collection.rank(&afinn, "cars");
    let ids = |stance| -> Vec<usize> {
        let list = list(&ranking, stance).into_iter();
        list.map(|(id, _)| id[1..].parse().unwrap()).collect()
    };
    assert_eq!(ids(Stance::Pro), (0..10).collect::<Vec<_>>());
    let negative = (120..128).chain(129..131).collect::<Vec<_>>();
    assert_eq!(ids(Stance::Con), negative);
    assert!(list(&ranking, Stance::Con)[8].1.abs() < 1e-5);
    // if the cut comes first, no negative image is left
    let mut cut_first = afinn;
    cut_first.lists.cut = Cut::BeforeStance;
    let ranking = collection.rank(&cut_first, "cars");
    assert!(list(&ranking, Stance::Con).is_empty());
}

#[test]
fn boromir_weights_the_text_in_the_image_by_five_and_does_not_stem() {
    let mut collection = Collection::new();
    let mut add = |id: &str, main, title, ocr| {
        let made = Made {
            main,
            title,
            ocr,
            afinn_main: 1.0,
            vader_title: -0.4,
            ..Made::default()
        };
        collection.add(id, made);
    };
    add("Ia", "cars move", "cars", "");
    add("Ib", "bikes move", "", "cars");
    add("Ic", "car move", "cars", "car");
    let ranking = collection.rank(&approach("boromir-afinn"), "Cars?");
    // ln(1 + 2.5 / 1.5) = .98083 for one of three images; all texts of the page are of equal length, those of the two images with text are
    // longer than the mean of 2/3
    let idf = (1.0f64 + 2.5 / 1.5).ln();
    let main = idf / 2.2;
    let ocr = idf / (1.0 + 1.2 * (0.25 + 0.75 * 1.5));
    // the weighted mean: the sum of one main text and five times the text in the image, divided by six
    assert_list(
        &ranking,
        Stance::Pro,
        &[("Ib", 5.0 * ocr / 6.0), ("Ia", main / 6.0), ("Ic", 0.0)],
    );
    // the titles decide the stance, not the relevance
    let ranking = collection.rank(&approach("boromir-bert"), "Cars?");
    let con: Vec<&str> = list(&ranking, Stance::Con).iter().map(|l| l.0).collect();
    assert_eq!(con, ["Ib", "Ia", "Ic"]);
    assert!(list(&ranking, Stance::Pro).is_empty());
}

#[test]
fn minsc_lists_an_image_for_the_side_of_its_smaller_rank() {
    let mut collection = Collection::new();
    let mut add = |id: &str, crawled| {
        let made = Made {
            crawled,
            ..Made::default()
        };
        collection.add(id, made);
    };
    add("Ia", &[("cars good", 3), ("cars anti", 5), ("cars", 1)]);
    add(
        "Ib",
        &[("cars good", 4), ("ban cars anti", 2), ("cars anti", 9)],
    );
    // equal ranks: the first one that was read counts
    add("Ic", &[("cars anti", 7), ("cars good", 7)]);
    add("Id", &[("cars good", 7), ("cars anti", 7)]);
    add("Ie", &[("cars are good for us", 1)]);
    add("If", &[("cars good", 100)]);
    let ranking = collection.rank(&approach("minsc"), "Are cars good?");
    let pro = [("Ia", 0.98), ("Id", 0.94), ("If", 0.01)];
    assert_list(&ranking, Stance::Pro, &pro);
    assert_list(&ranking, Stance::Con, &[("Ib", 0.99), ("Ic", 0.94)]);
}

#[test]
fn boromir_multiplies_relevance_by_the_weight_of_the_pictures_cluster() {
    let mut collection = Collection::new();
    let mut add = |id: &str, main, red, ocr| {
        let made = Made {
            main,
            red,
            ocr,
            afinn_main: 1.0,
            ..Made::default()
        };
        collection.add(id, made);
    };
    // two red pictures, one of which has text, and three others, one of which has text
    add("Ia", "cars move", 0.0, "");
    add("Ib", "cars move", 0.9, "");
    add("Ic", "cars move", 0.9, "stop");
    add("Id", "cars move", 0.0, "go");
    add("Ie", "bikes move", 0.0, "");
    let mut clusters = approach("boromir-afinn-clusters");
    let recipe = clusters.relevance.clusters.as_mut().unwrap();
    recipe.count = 2;
    let ranking = collection.rank(&clusters, "Cars?");
    // four of five images have the word, and all texts of pages are of equal length; the main text has a sixth of the weight
    let relevance = (1.0f64 + 1.5 / 4.5).ln() / 2.2 / 6.0;
    let (red, other) = (1.0 + 4.0 / 2.0, 1.0 + 4.0 / 3.0);
    // of equal scores the smaller id is first
    let expected = [
        ("Ib", red * relevance),
        ("Ic", red * relevance),
        ("Ia", other * relevance),
        ("Id", other * relevance),
        ("Ie", 0.0),
    ];
    assert_list(&ranking, Stance::Pro, &expected);
    let first = ranking
        .explained
        .iter()
        .find(|i| i.image.0 == "Ib")
        .unwrap();
    let list_score = first.pro.as_ref().unwrap();
    let of_cluster = &list_score.parts()[0];
    assert!((list_score.value() - of_cluster.value()).abs() < 1e-12);
    assert!((of_cluster.value() - red * of_cluster.parts()[0].value()).abs() < 1e-12);
    let how = of_cluster.how();
    assert!(how.contains("1 of its 2 pictures have text"), "{how}");
}

#[test]
fn jester_goes_by_the_sentiment_of_the_page_and_of_the_text_in_the_picture() {
    let mut collection = Collection::new();
    let mut add = |id: &str, vader_main, vader_ocr| {
        let made = Made {
            main: "cars",
            ocr: "cars",
            vader_main,
            vader_ocr,
            // neither of these decides
            vader_title: 0.9,
            afinn_main: 5.0,
            ..Made::default()
        };
        collection.add(id, made);
    };
    add("Ia", -0.5, 0.6);
    add("Ib", 0.5, -0.6);
    add("Ic", 0.25, -0.25);
    add("Id", 0.0, 0.0);
    let ranking = collection.rank(&approach("jester"), "Cars?");
    let ids = |stance| -> Vec<&str> { list(&ranking, stance).iter().map(|l| l.0).collect() };
    assert_eq!(ids(Stance::Pro), ["Ia"]);
    assert_eq!(ids(Stance::Con), ["Ib"]);
}

#[test]
fn jean_luc_picard_lists_the_same_images_on_both_sides() {
    let mut collection = Collection::new();
    let mut add = |id: &str, main| {
        let made = Made {
            main,
            ..Made::default()
        };
        collection.add(id, made);
    };
    add("Ia", "cars move");
    add("Ib", "a car is not a bike");
    add("Ic", "nothing moves");
    let ranking = collection.rank(&approach("jean-luc-picard"), "Should cars be banned?");
    let ids = |stance| -> Vec<&str> { list(&ranking, stance).iter().map(|l| l.0).collect() };
    // stop words are left out, so that both texts about cars are of two words
    assert_eq!(ids(Stance::Pro), ["Ia", "Ib"]);
    assert_eq!(ids(Stance::Con), ["Ia", "Ib"]);
}

#[test]
fn the_pool_is_as_large_as_the_recipe_says() {
    let mut collection = Collection::new();
    for n in 0..9 {
        let made = Made {
            main: "cars",
            ..Made::default()
        };
        collection.add(&format!("I{n}"), made);
    }
    let mut picard = approach("jean-luc-picard");
    assert_eq!(picard.lists.pool, Some(50));
    picard.lists.pool = Some(3);
    let ranking = collection.rank(&picard, "cars");
    assert_eq!(ranking.explained.len(), 3);
}

#[test]
fn the_networks_of_aramis_decide_where_the_recipe_says() {
    let mut collection = alpha_and_beta();
    let title = "Is alpha beta?";
    let argument = ArgumentNetwork::committed();
    let ranking = collection.rank(&approach("aramis-neural"), title);
    let of_formula = collection.rank(&approach("aramis"), title);
    assert_eq!(ranking.explained.len(), of_formula.explained.len());
    for (image, of_formula) in ranking.explained.iter().zip(of_formula.explained.iter()) {
        let read = ImageEvidence::read(&collection.store, &image.image, CHANNELS);
        let expected = argument.argues(&ArgumentInputs::of(&read.unwrap().unwrap()));
        let score = image.pro.as_ref().or(image.con.as_ref()).unwrap();
        // before it is scaled within its list
        assert_eq!(score.parts()[1].parts()[0].value(), expected);
        assert_eq!(image.pro.is_some(), of_formula.pro.is_some());
    }
    for name in ["aramis-neural-stance", "aramis-neural-both"] {
        let approach = approach(name);
        let analyzer = &approach.relevance.analyzer;
        let query = networks::tokens(analyzer, title);
        let ranking = collection.rank(&approach, title);
        for id in ["Ia", "Ib", "Ic", "Id"] {
            let id = DocId(id.to_owned());
            let read = ImageEvidence::read(&collection.store, &id, CHANNELS);
            let inputs = networks::stance_inputs(&read.unwrap().unwrap(), &query, analyzer);
            let side = networks::side(StanceNetwork::committed().probabilities(&inputs));
            let of = ranking.explained.iter().find(|image| image.image == id);
            let of = of.unwrap();
            let found = i8::from(of.pro.is_some()) - i8::from(of.con.is_some());
            assert_eq!(found, side, "{name} {id:?}");
        }
    }
}

#[test]
fn the_place_of_a_line_of_text_is_laid_out_on_a_grid() {
    let mut collection = Collection::new();
    let made = Made {
        ocr: "stop",
        ..Made::default()
    };
    collection.add("Ia", made);
    let id = DocId("Ia".to_owned());
    let image = ImageEvidence::read(&collection.store, &id, CHANNELS);
    let image = image.unwrap().unwrap();
    // from 10 to 60 across and from 10 to 40 down, of 100: its middle is in the third column and row
    for (at, share) in ArgumentInputs::of(&image).text_map.iter().enumerate() {
        let expected = if at == 2 * 8 + 2 { 0.5 * 0.3 } else { 0.0 };
        assert!((share - expected).abs() < 1e-6, "{at}: {share}");
    }
    assert!((AramisFeatures::of(&image).diagram - 0.15).abs() < 1e-6);
}
