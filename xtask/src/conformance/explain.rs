//! Who is right about a case: ours and XLA's results, each beside the other oracles'. What comes of it is written into
//! `arbitration.toml` by hand, or mended.

use std::collections::BTreeSet;

use warpforge_tensor::Tensor;

use super::case::{self, Case, Oracle};
use super::compare::{Allowed, compare};
use super::corpus::Corpus;
use super::judge::Judge;

const OTHERS: [(&str, Oracle); 3] =
    [("f64", Oracle::Wide), ("specification", Oracle::Second), ("mpmath", Oracle::Exact)];

/// Prints, for each case, how far ours and XLA's are from each other and from what the other oracles say.
pub(super) fn explain(corpus: &Corpus, judge: &Judge, cases: &[&Case]) -> anyhow::Result<()> {
    let names: BTreeSet<String> = cases.iter().map(|case| case.name.clone()).collect();
    if names.is_empty() {
        return Ok(());
    }
    for (_, oracle) in OTHERS {
        corpus.ask(oracle, &names)?;
    }
    for case in cases {
        let Ok(place) = &case.place else { continue };
        let Ok(computed) = judge.compute(place) else { continue };
        let said = |oracle| case::outputs(place, &computed.program, oracle).ok();
        let xla = said(Oracle::Xla);
        println!("{}", case.name);
        println!("  ours and XLA's: {}", apart(Some(&computed.outputs), xla.as_ref()));
        for (name, oracle) in OTHERS {
            let other = said(oracle);
            println!(
                "  {name}: ours {}, XLA's {}",
                apart(Some(&computed.outputs), other.as_ref()),
                apart(xla.as_ref(), other.as_ref())
            );
        }
    }
    Ok(())
}

/// The largest distance between any two results, in words.
fn apart(ours: Option<&Vec<Tensor>>, theirs: Option<&Vec<Tensor>>) -> String {
    let (Some(ours), Some(theirs)) = (ours, theirs) else { return "not to be had".to_owned() };
    let mut worst = 0.0_f64;
    for (ours, theirs) in ours.iter().zip(theirs) {
        match compare(ours, theirs, Allowed { ulps: 1.0, ..Allowed::NOTHING }) {
            Ok(found) => worst = worst.max(found.map_or(0.0, |difference| difference.ulps)),
            Err(reason) => return reason,
        }
    }
    format!("{worst:.3} ULP apart")
}
