//! The approaches to the text tasks that come with riposte.

use crate::trec::TextTask;

/// The files of the approaches that come with riposte, the default first.
pub(super) fn files(task: TextTask) -> &'static [&'static str] {
    match task {
        TextTask::Controversial => CONTROVERSIAL,
        TextTask::Comparative => COMPARATIVE,
        TextTask::Rank => RANK,
    }
}

const CONTROVERSIAL: &[&str] = &[
    include_str!("../../../approaches/controversial/riposte.toml"),
    include_str!("../../../approaches/controversial/riposte-dense.toml"),
    include_str!("../../../approaches/controversial/bm25.toml"),
    include_str!("../../../approaches/controversial/dirichlet.toml"),
    include_str!("../../../approaches/controversial/elrond.toml"),
    include_str!("../../../approaches/controversial/elrond-simple.toml"),
    include_str!("../../../approaches/controversial/elrond-pos.toml"),
    include_str!("../../../approaches/controversial/pippin-took.toml"),
    include_str!("../../../approaches/controversial/robin-hood.toml"),
    include_str!("../../../approaches/controversial/robin-hood-use.toml"),
    include_str!("../../../approaches/controversial/skeletor.toml"),
    include_str!("../../../approaches/controversial/skeletor-manifold.toml"),
    include_str!("../../../approaches/controversial/shanks.toml"),
    include_str!("../../../approaches/controversial/heimdall.toml"),
    include_str!("../../../approaches/controversial/heimdall-quality.toml"),
    include_str!("../../../approaches/controversial/athos.toml"),
    include_str!("../../../approaches/controversial/goemon-ishikawa.toml"),
    include_str!("../../../approaches/controversial/jean-pierre-polnareff.toml"),
    include_str!("../../../approaches/controversial/swordsman.toml"),
    include_str!("../../../approaches/controversial/yeagerists.toml"),
    include_str!("../../../approaches/controversial/hua-mulan.toml"),
    include_str!("../../../approaches/controversial/robin-hood-baseline.toml"),
    include_str!("../../../approaches/controversial/robin-hood-rm3.toml"),
    include_str!("../../../approaches/controversial/macbeth.toml"),
    include_str!("../../../approaches/controversial/blade.toml"),
    include_str!("../../../approaches/controversial/blade-dirichlet.toml"),
    include_str!("../../../approaches/controversial/deadpool.toml"),
    include_str!("../../../approaches/controversial/little-foot.toml"),
    include_str!("../../../approaches/controversial/gandalf.toml"),
    include_str!("../../../approaches/controversial/oscar-francois-de-jarjayes.toml"),
    include_str!("../../../approaches/controversial/dread-pirate-roberts.toml"),
    include_str!("../../../approaches/controversial/dread-pirate-roberts-small.toml"),
];

const COMPARATIVE: &[&str] = &[
    include_str!("../../../approaches/comparative/riposte.toml"),
    include_str!("../../../approaches/comparative/bm25.toml"),
    include_str!("../../../approaches/comparative/dirichlet.toml"),
    include_str!("../../../approaches/comparative/aldo-nadi.toml"),
    include_str!("../../../approaches/comparative/aldo-nadi-quality.toml"),
    include_str!("../../../approaches/comparative/puss-in-boots.toml"),
    include_str!("../../../approaches/comparative/grimjack.toml"),
    include_str!("../../../approaches/comparative/captain-tempesta.toml"),
    include_str!("../../../approaches/comparative/aldo-nadi-rrf.toml"),
    include_str!("../../../approaches/comparative/aldo-nadi-rrf-quality.toml"),
    include_str!("../../../approaches/comparative/olivier-armstrong.toml"),
    include_str!("../../../approaches/comparative/captain-levi.toml"),
    include_str!("../../../approaches/comparative/captain-levi-dense.toml"),
    include_str!("../../../approaches/comparative/chatnoir.toml"),
];

const RANK: &[&str] = &[
    include_str!("../../../approaches/rank/riposte.toml"),
    include_str!("../../../approaches/rank/bm25.toml"),
    include_str!("../../../approaches/rank/bm25-flat.toml"),
    include_str!("../../../approaches/rank/bm25-rm3.toml"),
    include_str!("../../../approaches/rank/dirichlet.toml"),
    include_str!("../../../approaches/rank/dph.toml"),
    include_str!("../../../approaches/rank/dense.toml"),
];
