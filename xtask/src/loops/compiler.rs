//! Machine code of our own against what a compiler makes of the same passes, printed as C: how fast both run where memory does
//! not hold them up, and how long it takes to have them.
#![allow(unsafe_code)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use libloading::Library;
use warpforge_codegen::ir::LoopKernel;
use warpforge_codegen::printed::{FUNCTION, printed};
use warpforge_codegen::{Generated, Unsupported, Writes};
use warpforge_engine::reference::Value;
use warpforge_engine::{Options, interface, loops_of};
use warpforge_hlo::parse_verified;
use warpforge_tensor::{Shape, Tensor};

use super::measured;
use crate::measurement::{Goal, Row};

/// Bytes of a tensor: two or three of them stay in a cache of the second level.
pub(super) const TENSOR_BYTES: usize = 192 << 10;
/// Our code is as fast, up to what two runs of the same differ.
const AS_FAST: Goal = Goal::Minimum(0.95);
/// Vectors that a turn of a loop takes: the compiler's best counts.
const TURNS: [usize; 3] = [1, 2, 4];
/// How long a compiler may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A kernel, the memory it works on, and its result.
struct Work {
    kernel: LoopKernel,
    inputs: Vec<Tensor>,
    output: Vec<u64>,
}

impl Work {
    /// Seconds for a run, of the fastest of some.
    fn time(&mut self, code: &Generated) -> f64 {
        const SAMPLES: usize = 5;
        const RUNS: u32 = 40;
        let mut best = f64::INFINITY;
        for _ in 0..SAMPLES {
            let start = Instant::now();
            for _ in 0..RUNS {
                self.run(code);
            }
            best = best.min(start.elapsed().as_secs_f64() / f64::from(RUNS));
        }
        best
    }

    fn run(&mut self, code: &Generated) {
        let inputs: Vec<*const u8> =
            self.inputs.iter().map(|input| input.bytes().as_ptr()).collect();
        let outputs = [self.output.as_mut_ptr().cast::<u8>()];
        // SAFETY: inputs are of the program's types, the output has room for its result, and nobody else has either.
        unsafe { code.run_part(0..self.kernel.elements, &inputs, &outputs) };
    }

    /// What a run computes.
    fn result(&mut self, code: &Generated) -> anyhow::Result<Vec<f64>> {
        let dtype = self.kernel.outputs[0].dtype;
        self.run(code);
        let bytes: Vec<u8> = self.output.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let bytes = bytes[..self.kernel.elements * dtype.bytes()].to_vec();
        let shape = Shape::new([self.kernel.elements])?;
        Ok(Tensor::new(dtype, shape, bytes)?.floats()?)
    }
}

/// A function that a compiler made; the library has to stay as long as it.
struct Compiled {
    code: Generated,
    seconds: f64,
    vectors: usize,
    _library: Library,
}

/// Holds a program of one loop against the compiler; nothing where it cannot be printed.
pub(super) fn row(
    name: &str,
    text: &str,
    compiler: &str,
    rounds: usize,
) -> anyhow::Result<Option<Row>> {
    let program = parse_verified(text).map_err(|error| anyhow::anyhow!("{error}"))?;
    let kernels = loops_of(&program, &Options::default())?;
    let [kernel] = <[LoopKernel; 1]>::try_from(kernels)
        .map_err(|found| anyhow::anyhow!("{name}: {} loops, not one", found.len()))?;
    let arguments = interface::arguments(program.main().context("no function")?);
    let mut inputs = Vec::new();
    for (index, argument) in arguments.iter().enumerate() {
        let Value::Tensor(tensor) = interface::repeated_value(&argument.ty, 1, index as u64)?
        else {
            bail!("{name}: an input that is no tensor");
        };
        inputs.push(tensor);
    }
    let output = vec![0; (kernel.elements * kernel.outputs[0].dtype.bytes()).div_ceil(8)];
    let mut work = Work { kernel, inputs, output };
    let mut made = Duration::MAX;
    for _ in 0..20 {
        let start = Instant::now();
        drop(Generated::new(&work.kernel, Writes::Near)?);
        made = made.min(start.elapsed());
    }
    let ours = Generated::new(&work.kernel, Writes::Near)?;
    let folder = tempfile::tempdir()?;
    let mut theirs: Option<(f64, Compiled)> = None;
    for vectors in TURNS {
        let source = match printed(&work.kernel, vectors) {
            Ok(source) => source,
            Err(Unsupported(reason)) => {
                eprintln!("  cannot be printed: {reason}");
                return Ok(None);
            }
        };
        let compiled = compiled(&work.kernel, &source, vectors, compiler, folder.path())?;
        let (wanted, found) = (work.result(&ours)?, work.result(&compiled.code)?);
        let largest = wanted.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        let is_near =
            wanted.iter().zip(&found).all(|(one, other)| (one - other).abs() <= 1e-6 * largest);
        ensure!(is_near, "{name}: the compiler's function computes something else");
        let time = work.time(&compiled.code);
        if theirs.as_ref().is_none_or(|(best, _)| time < *best) {
            theirs = Some((time, compiled));
        }
    }
    let (_, theirs) = theirs.context("nothing was compiled")?;
    let (mut mine, mut its, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds.max(1) {
        let (one, other) = (work.time(&ours) * 1e6, work.time(&theirs.code) * 1e6);
        mine.push(one);
        its.push(other);
        ratios.push(other / one);
    }
    let note = format!(
        "made in {:.2} ms, by {compiler} in {:.0} ms; its best takes {} vectors in a turn",
        made.as_secs_f64() * 1e3,
        theirs.seconds * 1e3,
        theirs.vectors
    );
    Ok(Some(Row::new(name, AS_FAST, measured(&mine, &its, &ratios, "us", note))))
}

/// Has a function compiled for this machine, and loads it. What counts is LLVM's time alone: it is given the program that the
/// front end makes of C, as somebody would who uses it as a library.
fn compiled(
    kernel: &LoopKernel,
    source: &str,
    vectors: usize,
    compiler: &str,
    folder: &Path,
) -> anyhow::Result<Compiled> {
    let file = |ending: &str| folder.join(format!("kernel{vectors}.{ending}"));
    let [from, program, object, to] = ["c", "bc", "o", "so"].map(file);
    std::fs::write(&from, source)?;
    let usual = ["-O3", "-march=native", "-ffp-contract=off", "-fPIC"];
    let unoptimized = ["-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c"];
    call(compiler, &[&usual[..], &unoptimized].concat(), &from, &program)?;
    let seconds = call(compiler, &[&usual[..], &["-c"]].concat(), &program, &object)?;
    call(compiler, &["-shared"], &object, &to)?;
    // SAFETY: the file was just made of a function without initializers.
    let library = unsafe { Library::new(&to) }?;
    // SAFETY: the function was printed with this name and takes a frame.
    let function = unsafe { library.get::<extern "C" fn(*mut u64)>(FUNCTION) }?;
    // SAFETY: it was made of this kernel, and the library is kept as long.
    let code = unsafe { Generated::by(kernel, *function) }?;
    Ok(Compiled { code, seconds, vectors, _library: library })
}

/// Calls the compiler; seconds that it took.
fn call(compiler: &str, options: &[&str], from: &Path, to: &Path) -> anyhow::Result<f64> {
    let start = Instant::now();
    let mut child = Command::new(compiler)
        .args(options)
        .arg("-o")
        .args([to, from])
        .stdin(Stdio::null())
        .spawn()
        .with_context(|| format!("starting {compiler}; is it installed?"))?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if start.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            bail!("{compiler} took more than {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    ensure!(status.success(), "{compiler} failed: {status}");
    Ok(start.elapsed().as_secs_f64())
}
