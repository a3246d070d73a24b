//! From text to terms.

use tantivy::tokenizer::{
    AsciiFoldingFilter, Language, LowerCaser, RemoveLongFilter, SimpleTokenizer, Stemmer,
    StopWordFilter, TextAnalyzer,
};

/// A longer token is no word (a data URL, a hash).
const MAX_TOKEN_BYTES: usize = 40;

/// The name under which [`english`] is registered with an index.
pub const ENGLISH: &str = "english";

/// Words between blanks and punctuation, lower case, without accents, without Snowball's English
/// stop words, stemmed by Snowball's English (Porter 2) stemmer.
pub fn english() -> TextAnalyzer {
    let builder = TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(MAX_TOKEN_BYTES))
        .filter(LowerCaser)
        .filter(AsciiFoldingFilter);
    match StopWordFilter::new(Language::English) {
        Some(stop_words) => builder
            .filter(stop_words)
            .filter(Stemmer::new(Language::English))
            .build(),
        None => builder.filter(Stemmer::new(Language::English)).build(),
    }
}

/// The terms of a text, in order, with repetitions.
pub fn terms(analyzer: &mut TextAnalyzer, text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    let mut stream = analyzer.token_stream(text);
    stream.process(&mut |token| terms.push(token.text.clone()));
    terms
}
