//! `--version`: the commit and the target of the build, and the instructions that it uses on this machine.

use riposte_nn::conv::{float_instructions, int8_instructions};

/// What `--version` prints after the name. `-V` prints only the version.
pub(super) fn long() -> String {
    let commit = option_env!("RIPOSTE_BUILT_FROM").unwrap_or("unknown");
    let target = option_env!("RIPOSTE_TARGET").unwrap_or("unknown");
    let numbers = match int8_instructions() {
        Some(instructions) => format!("int8 with {instructions}, unless --numeric float"),
        None => "float: this machine has no instructions that make int8 faster".to_owned(),
    };
    let features = [
        ("candle", cfg!(feature = "candle")),
        ("cuda", cfg!(feature = "cuda")),
    ];
    let features = features.into_iter().filter(|(_, is_on)| *is_on);
    let features: Vec<&str> = features.map(|(name, _)| name).collect();
    let features = match features.as_slice() {
        [] => "none".to_owned(),
        features => features.join(", "),
    };
    format!(
        "{}\n\
         commit    {commit}\n\
         target    {target}\n\
         floats    {}\n\
         products  {numbers}\n\
         features  {features}",
        env!("CARGO_PKG_VERSION"),
        float_instructions(),
    )
}
