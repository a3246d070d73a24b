//! Lets other rooms supply ways to split texts into words. An index stores only their names.

use std::borrow::Cow;

use anyhow::Result;

use crate::wording::UnknownName;

/// Reads the next word of a text into a buffer: in lower case, after its tag if the splitter has tags (`<NNS>felons`). The buffer is empty if the
/// word is left out. Returns the byte offsets of the word; none at the end of the text.
pub type WordReader<'a> = Box<dyn FnMut(&mut String) -> Option<(usize, usize)> + 'a>;

/// A way to split texts, with its name in analyzers ("tags=typed"). The default, "none", leaves the splitting to the analyzer.
#[derive(Clone, Debug)]
pub struct Splitter {
    name: Cow<'static, str>,
    /// Whether words have tags.
    pub(super) has_tags: bool,
    split: Option<fn(&str) -> WordReader<'_>>,
}

impl Splitter {
    pub const NONE: Splitter = Splitter {
        name: Cow::Borrowed("none"),
        has_tags: false,
        split: None,
    };

    pub const fn new(
        name: &'static str,
        has_tags: bool,
        split: fn(&str) -> WordReader<'_>,
    ) -> Self {
        Splitter {
            name: Cow::Borrowed(name),
            has_tags,
            split: Some(split),
        }
    }

    /// A splitter of which only the name is known, as from an index.
    pub(super) fn named(name: &str) -> Self {
        Splitter {
            name: Cow::Owned(name.to_owned()),
            ..Splitter::NONE
        }
    }

    /// The known splitter with this one's name.
    ///
    /// # Errors
    /// No known splitter has the name.
    pub(super) fn among(&self, known: &[Splitter]) -> Result<Self> {
        let all = || std::iter::once(&Splitter::NONE).chain(known);
        let found = all().find(|known| *known == self);
        let names = || all().map(|known| &known.name);
        let unknown = || UnknownName::new("value", &self.name, names()).into();
        found.cloned().ok_or_else(unknown)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The words of a text; `None` if the analyzer splits it. If only the name of the splitter is known, there are no words.
    pub(super) fn words<'a>(&self, text: &'a str) -> Option<WordReader<'a>> {
        match self.split {
            Some(split) => Some(split(text)),
            None if *self == Splitter::NONE => None,
            None => Some(Box::new(|_| None)),
        }
    }
}

impl PartialEq for Splitter {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Splitter {}
