use std::path::Path;

use riposte_eval::TextTask;

use super::Error;
use crate::task::Task;
use crate::task::approach::ImageApproach;
use crate::task::text_approach::TextApproach;

/// How documents are ranked: a recipe, which is a TOML file. `riposte approaches` lists those that come with riposte.
#[derive(Clone, Debug)]
pub struct Approach(Recipe);

#[derive(Clone, Debug)]
enum Recipe {
    Images(Box<ImageApproach>),
    Texts(TextTask, Box<TextApproach>),
}

impl Approach {
    /// The approach to a task that comes with riposte under this name.
    ///
    /// # Errors
    /// There is none. The message names a similar one, or lists all.
    pub fn named(task: Task, name: &str) -> Result<Approach, Error> {
        if name.ends_with(".toml") {
            let why = anyhow::anyhow!("{name} is a file: Approach::from_file reads it");
            return Err(Error::approach(why));
        }
        Approach::find(task, name).map_err(Error::approach)
    }

    /// The approach that a TOML file describes. `docs/approaches.md` lists what it can contain.
    ///
    /// # Errors
    /// The file cannot be read, does not end in `.toml`, or is not an approach to this task. The message names the line.
    pub fn from_file(task: Task, path: impl AsRef<Path>) -> Result<Approach, Error> {
        let path = path.as_ref();
        match path.to_str().filter(|path| path.ends_with(".toml")) {
            Some(path) => Approach::find(task, path).map_err(Error::approach),
            None => {
                let why = anyhow::anyhow!("the name of {} does not end in .toml", path.display());
                Err(Error::approach(why))
            }
        }
    }

    #[doc(hidden)]
    /// Finds an approach by its name. A name that ends in `.toml` is the path of a file with the approach.
    pub fn find(task: Task, name: &str) -> anyhow::Result<Approach> {
        Ok(Approach(match task {
            Task::Images => Recipe::Images(Box::new(ImageApproach::find(name)?)),
            Task::Texts(task) => Recipe::Texts(task, Box::new(TextApproach::find(task, name)?)),
        }))
    }

    /// Its name, as in its file.
    pub fn name(&self) -> &str {
        match &self.0 {
            Recipe::Images(approach) => &approach.name,
            Recipe::Texts(_, approach) => &approach.name,
        }
    }

    /// The publication that describes it; empty for a user's own approach.
    pub fn source(&self) -> &str {
        match &self.0 {
            Recipe::Images(approach) => &approach.source,
            Recipe::Texts(_, approach) => &approach.source,
        }
    }

    /// The text of its file.
    pub fn recipe(&self) -> &str {
        match &self.0 {
            Recipe::Images(approach) => &approach.text,
            Recipe::Texts(_, approach) => &approach.text,
        }
    }

    /// The task that it is for.
    pub fn task(&self) -> Task {
        match &self.0 {
            Recipe::Images(_) => Task::Images,
            Recipe::Texts(task, _) => Task::Texts(*task),
        }
    }

    pub(super) fn images(&self) -> Option<&ImageApproach> {
        match &self.0 {
            Recipe::Images(approach) => Some(approach),
            Recipe::Texts(..) => None,
        }
    }

    pub(super) fn texts(&self) -> Option<&TextApproach> {
        match &self.0 {
            Recipe::Images(_) => None,
            Recipe::Texts(_, approach) => Some(approach),
        }
    }
}
