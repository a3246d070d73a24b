//! Which commands write metadata beside a run, and what TIRA would miss in them.

use super::Command;
use super::notes::note;
use super::text_args::{INPUT, MetadataArgs, OUTPUT};
use riposte::files::metadata::{FILE, UserMetadata};

impl Command {
    /// The command, with what the configuration says of a run's makers, if it writes metadata.
    pub(super) fn with_metadata(mut self, config: UserMetadata) -> Command {
        match &mut self {
            Command::Images(args) => args.metadata.config = config,
            Command::Controversial(args) => args.texts.metadata.config = config,
            Command::Comparative(args) => args.texts.metadata.config = config,
            Command::Rank(args) => args.metadata.config = config,
            _ => {}
        }
        self
    }
}

impl MetadataArgs {
    /// Says which fields TIRA would miss, if TIRA seems to have started the command: its variables are set, even if the command names the directories
    /// itself. On TIRA, nobody can call `verify` before the run is there.
    pub(super) fn note_for_tira(&self) {
        let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let Some(variable) = [INPUT, OUTPUT].into_iter().find(is_set) else {
            return;
        };
        let missing = self.config.missing_for_tira();
        if self.no_metadata || missing.is_empty() {
            return;
        }
        let missing = missing.join(" and ");
        let said = format!(
            "{FILE} lacks {missing}, which tasks of TIRA can require (${variable} is set): put team = \"…\" under [actor] and repository = \"…\" under [implementation] in a riposte.toml, and name it with --config FILE or $RIPOSTE_CONFIG"
        );
        say!("{}", note(&said));
    }
}
