//! What is an approach? Recipes in TOML: how they are found, read, checked and changed by `--set`, and the lists of channels, signals and re-rankers that
//! they can name. Nothing here ranks.

pub(crate) mod analyzers;
pub mod approaches;
pub mod channels;
pub(crate) mod checks;
pub(crate) mod english;
pub mod hinted_toml;
pub mod image_approach;
pub(crate) mod rerankers;
pub(crate) mod services;
pub mod settings;
pub mod text_approach;

/// The number of documents in the ranking of a topic, and that of each search, unless an approach says otherwise. The tasks of the lab take no more in a
/// run.
pub(crate) const DEPTH: usize = 1000;

/// An approach as the files of a run name it.
#[derive(Clone, Copy)]
pub struct NamedApproach<'a> {
    pub name: &'a str,
    /// The settings that were typed: `k1=0.9`.
    pub set: &'a [String],
}

/// The tag of a run if the user gives none: the approach's name, prefixed with `riposte-` unless it already begins with "riposte", and the settings that
/// were typed: `riposte-bm25-k1=0.9`.
pub(crate) fn default_tag(approach: NamedApproach) -> String {
    let name = approach.name.replace(char::is_whitespace, "-");
    let set = settings::in_tag(approach.set);
    match name.strip_prefix("riposte") {
        Some(rest) if rest.is_empty() || rest.starts_with('-') => format!("{name}{set}"),
        _ => format!("riposte-{name}{set}"),
    }
}
