//! Softmax of rows as one instruction: the five that it is written as go over the row five times, and a division of every
//! element takes longer than all the rest.
//!
//! What always holds: the numbers are those of the five instructions but for the quotient, which is the product with the
//! reciprocal, corrected once, with an error below one unit in the last place; and for powers too small to be normal, which
//! are 0. Sums are taken in f64, groups of a few in f32 before. Where the sum is
//! rounded to a narrower type before it divides, as programs of such types write it, that rounding is left out.

use std::collections::HashSet;

use warpforge_hlo::ir::{Binary, Unary};

use super::float_function::exp_of_negative;
use super::vector::{PARTS, fold};
use warpforge_codegen::ir::RegisterInfo;
use warpforge_codegen::ir::{Extent, Instruction, Number, Operand, Register};

/// The code with every softmax as one instruction, where nothing else reads what lies between its parts.
pub(super) fn recognize(
    code: Vec<Instruction>,
    registers: &[RegisterInfo],
    kept: &HashSet<Register>,
) -> Vec<Instruction> {
    let reader = Reader { code: &code, registers, kept };
    let found: Vec<Found> = (0..code.len()).filter_map(|at| reader.softmax(at)).collect();
    let parts: HashSet<usize> = found.iter().flat_map(|found| found.parts.clone()).collect();
    let mut new = Vec::with_capacity(code.len());
    for (at, instruction) in code.into_iter().enumerate() {
        match found.iter().find(|found| found.parts.last() == Some(&at)) {
            Some(Found { from, scale, added, to, .. }) => {
                let (from, scale, added, to) = (*from, *scale, *added, *to);
                new.push(Instruction::Softmax { from, scale, added, to });
            }
            None if parts.contains(&at) => {}
            None => new.push(instruction),
        }
    }
    new
}

/// A softmax: the places of greatest, difference, power, sum and quotient, of a rounding of the sum and of a factor and a
/// summand before if there are any, the quotient last; what is read and written.
struct Found {
    parts: Vec<usize>,
    from: Register,
    scale: f32,
    added: Option<Register>,
    to: Register,
}

struct Reader<'a> {
    code: &'a [Instruction],
    registers: &'a [RegisterInfo],
    /// Registers that are results.
    kept: &'a HashSet<Register>,
}

impl Reader<'_> {
    /// The softmax whose quotient is at this place.
    fn softmax(&self, at: usize) -> Option<Found> {
        let Instruction::Binary { op: Binary::Divide, a, b, to } = &self.code[at] else {
            return None;
        };
        let (powers, divisors) = (register(*a)?, register(*b)?);
        let (sums, rounded) = match self.maker(divisors)? {
            (at, Instruction::Round { from, .. }) => (register(*from)?, Some(at)),
            _ => (divisors, None),
        };
        let (sum_at, sum) = self.maker(sums)?;
        let (power_at, power) = self.maker(powers)?;
        let Instruction::Unary { op: Unary::Exponential, from, .. } = power else { return None };
        let differences = register(*from)?;
        let (difference_at, difference) = self.maker(differences)?;
        let Instruction::Binary { op: Binary::Subtract, a, b, .. } = difference else {
            return None;
        };
        let (source, greatest) = (register(*a)?, register(*b)?);
        let (greatest_at, most) = self.maker(greatest)?;
        let reduces = |instruction: &Instruction, op: Binary, of: Register, number: f32| {
            let Instruction::Reduce { op: found, initial, from, .. } = instruction else {
                return false;
            };
            let begins = match initial {
                Operand::Immediate(bits) => f32::from_bits(*bits as u32) == number,
                Operand::Register(_) => false,
            };
            *found == op && *from == of && begins
        };
        let fits = reduces(sum, Binary::Add, powers, 0.0)
            && reduces(most, Binary::Maximum, source, f32::NEG_INFINITY)
            && self.only_read(divisors, &[at])
            && self.only_read(sums, &[rounded.unwrap_or(at)])
            && self.only_read(powers, &[sum_at, at])
            && self.only_read(differences, &[power_at])
            && self.only_read(greatest, &[difference_at])
            && self.registers[to.0].number == Number::F32;
        if !fits {
            return None;
        }
        let mut parts = vec![greatest_at, difference_at, power_at, sum_at];
        parts.extend(rounded);
        let mut from = source;
        let mut readers = vec![greatest_at, difference_at];
        let mut added = None;
        if let Some((place, summand, before)) = self.summand(from, &readers) {
            (added, from, readers) = (Some(summand), before, vec![place]);
            parts.push(place);
        }
        let mut scale = 1.0;
        if let Some((place, factor, before)) = self.factor(from, &readers) {
            (scale, from) = (factor, before);
            parts.push(place);
        }
        parts.push(at);
        Some(Found { parts, from, scale, added, to: *to })
    }

    /// The sum of two numbers of each element that makes what only these instructions read: its place, the summand and what
    /// it is added to.
    fn summand(&self, made: Register, readers: &[usize]) -> Option<(usize, Register, Register)> {
        let (at, Instruction::Binary { op: Binary::Add, a, b, .. }) = self.maker(made)? else {
            return None;
        };
        let (first, second) = (register(*a)?, register(*b)?);
        let each = |of: Register| self.registers[of.0].extent == Extent::Element;
        let fits = self.only_read(made, readers) && each(first) && each(second);
        // The other one may have a factor.
        let scaled = |of: Register| self.factor(of, &[at]).is_some();
        let (summand, before) =
            if scaled(second) && !scaled(first) { (first, second) } else { (second, first) };
        fits.then_some((at, summand, before))
    }

    /// The product with one number for all that makes what only these instructions read: its place, the number and what is
    /// multiplied.
    fn factor(&self, made: Register, readers: &[usize]) -> Option<(usize, f32, Register)> {
        let (at, Instruction::Binary { op: Binary::Multiply, a, b, .. }) = self.maker(made)? else {
            return None;
        };
        let (from, bits) = match (a, b) {
            (Operand::Register(from), Operand::Immediate(bits))
            | (Operand::Immediate(bits), Operand::Register(from)) => (*from, *bits),
            _ => return None,
        };
        let fits = self.only_read(made, readers)
            && self.registers[from.0].extent == Extent::Element
            && self.registers[made.0].number == Number::F32;
        fits.then_some((at, f32::from_bits(bits as u32), from))
    }

    fn maker(&self, register: Register) -> Option<(usize, &Instruction)> {
        let mut code = self.code.iter().enumerate();
        code.find(|(_, instruction)| instruction.result() == Some(register))
    }

    /// Whether a register is read by these instructions and by nobody else.
    fn only_read(&self, register: Register, by: &[usize]) -> bool {
        let reads = |instruction: &Instruction| {
            instruction.operands().contains(&Operand::Register(register))
        };
        let mut code = self.code.iter().enumerate();
        !self.kept.contains(&register)
            && code.all(|(at, instruction)| reads(instruction) == by.contains(&at))
    }
}

fn register(operand: Operand) -> Option<Register> {
    match operand {
        Operand::Register(register) => Some(register),
        Operand::Immediate(_) => None,
    }
}

/// So many groups of powers are summed in f32 before the sum joins those in f64.
const GROUPS: usize = 16;

/// Softmax of each row.
#[inline(always)]
pub(super) fn rows<const FMA: bool>(
    from: &[f32],
    scale: f32,
    added: Option<&[f32]>,
    row: usize,
    out: &mut [f32],
) {
    let row = row.max(1);
    for (index, (from, out)) in from.chunks(row).zip(out.chunks_mut(row)).enumerate() {
        match added {
            Some(added) => {
                let added = &added[index * row..][..from.len()];
                for ((out, x), added) in out.iter_mut().zip(from).zip(added) {
                    *out = *x * scale + *added;
                }
            }
            None => {
                for (out, x) in out.iter_mut().zip(from) {
                    *out = *x * scale;
                }
            }
        }
        let greatest = greatest(out);
        let mut wide = [0.0_f64; PARTS];
        for out in out.chunks_mut(GROUPS * PARTS) {
            let mut sums = [0.0_f32; PARTS];
            let (rooms, rest) = out.as_chunks_mut::<PARTS>();
            for room in rooms {
                // Not written in place: what is summed would be read back.
                let mut powers = [0.0; PARTS];
                for (power, x) in powers.iter_mut().zip(&*room) {
                    *power = exp_of_negative::<FMA>(*x - greatest);
                }
                for (sum, power) in sums.iter_mut().zip(&powers) {
                    *sum += *power;
                }
                *room = powers;
            }
            for (out, sum) in rest.iter_mut().zip(&mut sums) {
                *out = exp_of_negative::<FMA>(*out - greatest);
                *sum += *out;
            }
            for (wide, sum) in wide.iter_mut().zip(sums) {
                *wide += f64::from(sum);
            }
        }
        let sum = fold(&wide, 0.0, 0.0, |x| x, |a: f64, b: f64| a + b) as f32;
        let reciprocal = 1.0 / sum;
        for out in out.iter_mut() {
            *out = if FMA {
                // The sum is at least 1 and no power is above 1, so that nothing overflows on the way.
                let quotient = *out * reciprocal;
                let left = (-quotient).mul_add(sum, *out);
                left.mul_add(reciprocal, quotient)
            } else {
                *out / sum
            };
        }
    }
}

/// The greatest of some numbers. What is no number may be passed over here: its power is none either, nor is the sum.
#[inline(always)]
fn greatest(values: &[f32]) -> f32 {
    let greater = |a: f32, b: f32| if b > a { b } else { a };
    fold(values, f32::NEG_INFINITY, f32::NEG_INFINITY, |x| x, greater)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_right() {
        for length in [1, 7, 32, 100, 384] {
            let values: Vec<f32> =
                (0..2 * length).map(|at| ((at * 37) % 101) as f32 * 0.2 - 9.0).collect();
            let mut made = vec![0.0; values.len()];
            rows::<true>(&values, 1.0, None, length, &mut made);
            for (values, made) in values.chunks(length).zip(made.chunks(length)) {
                let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let power = |x: &f32| f64::from(x - most).exp();
                let sum: f64 = values.iter().map(power).sum();
                for (x, made) in values.iter().zip(made) {
                    let exact = power(x) / sum;
                    assert!((f64::from(*made) - exact).abs() <= 4e-7 * exact, "{made} for {exact}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_number_stays_none() {
        let values = [f32::NEG_INFINITY, f32::NEG_INFINITY, 1.0, f32::NAN, 0.0, f32::NEG_INFINITY];
        let mut made = [0.0; 6];
        rows::<true>(&values, 1.0, None, 2, &mut made);
        assert!(made[..4].iter().all(|x| x.is_nan()));
        assert_eq!(made[4..], [1.0, 0.0]);
    }
}
