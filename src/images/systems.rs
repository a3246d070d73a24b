//! The list of the image models in `systems/`, each of which only one team used.

use crate::recipes::image_approach::{ArgumentRecipe, StanceRecipe};
use crate::score::side::{ArgumentModel, SideModel};
use crate::systems::aramis::{ArgumentFormula, SideFormula, networks};
pub(super) use crate::systems::picture_clusters::ClusterWeights;

/// The team's model of argumentativeness; `None` if the recipe names no team.
pub(super) fn argument_model(recipe: ArgumentRecipe) -> Option<Box<dyn ArgumentModel>> {
    match recipe {
        ArgumentRecipe::Aramis { weights } => Some(Box::new(ArgumentFormula(weights))),
        ArgumentRecipe::AramisNeural => Some(Box::new(networks::ArgumentNetwork::committed())),
        ArgumentRecipe::None | ArgumentRecipe::Picture => None,
    }
}

/// The team's model of sides; `None` if the recipe names no team.
pub(super) fn side_model(recipe: StanceRecipe) -> Option<Box<dyn SideModel>> {
    match recipe {
        StanceRecipe::Aramis {
            weights,
            turn_below,
        } => Some(Box::new(SideFormula {
            weights,
            turn_below,
        })),
        StanceRecipe::AramisNeural => Some(Box::new(networks::StanceNetwork::committed())),
        _ => None,
    }
}
