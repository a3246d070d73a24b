//! The names of tables that can be reproduced.

use anyhow::Result;

use super::Values;
use riposte::judge::reproduce;

pub(super) fn values() -> Result<Vec<Values>> {
    Ok(vec![Values {
        command: Some("reproduce"),
        arg: "names",
        values: reproduce::names()?.into_iter().collect(),
    }])
}
