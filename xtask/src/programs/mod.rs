//! `cargo xtask programs`: random programs in the production tier, beside the reference interpreter, both against the same
//! program computed in f64 (its shadow). Floats may be as far off as a few times the reference interpreter is; integers and
//! truth values must be the same bits.

mod generate;
mod judge;

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::Args;
use warpforge_engine::pool::{Placement, Pool};
use warpforge_engine::reference::{Interpreter, Value};
use warpforge_engine::{Executable, Options};
use warpforge_hlo::parse_verified;

use self::judge::{Largest, Worst, judge, longest_sum, shadow_of, widened};
use crate::Verdict;

/// Programs that continuous integration runs.
const IN_CI: u64 = 400;

/// Options of `cargo xtask programs`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// How many programs.
    #[arg(long, default_value = "5000")]
    count: u64,
    /// The first program's seed; each next has the next.
    #[arg(long, default_value = "1")]
    seed: u64,
    /// Print the program of the first seed and exit.
    #[arg(long)]
    show: bool,
}

/// Runs programs and reports.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    if arguments.show {
        println!("{}", generate::program(arguments.seed));
        return Ok(Verdict::Clean);
    }
    programs(arguments.seed, arguments.count)
}

/// The share of continuous integration.
pub(crate) fn check() -> anyhow::Result<Verdict> {
    programs(1, IN_CI)
}

fn programs(first: u64, count: u64) -> anyhow::Result<Verdict> {
    let started = Instant::now();
    let pools = [1, 2].map(|threads| Pool::new(threads, &Placement::Anywhere).map(Arc::new));
    let [one, two] = pools;
    let pools = [one?, two?];
    let mut worst = Worst::default();
    let mut wrong = 0;
    for seed in first..first + count {
        let pool = &pools[(seed % 2) as usize];
        match one_program(seed, pool, &mut worst) {
            Ok(()) => {}
            Err(error) => {
                wrong += 1;
                eprintln!("seed {seed}: {error:#}");
            }
        }
    }
    println!(
        "{count} programs from seed {first} in {:.1} s: {} float and {} other results, {wrong} wrong",
        started.elapsed().as_secs_f64(),
        worst.floats,
        worst.others
    );
    println!("{worst}");
    Ok(Verdict::clean_if(wrong == 0))
}

fn one_program(seed: u64, pool: &Arc<Pool>, worst: &mut Worst) -> anyhow::Result<()> {
    let text = generate::program(seed);
    let program = parse_verified(&text).with_context(|| format!("not a program:\n{text}"))?;
    let main = program.main().context("no main")?;
    let inputs: Vec<Value> = main
        .arguments
        .iter()
        .enumerate()
        .map(|(place, argument)| {
            warpforge_engine::interface::random_value(main.ty(argument.value), seed, place as u64)
        })
        .collect::<Result<_, _>>()?;
    let reference = Interpreter::new(&program).run(inputs.clone())?;
    let shadow = parse_verified(&shadow_of(&text)).context("no shadow")?;
    let wide = widened(&inputs)?;
    let shadow_main = shadow.main().context("no main")?;
    let mut largest = Largest::new(shadow_main, &wide);
    let exact = Interpreter::new(&shadow).observer(&mut largest).run(wide)?;
    let largest = largest.of_results(shadow_main);
    // Every other program has all inputs but the first fixed, as weights are.
    let mut options = Options::default();
    let mut open = inputs.clone();
    if seed.is_multiple_of(4) && inputs.len() > 1 {
        for (place, value) in inputs.iter().enumerate().skip(1) {
            if let Value::Tensor(tensor) = value {
                options.fixed.insert(place, tensor.clone());
            }
        }
        open.truncate(1);
    }
    let mut executable = Executable::compile(&program, Arc::clone(pool), &options)?;
    let found = executable.run(&open)?;
    ensure!(found.len() == reference.len(), "{} results, not {}", found.len(), reference.len());
    let terms = longest_sum(&program);
    for (place, ((found, reference), exact)) in found.iter().zip(&reference).zip(&exact).enumerate()
    {
        judge(seed, (terms, largest[place]), found, reference, exact, worst)
            .with_context(|| format!("result {place} of\n{text}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_program() {
        assert_eq!(generate::program(7), generate::program(7));
        assert_ne!(generate::program(7), generate::program(8));
    }

    #[test]
    fn a_few_programs_come_out_right() {
        assert!(programs(100, 20).unwrap() == Verdict::Clean);
    }
}
