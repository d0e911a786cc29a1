//! Random well-typed programs with their answers: bytes decide which ops follow each other on which small tensors, and each
//! op is computed at once, naively and without any code of the engine's.
//!
//! Every program is valid by construction, so a verifier that refuses one is wrong; so is an interpreter that refuses it
//! or computes anything else. Numbers are i32, f32 and i1; floats only pass through ops whose result is rounded once, so
//! they have one right answer.

mod arithmetic;
mod choices;
mod naive;
mod structure;

use std::fmt::Write as _;

use self::choices::Choices;
pub use self::naive::{Kind, Naive, Number};

/// Ops in a program, at most.
const OPS: usize = 24;

/// A program and what it computes.
#[derive(Debug)]
pub struct Generated {
    /// The StableHLO text.
    pub text: String,
    /// The results of its main function.
    pub results: Vec<Naive>,
}

/// A program under construction: its lines and the values defined so far.
struct Builder<'a> {
    choices: Choices<'a>,
    lines: String,
    values: Vec<Naive>,
}

/// The program that bytes stand for.
pub fn generate(bytes: &[u8]) -> Generated {
    let mut builder =
        Builder { choices: Choices::new(bytes), lines: String::new(), values: Vec::new() };
    builder.constant();
    for _ in 0..OPS {
        if builder.choices.is_empty() {
            break;
        }
        if builder.choices.below(2) == 0 {
            builder.arithmetic();
        } else {
            builder.structure();
        }
    }
    builder.finish()
}

impl Builder<'_> {
    /// Adds a constant.
    fn constant(&mut self) -> usize {
        let kind = *self.choices.one_of(&[Kind::Integer, Kind::Float, Kind::Boolean]);
        let rank = self.choices.below(4);
        let sizes = (0..rank).map(|_| self.choices.below(5)).collect();
        self.constant_of(kind, sizes)
    }

    /// Adds a constant of a type.
    fn constant_of(&mut self, kind: Kind, sizes: Vec<usize>) -> usize {
        let count = sizes.iter().product();
        let numbers = (0..count).map(|_| self.choices.number(kind)).collect();
        self.given(Naive { kind, sizes, numbers })
    }

    /// Adds a constant of these numbers.
    fn given(&mut self, value: Naive) -> usize {
        let line = format!("stablehlo.constant dense<{}> : {}", value.literal(), value.ty());
        self.push(&line, value)
    }

    /// Adds a line that defines a value.
    fn push(&mut self, right: &str, value: Naive) -> usize {
        let place = self.values.len();
        let _ = writeln!(self.lines, "  %v{place} = {right}");
        self.values.push(value);
        place
    }

    /// A value that fits, if there is one.
    fn any(&mut self, fits: impl Fn(&Naive) -> bool) -> Option<usize> {
        let fitting: Vec<usize> =
            (0..self.values.len()).filter(|place| fits(&self.values[*place])).collect();
        if fitting.is_empty() { None } else { Some(*self.choices.one_of(&fitting)) }
    }

    /// A value of the same type, perhaps itself.
    fn like(&mut self, place: usize) -> usize {
        let (kind, sizes) = (self.values[place].kind, self.values[place].sizes.clone());
        self.any(|value| value.kind == kind && value.sizes == sizes).unwrap_or(place)
    }

    fn finish(self) -> Generated {
        let names: Vec<String> = (0..self.values.len()).map(|place| format!("%v{place}")).collect();
        let types: Vec<String> = self.values.iter().map(Naive::ty).collect();
        let text = format!(
            "func.func @main() -> ({types}) {{\n{}  return {} : {types}\n}}\n",
            self.lines,
            names.join(", "),
            types = types.join(", ")
        );
        Generated { text, results: self.values }
    }
}
