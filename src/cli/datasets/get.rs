//! `datasets get`.

use anyhow::Result;
use clap::Args;

use super::DirArgs;
use crate::cli::{download_printer, print, print_json};
use riposte::datasets::{self, DatasetRequest, Datasets};

#[derive(Args)]
pub(in crate::cli) struct GetArgs {
    /// Names of data sets (`riposte datasets list` prints all), such as touche-2022-images; or their ids in ir_datasets
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    #[command(flatten)]
    dir: DirArgs,
    /// Also get this part, such as png for touche-2022-images; `all` means all parts. May be repeated
    #[arg(long = "part", value_name = "PART", value_delimiter = ',')]
    parts: Vec<String>,
    /// Get the files from this address or directory, which has each as NAME/FILE or as FILE, and not from their publishers
    #[arg(long, value_name = "URL|DIR")]
    mirror: Option<String>,
    /// Accept the licences of the data sets that ask for it
    #[arg(long)]
    accept_licence: bool,
    /// Print a JSON object for each data set
    #[arg(long)]
    json: bool,
    /// Print only the result
    #[arg(short, long)]
    quiet: bool,
}

/// `riposte datasets get`.
pub(super) fn get(args: &GetArgs) -> Result<u8> {
    let datasets = Datasets::at(args.dir.dir.as_deref())?;
    let asked = DatasetRequest {
        names: args.names.clone(),
        parts: args.parts.clone(),
        mirror: args.mirror.clone(),
        accept_licence: args.accept_licence,
    };
    let all = datasets::get(&datasets, &asked, &mut download_printer(args.quiet))?;
    for got in &all {
        if args.json {
            print_json(got)?;
        } else {
            print(got)?;
        }
    }
    let failed = all.iter().filter(|got| got.has_failed()).count();
    Ok(match failed {
        0 => 0,
        n if n < all.len() => 1,
        _ => 2,
    })
}
