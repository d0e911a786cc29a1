//! Times the matrix products of one BERT-large forward pass, called bare: packed weights, bias and GELU fused, attention's
//! products batched over heads; nothing between them. What a whole model takes beyond this is the engine's own.
//!
//! ```sh
//! cargo run --release -p warpforge-onednn --example bare -- [f32|bf16] [threads] [seconds]
//! ```
//!
//! Threads are pinned to the first CPUs the process may use. Printed are the best and the median time of a pass, and of
//! each product.
#![allow(unsafe_code, clippy::print_stdout)]

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use warpforge_onednn::{
    Argument, Attributes, DataType, Eltwise, Execution, MemoryDesc, Primitive, Threadpool, Threads,
    cpu_isa, matmul, reorder, version,
};

const LAYERS: usize = 24;
const ROWS: usize = 384;
const HIDDEN: usize = 1024;
const INNER: usize = 4096;
const HEADS: usize = 16;
const DEPTH: usize = HIDDEN / HEADS;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let data_type = match arguments.next().as_deref() {
        None | Some("f32") => DataType::F32,
        Some("bf16") => DataType::Bf16,
        Some(other) => return Err(format!("f32 or bf16, not {other}").into()),
    };
    let count = arguments.next().map_or(Ok(2), |text| text.parse())?;
    let seconds: f64 = arguments.next().map_or(Ok(10.0), |text| text.parse())?;
    let pool = Threadpool::new(Spinning::start(count)?)?;
    println!("oneDNN {:?}, {}, {data_type:?}, {count} threads", version(), cpu_isa());

    // Weights of every layer are their own memory, as in a model: 24 layers do not fit any cache.
    let mut layers = Vec::new();
    for _ in 0..LAYERS {
        layers.push(layer(data_type, count, &pool)?);
    }
    for product in &layers[0] {
        println!("  {}: {:?}", product.name, product.execution.primitive());
    }
    let mut passes = Vec::new();
    let mut parts = vec![Vec::new(); layers[0].len()];
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    while passes.len() < 3 || Instant::now() < end {
        let start = Instant::now();
        let mut times = vec![0.0; parts.len()];
        for products in &mut layers {
            for (product, time) in products.iter_mut().zip(&mut times) {
                let before = Instant::now();
                product.run(&pool)?;
                *time += before.elapsed().as_secs_f64() * 1e3;
            }
        }
        passes.push(start.elapsed().as_secs_f64() * 1e3);
        for (part, time) in parts.iter_mut().zip(times) {
            part.push(time);
        }
    }
    let flops: f64 = layers[0].iter().map(|product| product.flops).sum::<f64>() * LAYERS as f64;
    for (product, times) in layers[0].iter().zip(&mut parts) {
        report(product.name, times, product.flops * LAYERS as f64);
    }
    report("forward pass", &mut passes, flops);
    Ok(())
}

fn report(name: &str, times: &mut [f64], flops: f64) {
    times.sort_by(f64::total_cmp);
    let (best, median) = (times[0], times[times.len() / 2]);
    let rate = flops / best / 1e6;
    println!(
        "{name:24} best {best:8.2} ms, median {median:8.2} ms, best {rate:7.0} GFLOP/s ({} passes)",
        times.len()
    );
}

/// One product with memory of its own.
struct Product {
    name: &'static str,
    execution: Execution,
    buffers: Vec<Memory>,
    flops: f64,
}

impl Product {
    fn run(&mut self, pool: &Threadpool) -> Outcome<()> {
        let pointers: Vec<*mut u8> = self.buffers.iter_mut().map(Memory::pointer).collect();
        // SAFETY: each buffer has the bytes of its operand, and no two overlap.
        Ok(unsafe { self.execution.run(pool, &pointers) }?)
    }
}

fn layer(data_type: DataType, threads: usize, pool: &Threadpool) -> Outcome<Vec<Product>> {
    let attributes = Attributes::new().threads(threads);
    let gelu = attributes.clone().eltwise(Eltwise::GeluErf, 0.0, 0.0);
    let mut products = Vec::new();
    for name in ["queries", "keys", "values", "attention's output"] {
        products.push(dense(name, data_type, HIDDEN, HIDDEN, &attributes, pool)?);
    }
    products.push(dense("inner with GELU", data_type, HIDDEN, INNER, &gelu, pool)?);
    products.push(dense("outer", data_type, INNER, HIDDEN, &attributes, pool)?);
    // Heads lie inside rows, so that no transposition is needed before or after.
    let row = HIDDEN;
    let inside = MemoryDesc::strided(data_type, &[HEADS, ROWS, DEPTH], &[DEPTH, row, 1])?;
    let turned = MemoryDesc::strided(data_type, &[HEADS, DEPTH, ROWS], &[DEPTH, 1, row])?;
    let scores = MemoryDesc::row_major(data_type, &[HEADS, ROWS, ROWS])?;
    products.push(batched("scores", &inside, &turned, &scores, &attributes)?);
    products.push(batched("context", &scores, &inside, &inside, &attributes)?);
    Ok(products)
}

fn batched(
    name: &'static str,
    src: &MemoryDesc,
    weights: &MemoryDesc,
    dst: &MemoryDesc,
    attributes: &Attributes,
) -> Outcome<Product> {
    let primitive = Arc::new(matmul(src, weights, None, dst, attributes)?);
    let flops = 2.0 * (HEADS * ROWS * ROWS * DEPTH) as f64;
    let operands = [
        (Argument::Src, src.clone()),
        (Argument::Weights, weights.clone()),
        (Argument::Dst, dst.clone()),
    ];
    bound(name, &primitive, &operands, flops)
}

fn dense(
    name: &'static str,
    data_type: DataType,
    inputs: usize,
    outputs: usize,
    attributes: &Attributes,
    pool: &Threadpool,
) -> Outcome<Product> {
    let src = MemoryDesc::row_major(data_type, &[ROWS, inputs])?;
    let dst = MemoryDesc::row_major(data_type, &[ROWS, outputs])?;
    let bias = MemoryDesc::row_major(DataType::F32, &[1, outputs])?;
    let any = MemoryDesc::any(data_type, &[inputs, outputs])?;
    let primitive = Arc::new(matmul(&src, &any, Some(&bias), &dst, attributes)?);
    let weights = primitive.descriptor(Argument::Weights).ok_or("no weights")?;
    let operands = [
        (Argument::Src, src),
        (Argument::Weights, weights.clone()),
        (Argument::Bias, bias),
        (Argument::Dst, dst),
    ];
    let flops = 2.0 * (ROWS * inputs * outputs) as f64;
    let mut product = bound(name, &primitive, &operands, flops)?;
    // Weights as a model has them, `[outputs, inputs]`, packed once.
    let plain = MemoryDesc::strided(data_type, &[inputs, outputs], &[1, inputs])?;
    let pack =
        Arc::new(reorder(&plain, &weights, &Attributes::new().threads(primitive.threads()))?);
    let mut packing =
        bound("pack", &pack, &[(Argument::Src, plain), (Argument::Dst, weights)], 0.0)?;
    packing.run(pool)?;
    std::mem::swap(&mut packing.buffers[1], &mut product.buffers[1]);
    Ok(product)
}

fn bound(
    name: &'static str,
    primitive: &Arc<Primitive>,
    operands: &[(Argument, MemoryDesc)],
    flops: f64,
) -> Outcome<Product> {
    let mut operands = operands.to_vec();
    if let Some(scratchpad) = primitive.descriptor(Argument::Scratchpad) {
        operands.push((Argument::Scratchpad, scratchpad));
    }
    let buffers = operands
        .iter()
        .map(|(_, descriptor)| Memory::new(descriptor.bytes(), descriptor.data_type()))
        .collect();
    Ok(Product { name, execution: Execution::new(primitive, &operands)?, buffers, flops })
}

/// Memory aligned to a cache line, filled with small numbers of the type: zeros and denormals are computed at other
/// speeds.
struct Memory(Vec<Line>);

#[derive(Clone)]
#[repr(C, align(64))]
struct Line([u8; 64]);

impl Memory {
    fn new(bytes: usize, data_type: DataType) -> Self {
        let mut random = fastrand::Rng::with_seed(1);
        let mut line = || {
            let mut line = [0; 64];
            for element in line.chunks_mut(data_type.size().max(2)) {
                let number = (random.f32() - 0.5) * 0.1;
                let bytes = number.to_bits().to_le_bytes();
                element.copy_from_slice(&bytes[4 - element.len().min(4)..]);
            }
            Line(line)
        };
        Memory((0..bytes.div_ceil(64).max(1)).map(|_| line()).collect())
    }

    fn pointer(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// A pool for this measurement: pinned threads that spin for work between products, the caller one of them.
struct Spinning {
    count: usize,
    shared: Arc<Shared>,
    caller: std::thread::ThreadId,
}

struct Shared {
    /// Raised for each run.
    generation: AtomicU64,
    /// Where the reference to the body of the current run is.
    body: AtomicPtr<()>,
    tasks: AtomicUsize,
    finished: AtomicUsize,
}

impl Spinning {
    fn start(count: usize) -> Outcome<Arc<Self>> {
        let cpus: Vec<usize> = allowed_cpus()?;
        if count == 0 || count > cpus.len() {
            return Err(format!("{count} threads on {} CPUs", cpus.len()).into());
        }
        let shared = Arc::new(Shared {
            generation: AtomicU64::new(0),
            body: AtomicPtr::new(std::ptr::null_mut()),
            tasks: AtomicUsize::new(0),
            finished: AtomicUsize::new(0),
        });
        pin(cpus[0])?;
        for (index, cpu) in cpus.into_iter().enumerate().take(count).skip(1) {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || {
                // Without pinning the figures are only noisier.
                let _ = pin(cpu);
                let mut seen = 0;
                loop {
                    let generation = shared.generation.load(Ordering::Acquire);
                    if generation == seen {
                        std::hint::spin_loop();
                        continue;
                    }
                    seen = generation;
                    shared.work(index, count);
                    shared.finished.fetch_add(1, Ordering::Release);
                }
            });
        }
        Ok(Arc::new(Spinning { count, shared, caller: std::thread::current().id() }))
    }
}

impl Shared {
    /// Every `count`th task from `first` on.
    fn work(&self, first: usize, count: usize) {
        let body = self.body.load(Ordering::Relaxed).cast::<&(dyn Fn(usize) + Sync)>();
        // SAFETY: `run` keeps the reference there until every thread has finished.
        let body = unsafe { *body };
        for task in (first..self.tasks.load(Ordering::Relaxed)).step_by(count) {
            body(task);
        }
    }
}

impl Threads for Spinning {
    fn count(&self) -> usize {
        self.count
    }

    fn inside(&self) -> bool {
        std::thread::current().id() != self.caller
    }

    fn run(&self, tasks: usize, body: &(dyn Fn(usize) + Sync)) {
        let shared = &self.shared;
        shared.body.store((&raw const body).cast_mut().cast(), Ordering::Relaxed);
        shared.tasks.store(tasks, Ordering::Relaxed);
        shared.finished.store(0, Ordering::Relaxed);
        shared.generation.fetch_add(1, Ordering::Release);
        shared.work(0, self.count);
        while shared.finished.load(Ordering::Acquire) < self.count - 1 {
            std::hint::spin_loop();
        }
    }
}

fn allowed_cpus() -> Outcome<Vec<usize>> {
    let set = rustix::thread::sched_getaffinity(None)?;
    Ok((0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
}

fn pin(cpu: usize) -> Outcome<()> {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}
