//! Softmax of rows as one instruction: the five that it is written as go over the row five times, and a division of every
//! element takes longer than all the rest.
//!
//! What always holds: the numbers are those of the five instructions, sums in f64 in the same order, but for the quotient,
//! which is the product with the reciprocal, corrected once; its error is below one unit in the last place.

use std::collections::HashSet;

use warpforge_hlo::ir::{Binary, Unary};

use super::float_function::exp;
use super::instruction::{Instruction, Number, Operand, Register};
use super::kernel::RegisterInfo;
use super::lane::Lane;
use super::vector::{PARTS, fold};

/// The code with every softmax as one instruction, where nothing else reads what lies between its parts.
pub(super) fn recognize(
    code: Vec<Instruction>,
    registers: &[RegisterInfo],
    kept: &HashSet<Register>,
) -> Vec<Instruction> {
    let reader = Reader { code: &code, registers, kept };
    let found: Vec<([usize; 5], Register, Register)> =
        (0..code.len()).filter_map(|at| reader.softmax(at)).collect();
    let parts: HashSet<usize> = found.iter().flat_map(|(parts, ..)| *parts).collect();
    let mut new = Vec::with_capacity(code.len());
    for (at, instruction) in code.into_iter().enumerate() {
        match found.iter().find(|(parts, ..)| parts[4] == at) {
            Some((_, from, to)) => new.push(Instruction::Softmax { from: *from, to: *to }),
            None if parts.contains(&at) => {}
            None => new.push(instruction),
        }
    }
    new
}

struct Reader<'a> {
    code: &'a [Instruction],
    registers: &'a [RegisterInfo],
    /// Registers that are results.
    kept: &'a HashSet<Register>,
}

impl Reader<'_> {
    /// The places of greatest, difference, power, sum and quotient, of which `at` is the last; what is read and written.
    fn softmax(&self, at: usize) -> Option<([usize; 5], Register, Register)> {
        let Instruction::Binary { op: Binary::Divide, a, b, to } = &self.code[at] else {
            return None;
        };
        let (powers, sums) = (register(*a)?, register(*b)?);
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
            && self.only_read(sums, &[at])
            && self.only_read(powers, &[sum_at, at])
            && self.only_read(differences, &[power_at])
            && self.only_read(greatest, &[difference_at])
            && self.registers[to.0].number == Number::F32;
        fits.then_some(([greatest_at, difference_at, power_at, sum_at, at], source, *to))
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

/// Softmax of each row.
#[inline(always)]
pub(super) fn rows<const FMA: bool>(from: &[f32], row: usize, out: &mut [f32]) {
    for (from, out) in from.chunks(row.max(1)).zip(out.chunks_mut(row.max(1))) {
        let low = f32::NEG_INFINITY;
        let greatest = fold(from, low, low, |x| x, <f32 as Lane>::maximum);
        let mut parts = [0.0_f64; PARTS];
        let (chunks, rest) = from.as_chunks::<PARTS>();
        let (rooms, room) = out.as_chunks_mut::<PARTS>();
        for (chunk, room) in chunks.iter().zip(rooms) {
            for (out, x) in room.iter_mut().zip(chunk) {
                *out = exp::<FMA>(*x - greatest);
            }
            for (part, power) in parts.iter_mut().zip(room) {
                *part += f64::from(*power);
            }
        }
        for ((out, x), part) in room.iter_mut().zip(rest).zip(&mut parts) {
            *out = exp::<FMA>(*x - greatest);
            *part += f64::from(*out);
        }
        let sum = fold(&parts, 0.0, 0.0, |x| x, |a: f64, b: f64| a + b) as f32;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_right() {
        for length in [1, 7, 32, 100, 384] {
            let values: Vec<f32> =
                (0..2 * length).map(|at| ((at * 37) % 101) as f32 * 0.2 - 9.0).collect();
            let mut made = vec![0.0; values.len()];
            rows::<true>(&values, length, &mut made);
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
        rows::<true>(&values, 2, &mut made);
        assert!(made[..4].iter().all(|x| x.is_nan()));
        assert_eq!(made[4..], [1.0, 0.0]);
    }
}
