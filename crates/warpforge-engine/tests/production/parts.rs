//! Products of f32 in three parts of bf16, on machines with a matrix unit: as exact as those in f32, whatever the numbers are.
//! On other machines both ways are the same.

use warpforge_engine::reference::{Interpreter, Value};
use warpforge_engine::{Arithmetic, Executable, Options};
use warpforge_tensor::{DType, Shape, Tensor};

use super::agree::{compare, pool, program};

fn product(rows: usize, depth: usize, columns: usize) -> String {
    format!(
        "func.func @main(%x: tensor<{rows}x{depth}xf32>, %w: tensor<{depth}x{columns}xf32>) -> tensor<{rows}x{columns}xf32> {{
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<{rows}x{depth}xf32>, tensor<{depth}x{columns}xf32>) -> tensor<{rows}x{columns}xf32>
  return %p : tensor<{rows}x{columns}xf32>
}}"
    )
}

/// Numbers without a pattern, of a normal distribution's kind, the same for the same seed.
struct Numbers(u64);

impl Numbers {
    fn uniform(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f32 {
        ((0..12).map(|_| self.uniform()).sum::<f64>() - 6.0) as f32
    }

    fn many(&mut self, count: usize, mut number: impl FnMut(&mut Self) -> f32) -> Vec<f32> {
        (0..count).map(|_| number(self)).collect()
    }
}

fn tensor(sizes: [usize; 2], numbers: &[f32]) -> Value {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
    Value::Tensor(Tensor::new(DType::F32, Shape::new(sizes).unwrap(), bytes).unwrap())
}

fn run(text: &str, inputs: &[Value], arithmetic: Arithmetic) -> Vec<f64> {
    let options = Options { arithmetic, ..Options::default() };
    let mut executable = Executable::compile(&program(text), pool(2), &options).unwrap();
    let results = executable.run(inputs).unwrap();
    let Value::Tensor(result) = &results[0] else { panic!() };
    result.floats().unwrap()
}

/// The largest and the mean error of a product, as a share of what its terms' magnitudes add up to.
fn errors(found: &[f64], [x, w]: [&[f32]; 2], [rows, depth, columns]: [usize; 3]) -> [f64; 2] {
    let (mut most, mut sum) = (0.0_f64, 0.0);
    for row in 0..rows {
        for column in 0..columns {
            let (mut exact, mut size) = (0.0, 0.0);
            for at in 0..depth {
                let term = f64::from(x[row * depth + at]) * f64::from(w[at * columns + column]);
                exact += term;
                size += term.abs();
            }
            let error = (found[row * columns + column] - exact).abs() / size.max(f64::MIN_POSITIVE);
            most = most.max(error);
            sum += error;
        }
    }
    [most, sum / (rows * columns) as f64]
}

/// Both ways, on numbers of one kind: parts are no less exact. What both give can be seen with `--no-capture`.
#[allow(clippy::print_stdout)]
fn is_as_exact(
    name: &str,
    sizes: [usize; 3],
    mut left: impl FnMut(&mut Numbers) -> f32,
    mut right: impl FnMut(&mut Numbers) -> f32,
) {
    let [rows, depth, columns] = sizes;
    let mut numbers = Numbers(7);
    let x = numbers.many(rows * depth, &mut left);
    let w = numbers.many(depth * columns, &mut right);
    let inputs = [tensor([rows, depth], &x), tensor([depth, columns], &w)];
    let text = product(rows, depth, columns);
    let of = |arithmetic| errors(&run(&text, &inputs, arithmetic), [&x, &w], sizes);
    let (parts, plain) = (of(Arithmetic::Fastest), of(Arithmetic::Plain));
    println!(
        "{name}, {rows} x {depth} x {columns}: largest error {:.2e} in parts, {:.2e} in f32; mean {:.2e}, {:.2e}",
        parts[0], plain[0], parts[1], plain[1]
    );
    // What is left out of a product is at most a unit in the last place of it.
    let allowed = f64::from(f32::EPSILON);
    assert!(parts[0] <= (1.5 * plain[0]).max(allowed), "{name}: {parts:?}, {plain:?}");
    assert!(parts[1] <= (1.25 * plain[1]).max(allowed / 4.0), "{name}: {parts:?}, {plain:?}");
}

#[test]
fn errors_are_those_of_f32() {
    for depth in [64, 384, 1024, 4096] {
        is_as_exact("normal", [192, depth, 96], Numbers::normal, Numbers::normal);
    }
    let positive = |numbers: &mut Numbers| numbers.uniform() as f32;
    is_as_exact("positive", [192, 1024, 96], positive, positive);
    // Magnitudes over twelve powers of ten, side by side.
    let uneven = |numbers: &mut Numbers| {
        numbers.normal() * 10_f32.powf(12.0 * numbers.uniform() as f32 - 6.0)
    };
    is_as_exact("uneven", [192, 512, 96], uneven, uneven);
    let small = |numbers: &mut Numbers| numbers.normal() * 1e-17;
    is_as_exact("small", [192, 512, 96], small, small);
    let tiny = |numbers: &mut Numbers| numbers.normal() * 1e-19;
    is_as_exact("tiny", [192, 512, 96], tiny, tiny);
    let large = |numbers: &mut Numbers| numbers.normal() * 1e17;
    is_as_exact("large", [192, 512, 96], large, large);
}

/// Whole numbers whose sums f32 holds come out exactly.
#[test]
fn whole_numbers_are_exact() {
    let (rows, depth, columns) = (96, 256, 64);
    let mut numbers = Numbers(11);
    let mut whole =
        |count| numbers.many(count, |numbers| (numbers.uniform() * 255.0).floor() as f32 - 127.0);
    let (x, w) = (whole(rows * depth), whole(depth * columns));
    let inputs = [tensor([rows, depth], &x), tensor([depth, columns], &w)];
    let found = run(&product(rows, depth, columns), &inputs, Arithmetic::Fastest);
    assert_eq!(errors(&found, [&x, &w], [rows, depth, columns])[0], 0.0);
}

/// Infinities, what is no number, and what is nearly infinite: every element is what f32 gives, of the same kind.
#[test]
fn what_is_not_finite_is_as_in_f32() {
    is_as_in_f32([100, 600, 70]);
}

/// The same where every task packs the right operand for itself, a stretch of the depth at a time.
#[test]
fn what_is_packed_by_each_task_is_as_in_f32() {
    is_as_in_f32([100, 1100, 700]);
    is_as_in_f32([331, 523, 1450]);
}

fn is_as_in_f32([rows, depth, columns]: [usize; 3]) {
    let mut numbers = Numbers(3);
    let mut x = numbers.many(rows * depth, Numbers::normal);
    let mut w = numbers.many(depth * columns, Numbers::normal);
    let odd = [
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::MAX,
        -f32::MAX,
        f32::from_bits(0x7f80_0001),
    ];
    for (at, odd) in odd.into_iter().enumerate() {
        x[(3 + 17 * at) * depth + 31 * at] = odd;
        w[(5 + 90 * at) * columns + 11 * at] = odd;
    }
    // The largest numbers meet small ones: whether their sums are infinite would depend on the order of the terms.
    for at in 3..5 {
        (0..columns).for_each(|column| w[31 * at * columns + column] *= 0.1);
        (0..rows).for_each(|row| x[row * depth + 5 + 90 * at] *= 0.1);
    }
    // An infinity meets a 0: that is no number.
    w[columns + 1] = 0.0;
    x[90 * depth + 1] = f32::INFINITY;
    let inputs = [tensor([rows, depth], &x), tensor([depth, columns], &w)];
    let text = product(rows, depth, columns);
    let (parts, plain) =
        (run(&text, &inputs, Arithmetic::Fastest), run(&text, &inputs, Arithmetic::Plain));
    let wanted = Interpreter::new(&program(&text)).run(inputs.to_vec()).unwrap();
    let Value::Tensor(wanted) = &wanted[0] else { panic!() };
    for (at, wanted) in wanted.floats().unwrap().into_iter().enumerate() {
        for found in [parts[at], plain[at]] {
            let near = (found - wanted).abs() <= 1e-5 * wanted.abs().max(100.0);
            let same = found == wanted || (found.is_nan() && wanted.is_nan());
            assert!(near || same, "{found} for {wanted} at {at}");
        }
    }
}

/// What is not finite in one row leaves the bits of all others as they were.
#[test]
fn rows_do_not_depend_on_one_another() {
    let (rows, depth, columns) = (192, 128, 128);
    let mut numbers = Numbers(5);
    let mut x = numbers.many(rows * depth, Numbers::normal);
    let w = tensor([depth, columns], &numbers.many(depth * columns, Numbers::normal));
    let text = product(rows, depth, columns);
    let of = |x: &[f32]| run(&text, &[tensor([rows, depth], x), w.clone()], Arithmetic::Fastest);
    let before = of(&x);
    x[7 * depth + 3] = f32::NAN;
    for number in &mut x[40 * depth..41 * depth] {
        *number *= 1e-30;
    }
    let after = of(&x);
    for row in (0..rows).filter(|row| ![7, 40].contains(row)) {
        let here = row * columns..(row + 1) * columns;
        assert_eq!(before[here.clone()], after[here], "row {row}");
    }
    assert!(after[7 * columns..8 * columns].iter().all(|number| number.is_nan()));
}

/// The largest finite numbers are cut off, not rounded to infinity.
#[test]
fn the_largest_numbers_stay_finite() {
    let (rows, depth, columns) = (64, 64, 32);
    let mut x = vec![0.0; rows * depth];
    let w: Vec<f32> = (0..depth * columns)
        .map(|at| if at % columns == at / columns { 1.0 } else { 0.0 })
        .collect();
    for (at, x) in x.iter_mut().enumerate() {
        *x = f32::from_bits(f32::MAX.to_bits() - (at as u32 % 70_000));
    }
    let inputs = [tensor([rows, depth], &x), tensor([depth, columns], &w)];
    let found = run(&product(rows, depth, columns), &inputs, Arithmetic::Fastest);
    for (at, found) in found.into_iter().enumerate() {
        let wanted = f64::from(x[at / columns * depth + at % columns]);
        assert_eq!(found, wanted);
    }
}

/// Plain products still go through vectors, at every edge.
#[test]
fn plain_products_agree() {
    for (rows, depth, columns) in [(48, 40, 33), (53, 1025, 97), (71, 2500, 700), (800, 64, 70)] {
        let text = product(rows, depth, columns);
        let inputs = super::agree::inputs(&program(&text));
        let wanted = Interpreter::new(&program(&text)).run(inputs.clone()).unwrap();
        for threads in [1, 3] {
            let options = Options { arithmetic: Arithmetic::Plain, ..Options::default() };
            let mut plain = Executable::compile(&program(&text), pool(threads), &options).unwrap();
            compare(&plain.run(&inputs).unwrap(), &wanted);
            assert!(plain.report().iter().all(|step| !step.in_parts));
        }
    }
}

/// How products are computed is part of a plan's name.
#[test]
fn plans_differ_where_arithmetic_does() {
    let text = product(64, 64, 64);
    let plan = |arithmetic| {
        let options = Options { arithmetic, ..Options::default() };
        let made = Executable::compile(&program(&text), pool(2), &options).unwrap();
        let in_parts = made.report().iter().any(|step| step.in_parts);
        (made.plan_hash(), in_parts)
    };
    let (fastest, plain) = (plan(Arithmetic::Fastest), plan(Arithmetic::Plain));
    assert!(!plain.1);
    assert_eq!(fastest.0 != plain.0, fastest.1);
}
