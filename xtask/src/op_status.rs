//! `cargo xtask op-status`: `docs/op-status.md`, which says of every op how far it is carried.
//!
//! The page is made from the self-checking programs and from what they do now, so it cannot claim more than is so. CI
//! compares it with the committed one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::Context;
use warpforge_hlo::op_names;

use crate::Verdict;
use crate::conformance::self_check::{self, Stages};
use crate::repository::root;

/// Whether the page is written or compared.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Compare with the committed page and leave it as it is.
    #[arg(long)]
    check: bool,
}

/// Every op with a row of its own: all but the ends of regions, which every program has, and calls beside them.
fn ops() -> BTreeSet<&'static str> {
    op_names().filter(|name| *name != "stablehlo.return").chain(["func.call"]).collect()
}

/// Writes or compares the page.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    if arguments.check { check() } else { write() }
}

/// Writes the page.
pub(crate) fn write() -> anyhow::Result<Verdict> {
    let path = root().join("docs/op-status.md");
    std::fs::write(&path, page()?).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(Verdict::Clean)
}

/// The gate: the committed page is what would be written.
pub(crate) fn check() -> anyhow::Result<Verdict> {
    let path = root().join("docs/op-status.md");
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let now = page()?;
    if committed == now {
        return Ok(Verdict::Clean);
    }
    let changed = now.lines().filter(|line| !committed.lines().any(|old| old == *line));
    for line in changed.take(10) {
        println!("  now: {line}");
    }
    println!("docs/op-status.md is not up to date: cargo xtask op-status");
    Ok(Verdict::Found)
}

fn page() -> anyhow::Result<String> {
    let mut stages = BTreeMap::new();
    for program in self_check::committed()? {
        let found = program.stages();
        let named = |op: &&str| *op == program.name || short(op) == program.name;
        if let Some(op) = ops().into_iter().find(|op| named(op) && found.ops.contains(*op)) {
            stages.insert(op.to_owned(), (program.name, found));
        }
    }
    Ok(render(&stages))
}

fn short(op: &str) -> &str {
    op.split_once('.').map_or(op, |(_, name)| name)
}

/// The page; `stages` has, by op, the name of its program and how far that got.
fn render(stages: &BTreeMap<String, (String, Stages)>) -> String {
    let mut text = String::from(
        "# Status of every op\n\n\
         Made by `cargo xtask op-status` from the programs in `tests/conformance` and from what they do; CI compares it.\n\
         *parse*: read, printed and read again. *verify*: the rules of its types hold. *reference*: the reference\n\
         interpreter computes what the program expects. *tests*: the self-checking program.\n\n",
    );
    let ops = ops();
    let done =
        |(_, found): &(String, Stages)| found.parses && found.verifies && found.computes.is_ok();
    let whole = ops.iter().filter(|op| stages.get(**op).is_some_and(done)).count();
    let _ = writeln!(text, "{whole} of {} ops have all four.\n", ops.len());
    text.push_str("| op | parse | verify | reference | tests |\n|---|---|---|---|---|\n");
    for op in ops {
        let Some((file, found)) = stages.get(op) else {
            let _ = writeln!(text, "| `{op}` | no | no | no | none |");
            continue;
        };
        let word = |yes: bool| if yes { "yes" } else { "no" };
        let _ = writeln!(
            text,
            "| `{op}` | {} | {} | {} | [{file}](../tests/conformance/{file}.mlir) |",
            word(found.parses),
            word(found.verifies),
            word(found.computes.is_ok()),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_program_is_said() {
        let text = render(&BTreeMap::new());
        assert!(text.contains("| `stablehlo.add` | no | no | no | none |"), "{text}");
        let found = Stages {
            parses: true,
            verifies: true,
            computes: Err("no".to_owned()),
            ops: BTreeSet::new(),
        };
        let text =
            render(&BTreeMap::from([("stablehlo.add".to_owned(), ("add".to_owned(), found))]));
        assert!(text.contains(
            "| `stablehlo.add` | yes | yes | no | [add](../tests/conformance/add.mlir) |"
        ));
    }
}
