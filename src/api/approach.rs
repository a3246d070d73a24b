use std::path::Path;

use super::Error;
use crate::collection::task::Task;
use crate::recipes::image_approach::ImageApproach;
use crate::recipes::settings::Setting;
use crate::recipes::text_approach::TextApproach;

/// How documents are ranked: a recipe, which is a TOML file. `riposte approaches` lists those that come with riposte.
#[derive(Clone, Debug)]
pub struct Approach {
    task: Task,
    recipe: Recipe,
}

#[derive(Clone, Debug)]
enum Recipe {
    Texts(Box<TextApproach>),
    Images(Box<ImageApproach>),
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

    /// Finds an approach by its name. A name that ends in `.toml` is the path of a file with the approach.
    #[doc(hidden)]
    pub fn find(task: Task, name: &str) -> anyhow::Result<Approach> {
        Approach::find_with(task, name, &[])
    }

    /// Like [`Approach::find`], changed by settings.
    #[doc(hidden)]
    pub fn find_with(task: Task, name: &str, settings: &[Setting]) -> anyhow::Result<Approach> {
        Ok(Approach {
            task,
            recipe: match task {
                Task::Images => Recipe::Images(ImageApproach::find_with(name, settings)?.into()),
                Task::Texts(task) => {
                    Recipe::Texts(TextApproach::find_with(task, name, settings)?.into())
                }
            },
        })
    }

    /// Its name, as in its file.
    pub fn name(&self) -> &str {
        match &self.recipe {
            Recipe::Texts(of) => &of.name,
            Recipe::Images(of) => &of.name,
        }
    }

    /// The publication that describes it; empty for a user's own approach.
    pub fn source(&self) -> &str {
        match &self.recipe {
            Recipe::Texts(of) => &of.source,
            Recipe::Images(of) => &of.source,
        }
    }

    /// The text of its file.
    pub fn recipe(&self) -> &str {
        match &self.recipe {
            Recipe::Texts(of) => &of.text,
            Recipe::Images(of) => &of.text,
        }
    }

    /// The task that it is for.
    pub fn task(&self) -> Task {
        self.task
    }

    /// Whether it asks a search engine on the web.
    pub(crate) fn asks_a_service(&self) -> bool {
        self.texts().is_some_and(|texts| texts.service.is_some())
    }

    pub(super) fn texts(&self) -> Option<&TextApproach> {
        match &self.recipe {
            Recipe::Texts(of) => Some(of),
            Recipe::Images(_) => None,
        }
    }

    pub(super) fn images(&self) -> Option<&ImageApproach> {
        match &self.recipe {
            Recipe::Images(of) => Some(of),
            Recipe::Texts(_) => None,
        }
    }
}
