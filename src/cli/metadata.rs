//! Which commands write metadata beside a run.

use super::Command;
use riposte::task::metadata::Config;

impl Command {
    /// The command, with what the configuration says of a run's makers, if it writes metadata.
    pub(super) fn with_metadata(mut self, config: Config) -> Command {
        match &mut self {
            #[cfg(feature = "full")]
            Command::Images(args) => args.metadata.config = config,
            Command::Controversial(args) => args.texts.metadata.config = config,
            Command::Comparative(args) => args.texts.metadata.config = config,
            Command::Rank(args) => args.metadata.config = config,
            _ => {}
        }
        self
    }
}
