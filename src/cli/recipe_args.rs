//! The options that set keys of recipes.

use clap::Args;

use riposte::recipes::settings::Setting;

/// The heading of these options in help texts.
const SETTINGS: &str = "Settings of the approach";

/// Anserini's parameters of RM3.
const RM3: &str = "10,10,0.5";

/// The option of all commands that rank by a recipe.
#[derive(Args)]
pub(super) struct SetArgs {
    /// Set a key of the approach's recipe, such as rerank.depth=20. The value is TOML; a word is a string. Repeatable
    #[arg(long, value_name = "KEY=VALUE", value_parser = Setting::key, help_heading = SETTINGS)]
    set: Vec<Setting>,
}

/// The options of the commands that search texts.
#[derive(Args)]
pub(super) struct SearchArgs {
    /// Rank N documents for each topic, and not as many as the recipe says (1,000). Searches find at least N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32), help_heading = SETTINGS)]
    hits: Option<u32>,
    /// Set k1 of BM25
    #[arg(long, value_name = "K1", allow_negative_numbers = true, help_heading = SETTINGS)]
    k1: Option<f64>,
    /// Set b of BM25
    #[arg(long, value_name = "B", allow_negative_numbers = true, help_heading = SETTINGS)]
    b: Option<f64>,
    /// Set mu of a Dirichlet similarity
    #[arg(long, value_name = "MU", allow_negative_numbers = true, help_heading = SETTINGS)]
    mu: Option<f64>,
    /// Expand the topics by RM3, with Anserini's parameters [without a value: 10,10,0.5]
    #[arg(
        long,
        value_name = "TERMS,DOCUMENTS,WEIGHT",
        num_args = 0..=1,
        default_missing_value = RM3,
        value_parser = Setting::feedback,
        help_heading = SETTINGS
    )]
    rm3: Option<Setting>,
    #[command(flatten)]
    set: SetArgs,
}

impl SetArgs {
    pub(super) fn settings(&self) -> Vec<Setting> {
        self.set.clone()
    }
}

impl SearchArgs {
    /// The settings in the order in which they are made: the short forms come last, and set what a longer path has not.
    pub(super) fn settings(&self) -> Vec<Setting> {
        let mut settings = self.set.settings();
        let parameters = [("k1", self.k1), ("b", self.b), ("mu", self.mu)];
        let parameters = parameters.into_iter();
        settings
            .extend(parameters.filter_map(|(key, value)| Some(Setting::parameter(key, value?))));
        settings.extend(self.rm3.clone());
        settings.extend(self.hits.map(Setting::hits));
        settings
    }
}
