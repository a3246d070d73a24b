//! `--version`: the commit and the target of the build, and the instructions that it uses on this machine.

use riposte::device::BackendMode;
use riposte_nn::conv::{float_instructions, int8_instructions};
use riposte_nn::transformer::EncoderBackend;

/// What `--version` prints after the name. `-V` prints only the version.
pub(super) fn long() -> String {
    let commit = option_env!("RIPOSTE_BUILT_FROM").unwrap_or("unknown");
    let target = option_env!("RIPOSTE_TARGET").unwrap_or("unknown");
    let features = if cfg!(feature = "cuda") {
        "cuda"
    } else {
        "none"
    };
    format!(
        "{}\n\
         commit    {commit}\n\
         target    {target}\n\
         {}features  {features}",
        env!("CARGO_PKG_VERSION"),
        numbers(),
    )
}

/// The numbers in which models compute, and what computes encoders.
fn numbers() -> String {
    let products = match int8_instructions() {
        Some(instructions) => format!("int8 with {instructions}, unless --numeric float"),
        None => "float: this machine has no instructions that make int8 faster".to_owned(),
    };
    let chosen = match BackendMode::Auto.or(EncoderBackend::Auto) {
        EncoderBackend::Given(_) => "candle, on a GPU, or packed with --backend packed",
        _ => "packed, or candle with --backend candle",
    };
    format!(
        "floats    {}\nproducts  {products}\nencoders  {chosen}\n",
        float_instructions()
    )
}
