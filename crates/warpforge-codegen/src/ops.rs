//! Ops of the kernel language as steps of a program.

use warpforge_hlo::ir::{Binary, Unary};

use crate::Unsupported;
use crate::ir::Number;
use crate::vector::{Logic, Node, One, Program, Two, Value};

/// Truth values are computed, or read; programs know no constant ones.
pub(crate) fn is_truth(program: &Program, value: Value) -> Result<(), Unsupported> {
    match program.nodes[value.0].is_truth() {
        true => Ok(()),
        false => Err(Unsupported("a constant truth value".into())),
    }
}

/// An op of one number.
pub(crate) fn unary(
    program: &mut Program,
    op: Unary,
    number: Number,
    x: Value,
) -> Result<Value, Unsupported> {
    if number == Number::Bool {
        return match op {
            Unary::Not => {
                is_truth(program, x)?;
                Ok(program.node(Node::Not(x)))
            }
            other => Err(Unsupported(format!("{} of truth values", other.name()))),
        };
    }
    if number != Number::F32 {
        return Err(Unsupported(format!("{} of integers", op.name())));
    }
    Ok(match op {
        Unary::Abs => program.size(x),
        Unary::Ceil => program.one(One::Ceil, x),
        Unary::Floor => program.one(One::Floor, x),
        Unary::RoundNearestEven => program.one(One::NearestEven, x),
        Unary::Exponential => program.exp(x),
        Unary::ExponentialMinusOne => program.exp_minus_one(x),
        Unary::Log => program.log(x),
        Unary::Logistic => program.logistic(x),
        Unary::Tanh => program.tanh(x),
        Unary::ChloErf => program.erf(x),
        Unary::ChloSquare => program.multiply(x, x),
        Unary::Sqrt => program.one(One::Sqrt, x),
        Unary::Rsqrt => {
            let root = program.one(One::Sqrt, x);
            let one = program.constant(1.0);
            program.divide(one, root)
        }
        Unary::Negate => {
            let sign = program.bits(0x8000_0000);
            program.two(Two::Xor, x, sign)
        }
        other => return Err(Unsupported(other.name().into())),
    })
}

/// An op of two numbers.
pub(crate) fn binary(
    program: &mut Program,
    op: Binary,
    number: Number,
    a: Value,
    b: Value,
) -> Result<Value, Unsupported> {
    if number == Number::Bool {
        let logic = match op {
            Binary::And | Binary::Minimum | Binary::Multiply => Logic::And,
            Binary::Or | Binary::Maximum | Binary::Add => Logic::Or,
            Binary::Xor => Logic::Xor,
            other => return Err(Unsupported(format!("{} of truth values", other.name()))),
        };
        is_truth(program, a)?;
        is_truth(program, b)?;
        return Ok(program.node(Node::Logic(logic, a, b)));
    }
    if number == Number::I32 {
        let two = match op {
            Binary::Add => Two::AddIntegers,
            Binary::Subtract => Two::SubtractIntegers,
            Binary::Multiply => Two::MultiplyIntegers,
            Binary::Maximum => Two::GreaterInteger,
            Binary::Minimum => Two::LessInteger,
            Binary::And => Two::And,
            Binary::Or => Two::Or,
            Binary::Xor => Two::Xor,
            other => return Err(Unsupported(format!("{} of integers", other.name()))),
        };
        return Ok(program.two(two, a, b));
    }
    Ok(match op {
        Binary::Add => program.add(a, b),
        Binary::Subtract => program.subtract(a, b),
        Binary::Multiply => program.multiply(a, b),
        Binary::Divide => program.divide(a, b),
        Binary::Maximum => program.extreme(Two::Greater, a, b),
        Binary::Minimum => program.extreme(Two::Less, a, b),
        other => return Err(Unsupported(other.name().into())),
    })
}
