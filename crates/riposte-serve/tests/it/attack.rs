//! Answers of a collection that attacks whoever reads them.

use riposte_serve::answers::*;
use riposte_serve::questions::{Address, DocumentKind, Search};
use serde_json::json;

/// Ends whatever it stands in, runs scripts, turns the text around it, and is longer than a line.
pub fn text() -> String {
    format!(
        "\"'></title></style></textarea></option><script>window.pwned=1</script><img src=x onerror=\"window.pwned=1\"> {{{{ 7*7 }}}} \u{202e}gpj.exe\u{2069} שלום &lt;b&gt; {}",
        "x".repeat(10_000)
    )
}

/// An address that is a script.
pub const SCRIPT: &str = "javascript:window.pwned=1//http://x";

/// Another one, which begins like an address of the web.
const QUOTED: &str =
    "https://example.org/\"onmouseover=\"window.pwned=1\"><script>window.pwned=1</script>";

/// A picture that is not on this server.
const OUTSIDE: &str = "https://evil.example/x.png";

pub fn collection() -> CollectionInfo {
    CollectionInfo {
        name: text(),
        kinds: vec![DocumentKind::Arguments],
        documents: None,
        state: CollectionState::Damaged,
        reason: Some(text()),
        approaches: Vec::new(),
        examples: vec![text()],
    }
}

pub fn hit(hit: SearchHit) -> SearchHit {
    SearchHit {
        id: text(),
        title: Some(text()),
        text: text(),
        place: Some(text()),
        source: Some(text()),
        url: Some([SCRIPT, QUOTED][hit.rank as usize % 2].to_owned()),
        portal: Some(text()),
        picture: Some(
            [OUTSIDE, "/picture/\"onerror=\"window.pwned=1"][hit.rank as usize % 2].to_owned(),
        ),
        repeats: vec![text()],
        ..hit
    }
}

pub fn found(search: &Search, found: SearchAnswer) -> SearchAnswer {
    SearchAnswer {
        question: search.question.clone(),
        understood: Some(understood()),
        results: found.results.into_iter().map(hit).collect(),
        ..found
    }
}

fn understood() -> Understood {
    Understood {
        claim: text(),
        counter_claim: text(),
        polarity: QuestionPolarity::Open,
    }
}

pub fn debated(debated: Answer) -> Answer {
    let argument = |argument: Argument| Argument {
        id: text(),
        conclusion: text(),
        text: text(),
        repeats: vec![text()],
        source: Some(text()),
        url: Some(SCRIPT.to_owned()),
        ..argument
    };
    let image = |image: Image| Image {
        id: text(),
        words: text(),
        place: Some(text()),
        picture: Some("/picture/debates/1".to_owned()),
        page: Some(SCRIPT.to_owned()),
        ..image
    };
    let side = |side: Side| Side {
        claim: text(),
        arguments: side
            .arguments
            .map(|all| all.into_iter().map(argument).collect()),
        // more than a sheet of paper has room for
        images: side.images.map(|all| {
            let images = all.into_iter().map(image);
            images.flat_map(|image| vec![image; 20]).collect()
        }),
        ..side
    };
    let passage = Text {
        id: text(),
        text: text(),
        stance: Some(text()),
        url: Some(SCRIPT.to_owned()),
        ..Text::default()
    };
    Answer {
        understood: Some(understood()),
        sides: debated.sides.into_iter().map(side).collect(),
        objects: Some([text(), text()]),
        texts: Some(vec![passage]),
        ..debated
    }
}

pub fn word_hit() -> WordHit {
    WordHit {
        id: text(),
        score: f64::NAN,
        stored: json!({"title": text(), "contents": text()}).to_string(),
    }
}

pub fn document(address: &Address) -> DocumentAnswer {
    DocumentAnswer {
        collection: address.collection.clone(),
        id: address.id.clone(),
        title: Some(text()),
        text: text(),
        source: Some(text()),
        url: Some(SCRIPT.to_owned()),
        portal: Some(text()),
        picture: Some(OUTSIDE.to_owned()),
    }
}

pub fn explained(explained: Explained) -> Explained {
    let part = json!({"name": text(), "value": -1, "how": text()});
    Explained {
        id: text(),
        reason: Some(text()),
        explanation: json!({"name": text(), "value": 1, "how": text(), "parts": [part, part]}),
        ..explained
    }
}
