//! The fields of a query string.

use super::check;
use crate::limits::{MAX_FIELDS, MAX_QUERY_BYTES};
use crate::refusal::Refusal;

/// Fields by their names. Each is taken once; what is left at the end is a mistake of the client. An empty field counts as absent, because forms send
/// all of their fields.
pub(crate) struct QueryFields(Vec<(String, String)>);

impl QueryFields {
    /// # Errors
    /// The query string is too long, or has a field twice.
    pub(crate) fn parse(query: Option<&str>) -> Result<QueryFields, Refusal> {
        let query = query.unwrap_or_default();
        if query.len() > MAX_QUERY_BYTES {
            let sentence = format!("the query string has more than {MAX_QUERY_BYTES} bytes");
            return Err(Refusal::Http(414, sentence));
        }
        let mut fields: Vec<(String, String)> = Vec::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if fields.iter().any(|(known, _)| *known == name) {
                return Err(Refusal::bad(format!("`{name}` stands twice")));
            }
            fields.push((name.into_owned(), value.into_owned()));
            if fields.len() > MAX_FIELDS {
                return Err(Refusal::bad("the query string has too many fields"));
            }
        }
        Ok(QueryFields(fields))
    }

    /// Fields whose names are different.
    pub(crate) fn of(fields: Vec<(String, String)>) -> QueryFields {
        QueryFields(fields)
    }

    /// The value as it was sent, if it is not blank.
    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        let (_, value) = self.0.swap_remove(at);
        Some(value).filter(|value| !value.trim().is_empty())
    }

    pub(crate) fn missing(&self, name: &str) -> Refusal {
        Refusal::bad(format!("`{name}` is missing"))
    }

    pub(crate) fn question(&mut self, name: &str) -> Result<String, Refusal> {
        let question = self.optional_question(name)?;
        question.ok_or_else(|| self.missing(name))
    }

    pub(crate) fn optional_question(&mut self, name: &str) -> Result<Option<String>, Refusal> {
        let question = self.take(name);
        question.map(|it| check::question(name, &it)).transpose()
    }

    pub(crate) fn claim(&mut self) -> Result<Option<String>, Refusal> {
        self.optional_question("claim")
    }

    pub(crate) fn name(&mut self, name: &str) -> Result<Option<String>, Refusal> {
        self.take(name).map(|it| check::name(name, it)).transpose()
    }

    pub(crate) fn approach(&mut self) -> Result<Option<String>, Refusal> {
        self.take("approach").map(check::approach).transpose()
    }

    /// A number from 1 to `most`.
    pub(crate) fn number(&mut self, name: &str, most: usize) -> Result<Option<usize>, Refusal> {
        let number = |value: String| {
            let number = value.parse().ok().filter(|n| (1..=most).contains(n));
            number.ok_or_else(|| check::outside(&format!("`{name}`"), most))
        };
        self.take(name).map(number).transpose()
    }

    /// A number from 0 to 1.
    pub(crate) fn share(&mut self, name: &str) -> Result<Option<f64>, Refusal> {
        let share = |value: String| {
            let share = value.parse().ok().filter(|n| (0.0..=1.0).contains(n));
            share.ok_or_else(|| Refusal::bad(format!("`{name}` must be from 0 to 1")))
        };
        self.take(name).map(share).transpose()
    }

    /// One of several words.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        name: &str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, Refusal> {
        let choice = |value: String| {
            let mut known = choices.iter();
            let found = known.find(|(word, _)| value.eq_ignore_ascii_case(word));
            found.map(|(_, choice)| *choice).ok_or_else(|| {
                let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
                let words = words.join(", ");
                Refusal::bad(format!("`{name}` must be one of {words}"))
            })
        };
        self.take(name).map(choice).transpose()
    }

    /// # Errors
    /// A field is left, for example because its name is misspelt.
    pub(crate) fn finish(self) -> Result<(), Refusal> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => Err(Refusal::bad(format!("`{name}` is no field of this route"))),
        }
    }
}
