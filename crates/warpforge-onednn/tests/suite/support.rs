//! What the tests share: threads, memory, conversions, and runs of one primitive.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use warpforge_onednn::{
    Argument, Attributes, DataType, Execution, MemoryDesc, Primitive, Threadpool, Threads, reorder,
};

/// Threads that are started for each run: slow, and enough for tests.
pub(crate) struct Scoped {
    pub(crate) count: usize,
    pub(crate) runs: AtomicUsize,
    /// The task that panics, if any.
    pub(crate) panics_at: Option<usize>,
}

thread_local! {
    static INSIDE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

impl Scoped {
    pub(crate) fn new(count: usize) -> Arc<Self> {
        Arc::new(Scoped { count, runs: AtomicUsize::new(0), panics_at: None })
    }
}

impl Threads for Scoped {
    fn count(&self) -> usize {
        self.count
    }

    fn inside(&self) -> bool {
        INSIDE.get()
    }

    fn run(&self, tasks: usize, body: &(dyn Fn(usize) + Sync)) {
        self.runs.fetch_add(1, Ordering::Relaxed);
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..self.count.min(tasks) {
                scope.spawn(|| {
                    INSIDE.set(true);
                    loop {
                        let task = next.fetch_add(1, Ordering::Relaxed);
                        if task >= tasks {
                            break;
                        }
                        assert_ne!(Some(task), self.panics_at, "a task that fails on purpose");
                        body(task);
                    }
                });
            }
        });
    }
}

pub(crate) const THREADS: usize = 2;

pub(crate) fn pool() -> Threadpool {
    Threadpool::new(Scoped::new(THREADS)).unwrap()
}

pub(crate) fn attributes() -> Attributes {
    Attributes::new().threads(THREADS)
}

/// Memory aligned to a cache line.
#[derive(Clone)]
#[repr(C, align(64))]
struct Line([u8; 64]);

#[derive(Clone)]
pub(crate) struct Buffer {
    lines: Vec<Line>,
}

impl Buffer {
    /// Filled with a pattern that shows when something was not written.
    pub(crate) fn new(bytes: usize) -> Self {
        Buffer { lines: vec![Line([0xc3; 64]); bytes.div_ceil(64).max(1)] }
    }

    pub(crate) fn pointer(&mut self) -> *mut u8 {
        self.lines.as_mut_ptr().cast()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: lines lie without gaps and are plain bytes.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.lines.len() * 64) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above.
        unsafe {
            std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.lines.len() * 64)
        }
    }
}

pub(crate) fn bf16(value: f64) -> u16 {
    let bits = (value as f32).to_bits();
    ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) as u16
}

fn write(data_type: DataType, value: f64, to: &mut [u8]) {
    match data_type {
        DataType::F32 => to.copy_from_slice(&(value as f32).to_le_bytes()),
        DataType::Bf16 => to.copy_from_slice(&bf16(value).to_le_bytes()),
        DataType::S32 => to.copy_from_slice(&(value as i32).to_le_bytes()),
        DataType::S8 => to.copy_from_slice(&(value as i8).to_le_bytes()),
        DataType::U8 => to.copy_from_slice(&(value as u8).to_le_bytes()),
        other => panic!("no values of {other:?} in tests"),
    }
}

fn read(data_type: DataType, from: &[u8]) -> f64 {
    match data_type {
        DataType::F32 => f64::from(f32::from_le_bytes(from.try_into().unwrap())),
        DataType::Bf16 => {
            let bits = u32::from(u16::from_le_bytes(from.try_into().unwrap())) << 16;
            f64::from(f32::from_bits(bits))
        }
        DataType::S32 => f64::from(i32::from_le_bytes(from.try_into().unwrap())),
        DataType::S8 => f64::from(from[0] as i8),
        DataType::U8 => f64::from(from[0]),
        other => panic!("no values of {other:?} in tests"),
    }
}

/// The index of each element in row-major order.
pub(crate) fn indices(dims: &[usize]) -> impl Iterator<Item = Vec<usize>> + '_ {
    (0..dims.iter().product::<usize>()).map(move |flat| {
        let mut rest = flat;
        let mut index = vec![0; dims.len()];
        for (place, dim) in index.iter_mut().zip(dims).rev() {
            *place = rest % dim;
            rest /= dim;
        }
        index
    })
}

fn offset(index: &[usize], strides: &[usize]) -> usize {
    index.iter().zip(strides).map(|(index, stride)| index * stride).sum()
}

/// Values in row-major order, put where the descriptor's strides say.
pub(crate) fn place(descriptor: &MemoryDesc, values: &[f64]) -> Buffer {
    let strides = descriptor.is_strided().unwrap();
    let size = descriptor.data_type().size();
    let mut buffer = Buffer::new(descriptor.bytes());
    for (index, value) in indices(descriptor.dims()).zip(values) {
        let at = offset(&index, &strides) * size;
        write(descriptor.data_type(), *value, &mut buffer.bytes_mut()[at..at + size]);
    }
    buffer
}

/// The values in row-major order.
pub(crate) fn values(descriptor: &MemoryDesc, buffer: &Buffer) -> Vec<f64> {
    let strides = descriptor.is_strided().unwrap();
    let size = descriptor.data_type().size();
    indices(descriptor.dims())
        .map(|index| {
            let at = offset(&index, &strides) * size;
            read(descriptor.data_type(), &buffer.bytes()[at..at + size])
        })
        .collect()
}

/// What the type can hold of the value.
pub(crate) fn rounded(data_type: DataType, value: f64) -> f64 {
    let mut bytes = [0; 8];
    write(data_type, value, &mut bytes[..data_type.size()]);
    read(data_type, &bytes[..data_type.size()])
}

/// Values between -1 and 1 that the type can hold exactly.
pub(crate) fn random(random: &mut fastrand::Rng, data_type: DataType, count: usize) -> Vec<f64> {
    let value = |random: &mut fastrand::Rng| match data_type {
        DataType::S8 => f64::from(random.i8(-100..=100)),
        DataType::U8 => f64::from(random.u8(0..=200)),
        DataType::S32 => f64::from(random.i32(-1000..=1000)),
        _ => rounded(data_type, random.f64() * 2.0 - 1.0),
    };
    (0..count).map(|_| value(random)).collect()
}

/// Runs a primitive once on operands; those that are absent from the list but needed for scratch are added.
pub(crate) fn run(
    primitive: &Arc<Primitive>,
    operands: &mut [(Argument, MemoryDesc, &mut Buffer)],
) {
    let mut bindings: Vec<(Argument, MemoryDesc)> =
        operands.iter().map(|(argument, descriptor, _)| (*argument, descriptor.clone())).collect();
    let mut scratchpad = Buffer::new(primitive.scratchpad_bytes());
    let mut pointers: Vec<*mut u8> =
        operands.iter_mut().map(|(_, _, buffer)| buffer.pointer()).collect();
    if let Some(descriptor) = primitive.descriptor(Argument::Scratchpad) {
        bindings.push((Argument::Scratchpad, descriptor));
        pointers.push(scratchpad.pointer());
    }
    let mut execution = Execution::new(primitive, &bindings).unwrap();
    for ((argument, bytes), (_, _, buffer)) in execution.operands().zip(operands.iter()) {
        assert!(
            bytes <= buffer.bytes().len(),
            "{argument:?} of {primitive:?} has too little memory"
        );
    }
    let pool = pool();
    // SAFETY: every buffer has its operand's bytes and is aligned, and no two overlap.
    unsafe { execution.run(&pool, &pointers) }.unwrap();
    // A second run with the same pointers takes the short way and gives the same, unless it adds to its output.
    drop(execution);
}

/// A tensor in the layout that a primitive chose.
pub(crate) fn packed(from: &MemoryDesc, buffer: &mut Buffer, to: &MemoryDesc) -> Buffer {
    let primitive = Arc::new(reorder(from, to, &attributes()).unwrap());
    let mut result = Buffer::new(to.bytes());
    run(
        &primitive,
        &mut [(Argument::Src, from.clone(), buffer), (Argument::Dst, to.clone(), &mut result)],
    );
    result
}

/// Fails unless each value is within `tolerance` times the largest magnitude, at least 1.
pub(crate) fn assert_close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(1.0_f64, |scale, value| scale.max(value.abs()));
    for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).abs() / scale;
        assert!(error <= tolerance, "{what}: element {place} is {found}, not {expected}");
    }
}

/// How far results of a type may be off, relative to the largest.
pub(crate) fn tolerance(data_type: DataType) -> f64 {
    match data_type {
        DataType::Bf16 => 1.0 / 256.0,
        DataType::F32 => 2e-6,
        _ => 0.0,
    }
}

/// The error function by its Taylor series, which is
/// enough for the small arguments of tests.
pub(crate) fn erf(x: f64) -> f64 {
    if x.abs() > 5.0 {
        return x.signum();
    }
    let (mut sum, mut term) = (x, x);
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

pub(crate) fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + erf(x / 2.0_f64.sqrt()))
}
