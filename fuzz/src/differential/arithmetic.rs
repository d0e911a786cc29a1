//! Ops on each element: their text and their naive meaning.

use super::Builder;
use super::naive::{Kind, Naive, Number};

impl Builder<'_> {
    /// Adds an op on each element of some values.
    pub(super) fn arithmetic(&mut self) {
        match self.choices.below(6) {
            0 => self.unary(),
            1 | 2 => self.binary(),
            3 => self.compare(),
            4 => self.select(),
            _ => self.convert(),
        }
    }

    fn unary(&mut self) {
        let Some(place) = self.any(|_| true) else { return };
        let kind = self.values[place].kind;
        let names: &[&str] = match kind {
            Kind::Integer => &["negate", "abs", "sign", "not", "popcnt", "count_leading_zeros"],
            Kind::Float => &["negate", "abs", "floor", "ceil", "sqrt", "sign"],
            Kind::Boolean => &["not"],
        };
        let name = *self.choices.one_of(names);
        let value = &self.values[place];
        let numbers = value.numbers.iter().map(|number| one(name, *number)).collect();
        let result = Naive { numbers, ..value.clone() };
        self.push(&format!("stablehlo.{name} %v{place} : {}", result.ty()), result);
    }

    fn binary(&mut self) {
        let Some(left) = self.any(|_| true) else { return };
        let right = self.like(left);
        let names: &[&str] = match self.values[left].kind {
            Kind::Integer => &[
                "add", "subtract", "multiply", "maximum", "minimum", "divide", "remainder", "and", "or",
                "xor", "shift_left", "shift_right_logical", "shift_right_arithmetic",
            ],
            Kind::Float => &["add", "subtract", "multiply", "maximum", "minimum", "divide"],
            Kind::Boolean => &["and", "or", "xor", "add", "multiply", "maximum", "minimum"],
        };
        let name = *self.choices.one_of(names);
        let (a, b) = (&self.values[left], &self.values[right]);
        let numbers = a.numbers.iter().zip(&b.numbers).map(|(a, b)| two(name, *a, *b)).collect();
        let result = Naive { numbers, ..a.clone() };
        self.push(&format!("stablehlo.{name} %v{left}, %v{right} : {}", result.ty()), result);
    }

    fn compare(&mut self) {
        let Some(left) = self.any(|_| true) else { return };
        let right = self.like(left);
        let direction = *self.choices.one_of(&["EQ", "NE", "LT", "LE", "GT", "GE"]);
        let (a, b) = (&self.values[left], &self.values[right]);
        let kind = match a.kind {
            Kind::Integer => "SIGNED",
            Kind::Float => "FLOAT",
            Kind::Boolean => "UNSIGNED",
        };
        let pairs = a.numbers.iter().zip(&b.numbers);
        let numbers = pairs.map(|(a, b)| Number::Boolean(holds(direction, *a, *b))).collect();
        let result = Naive { kind: Kind::Boolean, sizes: a.sizes.clone(), numbers };
        let line = format!(
            "stablehlo.compare {direction}, %v{left}, %v{right}, {kind} : ({ty}, {ty}) -> {}",
            result.ty(),
            ty = a.ty()
        );
        self.push(&line, result);
    }

    fn select(&mut self) {
        let Some(left) = self.any(|_| true) else { return };
        let right = self.like(left);
        let sizes = self.values[left].sizes.clone();
        let fits = |value: &Naive| value.kind == Kind::Boolean && (value.sizes == sizes || value.sizes.is_empty());
        let Some(choice) = self.any(fits) else { return };
        let (choose, a, b) = (&self.values[choice], &self.values[left], &self.values[right]);
        let result = Naive::of(a.kind, sizes, |index| {
            let number = if choose.sizes.is_empty() { choose.numbers[0] } else { choose.at(index) };
            if truth(number) { a.at(index) } else { b.at(index) }
        });
        let line = format!(
            "stablehlo.select %v{choice}, %v{left}, %v{right} : {}, {}",
            choose.ty(),
            a.ty()
        );
        self.push(&line, result);
    }

    fn convert(&mut self) {
        // What does not fit an integer has no stated meaning.
        let fits = |number: &Number| !matches!(number, Number::Float(value) if value.is_nan() || value.abs() > 1e9);
        let Some(place) = self.any(|value| value.numbers.iter().all(fits)) else { return };
        let kind = *self.choices.one_of(&[Kind::Integer, Kind::Float, Kind::Boolean]);
        let value = &self.values[place];
        let numbers = value.numbers.iter().map(|number| converted(*number, kind)).collect();
        let result = Naive { kind, sizes: value.sizes.clone(), numbers };
        let line = format!("stablehlo.convert %v{place} : ({}) -> {}", value.ty(), result.ty());
        self.push(&line, result);
    }
}

/// A boolean element.
pub(super) fn truth(number: Number) -> bool {
    matches!(number, Number::Boolean(true))
}

fn one(name: &str, number: Number) -> Number {
    match number {
        Number::Boolean(value) => Number::Boolean(!value),
        Number::Integer(value) => Number::Integer(match name {
            "negate" => value.wrapping_neg(),
            "abs" => value.wrapping_abs(),
            "sign" => value.signum(),
            "not" => !value,
            "popcnt" => value.count_ones() as i32,
            _ => value.leading_zeros() as i32,
        }),
        Number::Float(value) => Number::Float(match name {
            "negate" => -value,
            "abs" => value.abs(),
            "floor" => value.floor(),
            "ceil" => value.ceil(),
            "sqrt" => value.sqrt(),
            _ if value == 0.0 || value.is_nan() => value,
            _ => value.signum(),
        }),
    }
}

/// A step of an element-wise op or of a reduction.
pub(super) fn two(name: &str, a: Number, b: Number) -> Number {
    match (a, b) {
        (Number::Boolean(a), Number::Boolean(b)) => Number::Boolean(match name {
            "and" | "multiply" | "minimum" => a & b,
            "or" | "add" | "maximum" => a | b,
            _ => a ^ b,
        }),
        (Number::Integer(a), Number::Integer(b)) => Number::Integer(integers(name, a, b)),
        (Number::Float(a), Number::Float(b)) => Number::Float(match name {
            "add" => a + b,
            "subtract" => a - b,
            "multiply" => a * b,
            "divide" => a / b,
            _ if a.is_nan() || b.is_nan() => f32::NAN,
            // Zeros are ordered by their sign.
            "maximum" if a.total_cmp(&b).is_lt() => b,
            "minimum" if a.total_cmp(&b).is_gt() => b,
            _ => a,
        }),
        _ => a,
    }
}

fn integers(name: &str, a: i32, b: i32) -> i32 {
    let within = (0..32).contains(&b);
    match name {
        "add" => a.wrapping_add(b),
        "subtract" => a.wrapping_sub(b),
        "multiply" => a.wrapping_mul(b),
        "maximum" => a.max(b),
        "minimum" => a.min(b),
        "divide" if b == 0 => -1,
        "divide" => a.wrapping_div(b),
        "remainder" if b == 0 => a,
        "remainder" => a.wrapping_rem(b),
        "and" => a & b,
        "or" => a | b,
        "xor" => a ^ b,
        "shift_left" if within => a << b,
        "shift_right_logical" if within => ((a as u32) >> b) as i32,
        "shift_right_arithmetic" if within => a >> b,
        "shift_right_arithmetic" if a < 0 => -1,
        _ => 0,
    }
}

fn holds(direction: &str, a: Number, b: Number) -> bool {
    fn by<T: PartialOrd>(direction: &str, a: T, b: T) -> bool {
        match direction {
            "EQ" => a == b,
            "NE" => a != b,
            "LT" => a < b,
            "LE" => a <= b,
            "GT" => a > b,
            _ => a >= b,
        }
    }
    match (a, b) {
        (Number::Integer(a), Number::Integer(b)) => by(direction, a, b),
        (Number::Float(a), Number::Float(b)) => by(direction, a, b),
        (Number::Boolean(a), Number::Boolean(b)) => by(direction, a, b),
        _ => false,
    }
}

fn converted(number: Number, kind: Kind) -> Number {
    match (number, kind) {
        (Number::Integer(value), Kind::Float) => Number::Float(value as f32),
        (Number::Integer(value), Kind::Boolean) => Number::Boolean(value != 0),
        (Number::Float(value), Kind::Integer) => Number::Integer(value as i32),
        (Number::Float(value), Kind::Boolean) => Number::Boolean(value != 0.0),
        (Number::Boolean(value), Kind::Integer) => Number::Integer(i32::from(value)),
        (Number::Boolean(value), Kind::Float) => Number::Float(f32::from(u8::from(value))),
        _ => number,
    }
}
