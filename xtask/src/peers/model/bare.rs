//! `cargo xtask bare-products`: a program's matrix products called one after the other on the vendor library, and nothing
//! else. What a whole model can reach at most by calling that library; a side of `peers model` that speaks its lines.
//!
//! The products come from the program's text. Every occurrence has operands of its own, as in the model, so that weights
//! come from memory and not from a cache that a repeated product would warm.

use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;
use serde_json::json;
use warpforge_hlo::parse_verified;

use super::products::{self, Product};
use crate::Verdict;

/// Options of `cargo xtask bare-products`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The program, as exported.
    program: PathBuf,
    /// In what the products are computed: f32 or bf16.
    #[arg(long, default_value = "f32", value_parser = ["f32", "bf16"])]
    precision: String,
    /// Threads of the library.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Which way of calling, by its number in the list.
    #[arg(long, default_value_t = 0)]
    configuration: usize,
    /// Answer lines: `run` with nanoseconds.
    #[arg(long)]
    serve: bool,
}

/// One way of calling the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Configuration {
    /// Products of the same left side are one call.
    pub(crate) merged: bool,
    /// Weights are stored once in the layout the library asks for.
    pub(crate) packed: bool,
    /// Bias, activation and residual are part of the call; otherwise they are left out.
    pub(crate) fused: bool,
    /// Each thread stays on its CPU.
    pub(crate) pinned: bool,
}

const fn configuration(merged: bool, packed: bool, fused: bool, pinned: bool) -> Configuration {
    Configuration { merged, packed, fused, pinned }
}

/// Every way that is tried; the best one is the bare side.
pub(crate) const CONFIGURATIONS: &[Configuration] = &[
    configuration(false, true, true, true),
    configuration(true, true, true, true),
    configuration(false, true, true, false),
    configuration(true, true, true, false),
    configuration(false, false, true, true),
    configuration(true, false, true, true),
    configuration(false, true, false, true),
    configuration(true, true, false, true),
    configuration(false, false, false, true),
    configuration(true, false, false, false),
];

impl Configuration {
    /// For people.
    pub(crate) fn name(self) -> String {
        let words = [
            if self.merged { "products of one input merged" } else { "products apart" },
            if self.packed { "packed weights" } else { "plain weights" },
            if self.fused { "post-ops" } else { "no post-ops" },
            if self.pinned { "pinned" } else { "not pinned" },
        ];
        words.join(", ")
    }
}

/// A product that is ready to be called.
pub(crate) type Call = Box<dyn FnMut() -> anyhow::Result<()>>;

/// What calls products: the vendor library, or a stand-in for tests.
pub(crate) trait Library {
    /// Its name and version.
    fn version(&self) -> String;

    /// Makes one product ready, with operands of its own.
    fn prepare(
        &self,
        product: &Product,
        precision: &str,
        configuration: Configuration,
    ) -> anyhow::Result<Call>;
}

/// The library this program is built with.
#[cfg(feature = "onednn")]
fn library(threads: usize, pinned: bool) -> anyhow::Result<Box<dyn Library>> {
    Ok(Box::new(super::onednn_calls::Onednn::new(threads, pinned)?))
}

/// The library this program is built without.
#[cfg(not(feature = "onednn"))]
fn library(_threads: usize, _pinned: bool) -> anyhow::Result<Box<dyn Library>> {
    anyhow::bail!("this was built without the vendor library (feature `onednn`)")
}

/// Lists the products, or serves them.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let text = std::fs::read_to_string(&arguments.program)
        .with_context(|| format!("cannot read {}", arguments.program.display()))?;
    let found = products::derive(&parse_verified(&text)?)?;
    let configuration = CONFIGURATIONS.get(arguments.configuration).copied();
    let configuration = configuration.with_context(|| {
        format!("no configuration {}; there are {}", arguments.configuration, CONFIGURATIONS.len())
    })?;
    let products: Vec<Product> = if configuration.merged {
        products::merged(&found)
    } else {
        found.iter().map(|occurrence| occurrence.product).collect()
    };
    if !arguments.serve {
        let gflop = products.iter().map(Product::flops).sum::<f64>() / 1e9;
        println!("{} products, {gflop:.1} GFLOP ({})", products.len(), configuration.name());
        for (product, count) in products::counted(products) {
            println!("{count:>5} of {product}");
        }
        for (number, configuration) in CONFIGURATIONS.iter().enumerate() {
            println!("configuration {number}: {}", configuration.name());
        }
        return Ok(Verdict::Clean);
    }
    let library = library(arguments.threads, configuration.pinned)?;
    let served = Served::new(&*library, &products, &arguments.precision, configuration)?;
    served.serve(&mut std::io::stdin().lock(), &mut std::io::stdout())?;
    Ok(Verdict::Clean)
}

/// Products that are ready, in the order of the program.
struct Served {
    about: serde_json::Value,
    calls: Vec<Call>,
}

impl Served {
    fn new(
        library: &dyn Library,
        products: &[Product],
        precision: &str,
        configuration: Configuration,
    ) -> anyhow::Result<Self> {
        let calls = products
            .iter()
            .map(|product| {
                let prepared = library.prepare(product, precision, configuration);
                prepared.with_context(|| format!("{product}"))
            })
            .collect::<anyhow::Result<Vec<Call>>>()?;
        let about = json!({
            "engine": library.version(),
            "products": calls.len(),
            "precision": precision,
            "configuration": configuration.name(),
        });
        Ok(Self { about, calls })
    }

    fn pass(&mut self) -> anyhow::Result<u128> {
        let start = Instant::now();
        for call in &mut self.calls {
            call()?;
        }
        Ok(start.elapsed().as_nanos().max(1))
    }

    /// Warms up and answers until the end of input.
    fn serve(mut self, input: &mut dyn BufRead, output: &mut dyn Write) -> anyhow::Result<()> {
        for _ in 0..3 {
            self.pass()?;
        }
        writeln!(output, "ready {}", self.about)?;
        output.flush()?;
        for line in input.lines() {
            let answer = match line?.trim() {
                "run" => match self.pass() {
                    Ok(ns) => ns.to_string(),
                    Err(error) => format!("error {error:#}").replace('\n', " "),
                },
                "quit" => break,
                other => format!("error the bare products do not know {other:?}"),
            };
            writeln!(output, "{answer}")?;
            output.flush()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeSet;
    use std::rc::Rc;

    use super::*;

    struct Counting(Rc<Cell<usize>>);

    impl Library for Counting {
        fn version(&self) -> String {
            "counting 1".to_owned()
        }

        fn prepare(&self, product: &Product, _: &str, _: Configuration) -> anyhow::Result<Call> {
            anyhow::ensure!(product.k > 0, "nothing to sum");
            let calls = self.0.clone();
            Ok(Box::new(move || {
                calls.set(calls.get() + 1);
                Ok(())
            }))
        }
    }

    fn product(k: u64) -> Product {
        let (batch, m, n) = (1, 2, 3);
        let (weights, bias, residual) = (true, false, false);
        Product { batch, m, n, k, weights, bias, activation: None, residual }
    }

    #[test]
    fn every_product_is_called_in_each_run() {
        let calls = Rc::new(Cell::new(0));
        let library = Counting(calls.clone());
        let products = [product(4), product(4)];
        let served = Served::new(&library, &products, "f32", CONFIGURATIONS[0]).unwrap();
        let mut output = Vec::new();
        served.serve(&mut "run\noutputs x\nquit\nrun\n".as_bytes(), &mut output).unwrap();
        let output = String::from_utf8(output).unwrap();
        let lines: Vec<&str> = output.lines().collect();
        assert!(lines[0].starts_with("ready {") && lines[0].contains("counting 1"), "{output}");
        assert!(lines[1].parse::<u64>().unwrap() > 0);
        assert!(lines[2].starts_with("error "), "{output}");
        assert_eq!((lines.len(), calls.get()), (3, 2 * 4));
        let error = Served::new(&library, &[product(0)], "f32", CONFIGURATIONS[0]);
        assert!(error.err().unwrap().to_string().contains("[2 x 3 x 0]"));
    }

    #[test]
    fn at_least_eight_ways_are_tried() {
        let names: BTreeSet<String> = CONFIGURATIONS.iter().map(|each| each.name()).collect();
        assert!(names.len() >= 8 && names.len() == CONFIGURATIONS.len());
        assert!(CONFIGURATIONS.iter().any(|each| each.merged));
    }
}
