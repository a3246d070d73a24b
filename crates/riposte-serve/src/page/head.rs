//! What stands above the results of a question, and what can be done with them.

use riposte_page::CLAIM;
use riposte_page::words::shortened;

use super::links;
use super::words::sentence;
use crate::answers::{CollectionInfo, Presence, QuestionPolarity, Side, Understood};
use crate::questions::{BrowserRequest, DocumentKind, Filters, OnSide, PageStage};

/// What stands above the results.
#[derive(Debug)]
pub(super) struct AnswerHead {
    pub(super) question: String,
    pub(super) understood: Option<UnderstoodAs>,
    pub(super) tabs: Vec<Tab>,
    /// Says that nothing in the collection is about the question, and by what that was judged.
    pub(super) nothing: Option<String>,
}

/// What the question was understood as.
#[derive(Debug)]
pub(super) struct UnderstoodAs {
    /// What "yes" and "no" say; empty for an open question.
    pub(super) claims: [String; 2],
    pub(super) polarity: &'static str,
    /// Whether the reader has given the claim.
    pub(super) is_corrected: bool,
    /// The rest of the form that corrects it.
    pub(super) fields: Vec<(&'static str, String)>,
}

/// A link to other results.
#[derive(Debug)]
pub(super) struct Tab {
    pub(super) name: &'static str,
    pub(super) href: String,
    pub(super) is_current: bool,
}

/// A link to the answer in another form.
#[derive(Debug)]
pub(super) struct ExportLink {
    pub(super) name: &'static str,
    pub(super) href: String,
    /// The name of the file, if it is downloaded.
    pub(super) file: Option<&'static str>,
}

/// The lines of a run: what `riposte` writes for a topic.
const RUN_TEXTS: &str = "1000";
const RUN_IMAGES: &str = "20";

impl AnswerHead {
    pub(super) fn new(page: &BrowserRequest, collection: &CollectionInfo) -> AnswerHead {
        let has_sides = collection.kinds.iter().any(|kind| has_sides(*kind));
        let first = match has_sides {
            true => (None, "For and against"),
            false => (None, "Answer"),
        };
        let kinds = collection.kinds.iter();
        let kinds = kinds.map(|kind| (Some(*kind), name(*kind)));
        let tab = |(tab, name)| Tab {
            name,
            href: links::page(&BrowserRequest {
                tab,
                hits: None,
                filters: Filters::default(),
                stage: PageStage::Read,
                ..page.clone()
            }),
            is_current: tab == page.tab,
        };
        AnswerHead {
            question: page.question.clone().unwrap_or_default(),
            understood: None,
            tabs: [first].into_iter().chain(kinds).map(tab).collect(),
            nothing: None,
        }
    }

    pub(super) fn with_presence(self, is_nothing: bool, presence: Option<Presence>) -> AnswerHead {
        let alone = || "This collection seems to have nothing about it.".to_owned();
        let said = || presence.map_or_else(alone, |presence| presence.nothing());
        AnswerHead {
            nothing: is_nothing.then(said),
            ..self
        }
    }

    pub(super) fn with_understood(
        self,
        page: &BrowserRequest,
        understood: Option<&Understood>,
    ) -> AnswerHead {
        let understood = understood.map(|of| {
            let polarity = match of.polarity {
                QuestionPolarity::Positive => "positive: the question is for its subject",
                QuestionPolarity::Negative => "negative: the question is against its subject",
                QuestionPolarity::Open => "open: the question takes no side",
            };
            UnderstoodAs::new(page, [&of.claim, &of.counter_claim], polarity)
        });
        AnswerHead { understood, ..self }
    }

    /// Takes the claims of the sides as what the question was understood as, unless that is known.
    pub(super) fn with_sides(self, page: &BrowserRequest, sides: &[Side]) -> AnswerHead {
        match sides {
            [pro, con] if self.understood.is_none() => AnswerHead {
                understood: Some(UnderstoodAs::new(page, [&pro.claim, &con.claim], "")),
                ..self
            },
            _ => self,
        }
    }
}

impl UnderstoodAs {
    fn new(page: &BrowserRequest, claims: [&String; 2], polarity: &'static str) -> UnderstoodAs {
        UnderstoodAs {
            claims: claims.map(|claim| shortened(claim, CLAIM)),
            polarity,
            is_corrected: page.claim.is_some(),
            fields: fields(page),
        }
    }
}

/// The fields of the question without the claim and the filters.
pub(super) fn fields(page: &BrowserRequest) -> Vec<(&'static str, String)> {
    let fields = [
        ("q", page.question.as_deref()),
        ("collection", page.collection.as_deref()),
        ("tab", page.tab.map(DocumentKind::word)),
        ("approach", page.approach.as_deref()),
    ];
    let fields = fields.into_iter();
    fields
        .filter_map(|(name, value)| Some((name, value?.to_owned())))
        .collect()
}

/// The forms in which an answer can be kept. A ranking keeps its filters.
pub(super) fn kept(page: &BrowserRequest, collection: &CollectionInfo) -> Vec<ExportLink> {
    let number = page.hits.unwrap_or_default().to_string();
    let minimum = page.filters.minimum.map(|minimum| minimum.to_string());
    let filters = [
        ("side", page.filters.side.map(OnSide::word)),
        ("portal", page.filters.portal.as_deref()),
        ("minimum", minimum.as_deref()),
    ];
    let filters = filters.into_iter();
    let filters = filters.filter_map(|(name, value)| Some((name, value?)));
    let filters: Vec<(&str, &str)> = match page.tab {
        Some(_) => filters.collect(),
        None => Vec::new(),
    };
    let search = |kind: DocumentKind, hits| {
        let fields = [("kind", kind.word()), ("hits", hits)];
        [&fields, filters.as_slice()].concat()
    };
    let json = match page.tab {
        None => links::other(page, "/api/debate", &[("number", &number)]),
        Some(kind) => links::other(page, "/api/search", &search(kind, &number)),
    };
    let this = links::page(&BrowserRequest {
        stage: PageStage::Read,
        ..page.clone()
    });
    let kinds = collection.kinds.iter();
    let kinds = kinds.filter(|kind| page.tab.is_none_or(|tab| tab == **kind));
    let runs = kinds.map(|kind| {
        let (name, file, hits) = match kind {
            DocumentKind::Arguments => ("Run of arguments", "arguments.txt", RUN_TEXTS),
            DocumentKind::Images => ("Run of images", "images.txt", RUN_IMAGES),
            DocumentKind::Passages => ("Run of passages", "passages.txt", RUN_TEXTS),
            DocumentKind::Documents => ("Run of documents", "documents.txt", RUN_TEXTS),
        };
        (
            name,
            links::other(page, "/run", &search(*kind, hits)),
            Some(file),
        )
    });
    // a ranking has none: the report is that of the whole answer
    let report = page.tab.is_none().then(|| {
        let href = links::other(page, "/report", &[("number", &number)]);
        ("Report", href, Some("report.html"))
    });
    let forms = [
        ("Link to this answer", this, None),
        ("JSON", json, Some("answer.json")),
    ];
    let forms = forms.into_iter().chain(runs).chain(report);
    forms
        .map(|(name, href, file)| ExportLink { name, href, file })
        .collect()
}

/// Whether results of this kind are for or against a claim.
pub(super) fn has_sides(kind: DocumentKind) -> bool {
    matches!(kind, DocumentKind::Arguments | DocumentKind::Images)
}

/// The heading of results of this kind.
pub(super) fn name(kind: DocumentKind) -> &'static str {
    match kind {
        DocumentKind::Arguments => "Arguments",
        DocumentKind::Images => "Images",
        DocumentKind::Passages => "Passages",
        DocumentKind::Documents => "Documents",
    }
}

/// What a collection that is damaged or being built says of itself.
pub(super) fn reason(collection: &CollectionInfo) -> Option<String> {
    collection.reason.as_deref().map(sentence)
}
