//! Kernels by their code against the same in f64: functions, chains, rows with reductions, lines of every length.
#![cfg(all(feature = "x86", target_arch = "x86_64", unix))]
#![allow(unsafe_code, clippy::unwrap_used, clippy::needless_range_loop)]

use warpforge_codegen::ir::{
    Access, Extent, Instruction, LoopKernel, Number, Operand, OutputInfo, Place, Register,
    RegisterInfo,
};
use warpforge_codegen::{Generated, Writes};
use warpforge_hlo::ir::{Binary, Direction, Unary};
use warpforge_tensor::DType;

/// A kernel in the making.
struct Builder {
    kernel: LoopKernel,
}

impl Builder {
    fn new(elements: usize, row: Option<usize>) -> Self {
        let kernel = LoopKernel {
            elements,
            row,
            width: None,
            inputs: Vec::new(),
            outputs: Vec::new(),
            registers: Vec::new(),
            slots: Vec::new(),
            code: Vec::new(),
        };
        Self { kernel }
    }

    fn register(&mut self, number: Number, extent: Extent) -> Register {
        let place = Place::Slot(0);
        self.kernel.registers.push(RegisterInfo { number, extent, place });
        Register(self.kernel.registers.len() - 1)
    }

    fn load(&mut self, dtype: DType, dimensions: &[(usize, isize)]) -> Operand {
        let operand = self.kernel.inputs.len();
        self.kernel.inputs.push(Access::new(operand, dtype, dimensions.to_vec(), 0));
        let to = self.register(Number::of(dtype).unwrap(), Extent::Element);
        self.kernel.code.push(Instruction::Load { input: operand, to });
        Operand::Register(to)
    }

    fn unary(&mut self, op: Unary, from: Operand) -> Operand {
        let extent = self.extent(from);
        let to = self.register(Number::F32, extent);
        self.kernel.code.push(Instruction::Unary { op, short: false, from, to });
        Operand::Register(to)
    }

    fn extent(&self, operand: Operand) -> Extent {
        match operand {
            Operand::Register(register) => self.kernel.registers[register.0].extent,
            Operand::Immediate(_) => Extent::Row,
        }
    }

    fn binary(&mut self, op: Binary, a: Operand, b: Operand) -> Operand {
        let element = [a, b].iter().any(|operand| self.extent(*operand) == Extent::Element);
        let extent = if element { Extent::Element } else { Extent::Row };
        let to = self.register(Number::F32, extent);
        self.kernel.code.push(Instruction::Binary { op, a, b, to });
        Operand::Register(to)
    }

    fn reduce(&mut self, op: Binary, initial: f32, from: Operand) -> Operand {
        let Operand::Register(from) = from else { panic!("a register") };
        let to = self.register(Number::F32, Extent::Row);
        self.kernel.code.push(Instruction::Reduce { op, initial: number(initial), from, to });
        Operand::Register(to)
    }

    fn store(&mut self, from: Operand, dtype: DType) {
        let extent = self.extent(from);
        self.kernel.outputs.push(OutputInfo { dtype, extent });
        let output = self.kernel.outputs.len() - 1;
        let number = Number::of(dtype).unwrap();
        self.kernel.code.push(Instruction::Store { from, number, output });
    }
}

fn number(value: f32) -> Operand {
    Operand::Immediate(u64::from(value.to_bits()))
}

/// Runs a kernel of f32, cut as the test wishes.
fn run(kernel: &LoopKernel, inputs: &[&[f32]], out: &mut [f32], cuts: &[usize]) {
    let code = Generated::new(kernel, Writes::Near).unwrap();
    let inputs: Vec<*const u8> = inputs.iter().map(|input| input.as_ptr().cast()).collect();
    let mut start = 0;
    for end in cuts.iter().copied().chain([kernel.elements]) {
        // SAFETY: the tests hand over what their kernels read and write.
        unsafe { code.run_part(start..end, &inputs, &[out.as_mut_ptr().cast()]) };
        start = end;
    }
}

fn has_code() -> bool {
    let mut builder = Builder::new(1, None);
    let x = builder.load(DType::F32, &[(1, 1)]);
    builder.store(x, DType::F32);
    match Generated::new(&builder.kernel, Writes::Near) {
        Ok(_) => true,
        Err(reason) => {
            assert!(reason.to_string().contains("processor"), "{reason}");
            false
        }
    }
}

fn randoms(count: usize, seed: u64) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..count).map(|_| random.f32() * 8.0 - 4.0).collect()
}

/// Units of the last place between a number and what it should be.
fn error(found: f32, wanted: f64) -> f64 {
    let rounded = wanted as f32;
    if found.is_nan() && rounded.is_nan() || found == rounded {
        return 0.0;
    }
    if !rounded.is_finite() || found.is_nan() {
        return f64::INFINITY;
    }
    if rounded == 0.0 && f64::from(found).abs() < 1e-37 {
        return 0.0;
    }
    let size = rounded.abs().max(f32::MIN_POSITIVE);
    let unit = f64::from(f32::from_bits(size.to_bits() + 1)) - f64::from(size);
    (f64::from(found) - wanted).abs() / unit
}

#[test]
fn functions_are_within_two_units() {
    if !has_code() {
        return;
    }
    let mut xs: Vec<f32> =
        (0..1_u32 << 20).map(|at| f32::from_bits(at.wrapping_mul(4093))).collect();
    xs.extend([0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-40, -1e-40]);
    type Exact = fn(f64) -> f64;
    let logistic: Exact = |x| {
        let power = libm::exp(-x.abs());
        if x >= 0.0 { 1.0 / (1.0 + power) } else { power / (1.0 + power) }
    };
    let rows: [(Unary, Exact); 13] = [
        (Unary::Exponential, libm::exp),
        (Unary::ExponentialMinusOne, libm::expm1),
        (Unary::Log, libm::log),
        (Unary::Tanh, libm::tanh),
        (Unary::ChloErf, libm::erf),
        (Unary::Logistic, logistic),
        (Unary::Sqrt, libm::sqrt),
        (Unary::Rsqrt, |x| 1.0 / libm::sqrt(x)),
        (Unary::Floor, libm::floor),
        (Unary::Ceil, libm::ceil),
        (Unary::RoundNearestEven, libm::rint),
        (Unary::Abs, libm::fabs),
        (Unary::Negate, |x| -x),
    ];
    for (op, exact) in rows {
        let mut builder = Builder::new(xs.len(), None);
        let x = builder.load(DType::F32, &[(xs.len(), 1)]);
        let y = builder.unary(op, x);
        builder.store(y, DType::F32);
        let mut out = vec![0.0; xs.len()];
        run(&builder.kernel, &[&xs], &mut out, &[]);
        let mut worst = (0.0, 0.0, 0.0);
        for (x, found) in xs.iter().zip(&out) {
            let error = error(*found, exact(f64::from(*x)));
            if error > worst.0 {
                worst = (error, *x, *found);
            }
        }
        assert!(worst.0 <= 2.0, "{}: {worst:?}", op.name());
    }
}

#[test]
fn chains_over_lines_of_every_length() {
    if !has_code() {
        return;
    }
    for (rows, columns) in [(1, 1), (1, 15), (1, 16), (1, 33), (7, 16), (5, 31), (3, 64), (4, 1000)]
    {
        let count = rows * columns;
        let mut builder = Builder::new(count, None);
        let x = builder.load(DType::F32, &[(count, 1)]);
        let bias = builder.load(DType::F32, &[(rows, 0), (columns, 1)]);
        let each = builder.load(DType::F32, &[(rows, 1), (columns, 0)]);
        let doubled = builder.binary(Binary::Multiply, x, number(2.0));
        let sum = builder.binary(Binary::Add, doubled, bias);
        let product = builder.binary(Binary::Multiply, sum, each);
        let relu = builder.binary(Binary::Maximum, product, number(0.0));
        builder.store(relu, DType::F32);
        let (x, bias, each) = (randoms(count, 1), randoms(columns, 2), randoms(rows, 3));
        for cuts in [vec![], vec![count / 3], vec![count / 4, count / 2]] {
            let mut out = vec![f32::NAN; count + 1];
            run(&builder.kernel, &[&x, &bias, &each], &mut out, &cuts);
            for row in 0..rows {
                for column in 0..columns {
                    let at = row * columns + column;
                    let wanted = ((x[at] * 2.0 + bias[column]) * each[row]).max(0.0);
                    assert_eq!(out[at], wanted, "{rows} x {columns} at {row}, {column}");
                }
            }
            assert!(out[count].is_nan(), "nothing is written beyond the end");
        }
    }
}

#[test]
fn rows_are_reduced_and_used_again() {
    if !has_code() {
        return;
    }
    for (rows, columns) in [(1, 1), (3, 15), (4, 16), (5, 47), (2, 1024), (6, 130)] {
        let count = rows * columns;
        // A layer norm and a softmax of it.
        let mut builder = Builder::new(count, Some(columns));
        let x = builder.load(DType::F32, &[(count, 1)]);
        let weight = builder.load(DType::F32, &[(rows, 0), (columns, 1)]);
        let share = number(1.0 / columns as f32);
        let sum = builder.reduce(Binary::Add, 0.0, x);
        let mean = builder.binary(Binary::Multiply, sum, share);
        let centred = builder.binary(Binary::Subtract, x, mean);
        let square = builder.binary(Binary::Multiply, centred, centred);
        let squares = builder.reduce(Binary::Add, 0.0, square);
        let variance = builder.binary(Binary::Multiply, squares, share);
        let shifted = builder.binary(Binary::Add, variance, number(1e-5));
        let factor = builder.unary(Unary::Rsqrt, shifted);
        let normal = builder.binary(Binary::Multiply, centred, factor);
        let weighted = builder.binary(Binary::Multiply, normal, weight);
        let Operand::Register(from) = weighted else { panic!("a register") };
        let to = builder.register(Number::F32, Extent::Element);
        builder.kernel.code.push(Instruction::Softmax { from, scale: 0.5, added: None, to });
        builder.store(Operand::Register(to), DType::F32);
        let (x, weight) = (randoms(count, 4), randoms(columns, 5));
        let mut out = vec![f32::NAN; count];
        run(&builder.kernel, &[&x, &weight], &mut out, &[count / columns / 2 * columns]);
        for (x, out) in x.chunks(columns).zip(out.chunks(columns)) {
            let x: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
            let mean = x.iter().sum::<f64>() / columns as f64;
            let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / columns as f64;
            let normal: Vec<f64> = x
                .iter()
                .zip(&weight)
                .map(|(x, w)| 0.5 * (x - mean) / (variance + 1e-5).sqrt() * f64::from(*w))
                .collect();
            let greatest = normal.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = normal.iter().map(|x| (x - greatest).exp()).sum();
            for (found, x) in out.iter().zip(&normal) {
                let wanted = (x - greatest).exp() / total;
                assert!(
                    (f64::from(*found) - wanted).abs() <= 2e-6 * wanted.max(1e-3),
                    "{found} {wanted}"
                );
            }
        }
    }
}

#[test]
fn a_softmax_that_is_rounded() {
    if !has_code() {
        return;
    }
    for (rows, columns) in [(1, 1), (3, 15), (4, 16), (5, 47), (2, 1024), (6, 130), (1, 20_000)] {
        let count = rows * columns;
        let mut builder = Builder::new(count, Some(columns));
        let x = builder.load(DType::F32, &[(count, 1)]);
        let mask = builder.load(DType::F32, &[(rows, 0), (columns, 1)]);
        let (Operand::Register(from), Operand::Register(added)) = (x, mask) else {
            panic!("registers")
        };
        let to = builder.register(Number::F32, Extent::Element);
        let added = Some(added);
        builder.kernel.code.push(Instruction::Softmax { from, scale: 3.0, added, to });
        builder.store(Operand::Register(to), DType::BF16);
        let code = Generated::new(&builder.kernel, Writes::Near).unwrap();
        let mut x = randoms(count, 8);
        let mut mask = vec![0.0; columns];
        for (at, mask) in mask.iter_mut().enumerate().skip(1) {
            *mask = [0.0, f32::NEG_INFINITY, -1e9, -90.0, 0.0][at % 5];
        }
        let mut narrow = vec![0_u16; count];
        let mut run = |x: &[f32]| {
            let inputs = [x.as_ptr().cast::<u8>(), mask.as_ptr().cast()];
            // SAFETY: as many elements as the kernel has.
            unsafe { code.run_part(0..count, &inputs, &[narrow.as_mut_ptr().cast()]) };
            narrow.iter().map(|bits| f32::from_bits(u32::from(*bits) << 16)).collect::<Vec<_>>()
        };
        for (x, found) in x.chunks(columns).zip(run(&x).chunks(columns)) {
            let sums: Vec<f64> =
                x.iter().zip(&mask).map(|(x, mask)| f64::from(3.0 * x + mask)).collect();
            let greatest = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = sums.iter().map(|x| (x - greatest).exp()).sum();
            for (found, x) in found.iter().zip(&sums) {
                let wanted = (x - greatest).exp() / total;
                let off = (f64::from(*found) - wanted).abs();
                assert!(off <= wanted / 255.0 + 1e-37, "{found} {wanted}");
                assert!(*x > greatest - 100.0 || *found == 0.0, "{found} {wanted}");
            }
        }
        // A row with what is no number, and the others, which stay.
        x[count - 1] = f32::NAN;
        let found = run(&x);
        assert!(found[count - columns..].iter().all(|x| x.is_nan()));
        assert!(found[..count - columns].iter().all(|x| !x.is_nan()));
    }
}

#[test]
fn what_is_no_number_stays_in_extremes() {
    if !has_code() {
        return;
    }
    for at in [0, 5, 16, 39] {
        let mut builder = Builder::new(40, Some(40));
        let x = builder.load(DType::F32, &[(40, 1)]);
        let most = builder.reduce(Binary::Maximum, f32::NEG_INFINITY, x);
        builder.store(most, DType::F32);
        let mut x = randoms(40, 6);
        let mut out = [0.0];
        run(&builder.kernel, &[&x], &mut out, &[]);
        assert_eq!(out[0], x.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        x[at] = f32::NAN;
        run(&builder.kernel, &[&x], &mut out, &[]);
        assert!(out[0].is_nan(), "at {at}");
    }
}

#[test]
fn narrow_numbers_and_truth_values() {
    if !has_code() {
        return;
    }
    let count = 77;
    let mut builder = Builder::new(count, None);
    let x = builder.load(DType::BF16, &[(count, 1)]);
    let y = builder.load(DType::F16, &[(count, 1)]);
    let sum = builder.binary(Binary::Add, x, y);
    let positive = builder.register(Number::Bool, Extent::Element);
    builder.kernel.code.push(Instruction::Compare {
        direction: Direction::Gt,
        number: Number::F32,
        a: sum,
        b: number(0.0),
        to: positive,
    });
    let chosen = builder.register(Number::F32, Extent::Element);
    let predicate = Operand::Register(positive);
    builder.kernel.code.push(Instruction::Select { predicate, a: sum, b: x, to: chosen });
    builder.store(Operand::Register(chosen), DType::BF16);
    builder.store(predicate, DType::I1);
    builder.store(sum, DType::F16);
    let mut random = fastrand::Rng::with_seed(7);
    let wide: Vec<f32> = (0..count).map(|_| random.f32() * 4.0 - 2.0).collect();
    let x: Vec<u16> = wide.iter().map(|x| (x.to_bits() >> 16) as u16).collect();
    // Halves of small integers are exact in f16.
    let halves: Vec<u16> = (0..count).map(|_| 0x3c00 + 0x100 * random.u16(0..4)).collect();
    let half = |bits: u16| 1.0 + f32::from(bits - 0x3c00) / 1024.0;
    let code = Generated::new(&builder.kernel, Writes::Near).unwrap();
    let (mut narrow, mut truth, mut f16) =
        (vec![0_u16; count], vec![9_u8; count], vec![0_u16; count]);
    let inputs = [x.as_ptr().cast::<u8>(), halves.as_ptr().cast()];
    let outputs =
        [narrow.as_mut_ptr().cast::<u8>(), truth.as_mut_ptr().cast(), f16.as_mut_ptr().cast()];
    // SAFETY: as many elements as the kernel has.
    unsafe { code.run_part(0..count, &inputs, &outputs) };
    for at in 0..count {
        let x = f32::from_bits(u32::from(x[at]) << 16);
        let sum = x + half(halves[at]);
        assert_eq!(truth[at], u8::from(sum > 0.0));
        let chosen = if sum > 0.0 { sum } else { x };
        let found = f32::from_bits(u32::from(narrow[at]) << 16);
        assert!((found - chosen).abs() <= chosen.abs() / 256.0, "{found} {chosen}");
    }
}

#[test]
fn one_truth_value_for_a_row() {
    if !has_code() {
        return;
    }
    let (rows, width) = (5, 37);
    let mut builder = Builder::new(rows * width, None);
    let chosen = builder.load(DType::I1, &[(rows, 1), (width, 0)]);
    let a = builder.load(DType::F32, &[(rows * width, 1)]);
    let b = builder.load(DType::F32, &[(rows * width, 1)]);
    let to = builder.register(Number::F32, Extent::Element);
    builder.kernel.code.push(Instruction::Select { predicate: chosen, a, b, to });
    builder.store(Operand::Register(to), DType::F32);
    // Whatever is not 0 is true.
    let chosen = [1_u8, 0, 1, 255, 0];
    let (a, b) = (randoms(rows * width, 1), randoms(rows * width, 2));
    let mut out = vec![0.0_f32; rows * width];
    let code = Generated::new(&builder.kernel, Writes::Near).unwrap();
    let inputs = [chosen.as_ptr(), a.as_ptr().cast(), b.as_ptr().cast()];
    // SAFETY: as many elements as the kernel has.
    unsafe { code.run_part(0..rows * width, &inputs, &[out.as_mut_ptr().cast()]) };
    for at in 0..rows * width {
        assert_eq!(out[at], if chosen[at / width] == 0 { b[at] } else { a[at] }, "at {at}");
    }
}

/// Code for what does not stay in caches computes the same bits, in both widths of a result, in rows and without, whatever
/// the place it writes to.
#[test]
fn past_the_caches_the_numbers_are_the_same() {
    if !has_code() {
        return;
    }
    const ELEMENTS: usize = 4096;
    let input = randoms(ELEMENTS, 11);
    for (dtype, row) in [
        (DType::F32, None),
        (DType::BF16, None),
        (DType::F32, Some(64)),
        (DType::BF16, Some(512)),
        (DType::F32, Some(ELEMENTS)),
    ] {
        let mut builder = Builder::new(ELEMENTS, row);
        let x = builder.load(DType::F32, &[(ELEMENTS, 1)]);
        let mut value = builder.binary(Binary::Multiply, x, x);
        if row.is_some() {
            let sum = builder.reduce(Binary::Add, 0.0, value);
            value = builder.binary(Binary::Divide, x, sum);
        }
        builder.store(value, dtype);
        let bytes = ELEMENTS * dtype.bytes();
        // The first place is one for whole vectors, the others are not.
        let computed = |writes: Writes, shift: usize| {
            let code = Generated::new(&builder.kernel, writes).unwrap();
            let mut room = vec![0_u8; bytes + 128];
            let first = room.as_ptr().align_offset(64) + shift;
            let inputs = [input.as_ptr().cast::<u8>()];
            // SAFETY: the room has as many bytes behind its first place.
            unsafe { code.run_part(0..ELEMENTS, &inputs, &[room.as_mut_ptr().add(first)]) };
            room[first..first + bytes].to_vec()
        };
        let plain = computed(Writes::Near, 0);
        for writes in [Writes::Past, Writes::Through] {
            for shift in [0, 4, 32] {
                assert!(
                    computed(writes, shift) == plain,
                    "{dtype:?} in rows of {row:?}, {shift} bytes on, {writes:?}"
                );
            }
        }
    }
}

/// Vectors are gathered several at a time, then one at a time, then what is left: whatever a row's length, nothing is lost.
#[test]
fn rows_of_every_length_are_gathered() {
    if !has_code() {
        return;
    }
    const ROWS: usize = 3;
    for columns in (1..200).chain([1000, 1024, 1037]) {
        let count = ROWS * columns;
        let x = randoms(count, columns as u64);
        let exact: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
        type Make = fn(&mut Builder, Operand) -> Operand;
        type Exact = fn(&[f64]) -> f64;
        let rows: [(Make, Exact); 5] = [
            (|b, x| b.reduce(Binary::Add, 0.5, x), |x| x.iter().sum::<f64>() + 0.5),
            (
                |b, x| {
                    let square = b.binary(Binary::Multiply, x, x);
                    b.reduce(Binary::Add, 0.0, square)
                },
                |x| x.iter().map(|x| x * x).sum(),
            ),
            (
                |b, x| {
                    let twice = b.binary(Binary::Add, x, x);
                    b.reduce(Binary::Add, 0.0, twice)
                },
                |x| x.iter().map(|x| x + x).sum(),
            ),
            (
                |b, x| b.reduce(Binary::Maximum, f32::NEG_INFINITY, x),
                |x| x.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            ),
            (|b, x| b.reduce(Binary::Minimum, 3.0, x), |x| x.iter().copied().fold(3.0, f64::min)),
        ];
        for (at, (make, wanted)) in rows.into_iter().enumerate() {
            let mut builder = Builder::new(count, Some(columns));
            let loaded = builder.load(DType::F32, &[(count, 1)]);
            let made = make(&mut builder, loaded);
            builder.store(made, DType::F32);
            let mut out = [f32::NAN; ROWS];
            run(&builder.kernel, &[&x], &mut out, &[]);
            for (found, row) in out.iter().zip(exact.chunks(columns)) {
                assert!(error(*found, wanted(row)) <= 1.0, "{at}: {columns}: {found}");
            }
        }
    }
}

/// All numbers of f32 that are near the smallest of bf16, and others, are rounded to the nearest bf16, ties to even.
#[test]
fn bf16_is_rounded_as_it_should_be() {
    if !has_code() {
        return;
    }
    let mut x: Vec<f32> = (0..1_u32 << 16).map(|at| f32::from_bits(at * 257)).collect();
    x.extend((0..1_u32 << 16).map(|at| f32::from_bits(at.wrapping_mul(65_521) ^ 0x8000_0000)));
    x.extend([f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::from_bits(0x7fff_ffff)]);
    let mut builder = Builder::new(x.len(), None);
    let loaded = builder.load(DType::F32, &[(x.len(), 1)]);
    builder.store(loaded, DType::BF16);
    let code = Generated::new(&builder.kernel, Writes::Near).unwrap();
    let mut out = vec![0_u16; x.len()];
    // SAFETY: as many elements as the kernel has.
    unsafe {
        code.run_part(0..x.len(), &[x.as_ptr().cast()], &[out.as_mut_ptr().cast()]);
    };
    for (x, found) in x.iter().zip(&out) {
        let bits = x.to_bits();
        if x.is_nan() {
            assert!(f32::from_bits(u32::from(*found) << 16).is_nan(), "{bits:x}: {found:x}");
            continue;
        }
        let wanted = ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16;
        assert_eq!(*found, wanted, "{bits:x}");
    }
}

/// The error function of numbers of bf16 is nearer than they are to one another, and ends with 1.
#[test]
fn short_functions_are_near_enough() {
    if !has_code() {
        return;
    }
    let x: Vec<f32> = (-60_000..=60_000).map(|at| at as f32 * 1e-3).collect();
    let mut builder = Builder::new(x.len(), None);
    let from = builder.load(DType::F32, &[(x.len(), 1)]);
    for short in [false, true] {
        let mut builder = Builder { kernel: builder.kernel.clone() };
        let to = builder.register(Number::F32, Extent::Element);
        builder.kernel.code.push(Instruction::Unary { op: Unary::ChloErf, short, from, to });
        builder.store(Operand::Register(to), DType::F32);
        let mut out = vec![f32::NAN; x.len()];
        run(&builder.kernel, &[&x], &mut out, &[]);
        for (x, found) in x.iter().zip(&out) {
            let wanted = libm::erf(f64::from(*x));
            let off = (f64::from(*found) - wanted).abs();
            assert!(off <= wanted.abs() / if short { 8192.0 } else { 4e6 }, "{x}: {found}");
            assert!(x.abs() < 3.9 || found.abs() == 1.0, "{x}: {found}");
        }
    }
}

/// Kernels that read and write bf16 alone take the even and the odd elements apart: each comes back to its place.
#[test]
fn bf16_alone_stays_in_its_place() {
    if !has_code() {
        return;
    }
    for (rows, columns) in [(1, 64), (3, 77), (2, 133), (5, 1000), (2, 4096), (64, 64)] {
        let count = rows * columns;
        let narrow = |seed: u64| -> Vec<u16> {
            randoms(count, seed).iter().map(|x| (x.to_bits() >> 16) as u16).collect()
        };
        let wide = |bits: &u16| f32::from_bits(u32::from(*bits) << 16);
        let (x, y) = (narrow(1), narrow(2));
        let mut builder = Builder::new(count, Some(columns));
        let a = builder.load(DType::BF16, &[(count, 1)]);
        let b = builder.load(DType::BF16, &[(count, 1)]);
        let most = builder.reduce(Binary::Maximum, f32::NEG_INFINITY, a);
        let less = builder.binary(Binary::Subtract, a, most);
        let made = builder.binary(Binary::Multiply, less, b);
        builder.store(made, DType::BF16);
        for writes in [Writes::Near, Writes::Past, Writes::Through] {
            let code = Generated::new(&builder.kernel, writes).unwrap();
            let mut room = vec![0_u16; count + 32];
            let first = room.as_ptr().align_offset(64);
            let inputs = [x.as_ptr().cast::<u8>(), y.as_ptr().cast()];
            // SAFETY: the room has as many elements behind its first place.
            unsafe { code.run_part(0..count, &inputs, &[room.as_mut_ptr().add(first).cast()]) };
            let rows = x.chunks(columns).zip(y.chunks(columns));
            let most = |x: &[u16]| x.iter().map(wide).fold(f32::NEG_INFINITY, f32::max);
            let wanted = rows.flat_map(|(x, y)| {
                let most = most(x);
                x.iter().zip(y).map(move |(x, y)| (wide(x) - most) * wide(y)).collect::<Vec<_>>()
            });
            for (at, (found, wanted)) in room[first..].iter().zip(wanted).enumerate() {
                let bits = wanted.to_bits();
                let rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
                assert_eq!(u32::from(*found), rounded, "{columns}, {writes:?}: {at}");
            }
        }
    }
}
