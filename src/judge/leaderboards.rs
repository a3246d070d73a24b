//! The systems on the result pages of the lab with their official figures: `approaches/systems.toml`.

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::collection::task::Task;

/// The systems on the result pages of the lab.
const SYSTEMS: &str = include_str!("../../approaches/systems.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Systems {
    #[serde(rename = "leaderboard")]
    leaderboards: Vec<Leaderboard>,
}

/// A result page, or the part of it for one collection.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leaderboard {
    pub task: Task,
    pub year: u32,
    pub title: String,
    /// In the order of the page.
    pub rows: Vec<System>,
}

/// A run on a leaderboard with its official figures: nDCG@5 (`relevance`, `quality`), macro-averaged F1 (`stance`), and P@10 (the others).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    pub team: String,
    /// The tag of the run.
    pub run: String,
    pub relevance: Option<f64>,
    pub quality: Option<f64>,
    pub stance: Option<f64>,
    pub on_topic: Option<f64>,
    pub argumentative: Option<f64>,
    pub on_stance: Option<f64>,
    /// The name of the approach that rebuilds the system.
    pub recipe: Option<String>,
    /// Why there is no such approach.
    pub why: Option<String>,
}

impl System {
    /// The names of the figures in the file, in the order of [`figures`](System::figures).
    pub const FIGURES: [&str; 6] = [
        "relevance",
        "quality",
        "stance",
        "on_topic",
        "argumentative",
        "on_stance",
    ];

    /// The official figures; `None` for those that the page does not give.
    pub fn figures(&self) -> [Option<f64>; 6] {
        [
            self.relevance,
            self.quality,
            self.stance,
            self.on_topic,
            self.argumentative,
            self.on_stance,
        ]
    }

    /// The figure with this name.
    pub fn figure(&self, name: &str) -> Option<f64> {
        let at = System::FIGURES.iter().position(|figure| *figure == name)?;
        self.figures().get(at).copied().flatten()
    }
}

/// All leaderboards, in the order of the file.
///
/// # Errors
/// The program was built with a broken file.
pub fn leaderboards() -> Result<Vec<Leaderboard>> {
    let systems: Systems =
        toml::from_str(SYSTEMS).context("cannot use the embedded approaches/systems.toml")?;
    Ok(systems.leaderboards)
}
