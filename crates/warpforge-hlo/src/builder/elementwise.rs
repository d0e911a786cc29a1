//! Ops on each element, by name.

use warpforge_tensor::{DType, Kind};

use super::{Built, FunctionBuilder};
use crate::ir::{Binary, CompareKind, Direction, OpKind, Unary, ValueId};
use crate::types::{ElementType, TensorType};

/// A method for each op of one operand.
macro_rules! unary {
    ($($name:ident = $op:ident),+ $(,)?) => {
        impl FunctionBuilder<'_> {
            $(
                #[doc = concat!("[`Unary::", stringify!($op), "`] of each element.")]
                pub fn $name(&mut self, operand: ValueId) -> Built<ValueId> {
                    self.unary(Unary::$op, operand)
                }
            )+
        }
    };
}

/// A method for each op of two operands.
macro_rules! binary {
    ($($name:ident = $op:ident),+ $(,)?) => {
        impl FunctionBuilder<'_> {
            $(
                #[doc = concat!("[`Binary::", stringify!($op), "`] of each pair of elements.")]
                pub fn $name(&mut self, lhs: ValueId, rhs: ValueId) -> Built<ValueId> {
                    self.binary(Binary::$op, lhs, rhs)
                }
            )+
        }
    };
}

unary! {
    abs = Abs,
    cbrt = Cbrt,
    ceil = Ceil,
    count_leading_zeros = CountLeadingZeros,
    cosine = Cosine,
    exponential = Exponential,
    exponential_minus_one = ExponentialMinusOne,
    floor = Floor,
    imag = Imag,
    is_finite = IsFinite,
    log = Log,
    log_plus_one = LogPlusOne,
    logistic = Logistic,
    negate = Negate,
    not = Not,
    population_count = PopulationCount,
    real = Real,
    round_nearest_away_from_zero = RoundNearestAwayFromZero,
    round_nearest_even = RoundNearestEven,
    rsqrt = Rsqrt,
    sign = Sign,
    sine = Sine,
    sqrt = Sqrt,
    tan = Tan,
    tanh = Tanh,
    erf = ChloErf,
}

binary! {
    add = Add,
    and = And,
    atan2 = Atan2,
    complex = Complex,
    divide = Divide,
    maximum = Maximum,
    minimum = Minimum,
    multiply = Multiply,
    or = Or,
    power = Power,
    remainder = Remainder,
    shift_left = ShiftLeft,
    shift_right_arithmetic = ShiftRightArithmetic,
    shift_right_logical = ShiftRightLogical,
    subtract = Subtract,
    xor = Xor,
}

impl FunctionBuilder<'_> {
    /// Any op of one operand.
    pub fn unary(&mut self, unary: Unary, operand: ValueId) -> Built<ValueId> {
        self.one(OpKind::Unary(unary), &[operand])
    }

    /// Any op of two operands of one shape.
    pub fn binary(&mut self, binary: Binary, lhs: ValueId, rhs: ValueId) -> Built<ValueId> {
        self.one(OpKind::Binary(binary), &[lhs, rhs])
    }

    /// Whether a comparison holds, for each pair of elements, in the order that their type has.
    pub fn compare(&mut self, direction: Direction, lhs: ValueId, rhs: ValueId) -> Built<ValueId> {
        let kind = self.tensor_type(lhs)?.dtype().map(|dtype| match dtype.kind() {
            Kind::Float | Kind::Complex => CompareKind::Float,
            Kind::Signed => CompareKind::Signed,
            Kind::Unsigned | Kind::Boolean => CompareKind::Unsigned,
        });
        self.one(OpKind::Compare { direction, kind }, &[lhs, rhs])
    }

    /// The element of one tensor where the predicate holds, and of the other where not.
    pub fn select(
        &mut self,
        predicate: ValueId,
        on_true: ValueId,
        on_false: ValueId,
    ) -> Built<ValueId> {
        self.one(OpKind::Select, &[predicate, on_true, on_false])
    }

    /// Each element, but not below or above the bounds.
    pub fn clamp(&mut self, low: ValueId, operand: ValueId, high: ValueId) -> Built<ValueId> {
        self.one(OpKind::Clamp, &[low, operand, high])
    }

    /// The same numbers as elements of another type.
    pub fn convert(&mut self, operand: ValueId, dtype: DType) -> Built<ValueId> {
        let from = self.tensor_type(operand)?;
        let ty = TensorType { element: ElementType::Plain(dtype), ..from.clone() };
        self.one_of_type(OpKind::Convert, &[operand], ty)
    }

    /// The same bits as elements of another type.
    pub fn bitcast_convert(&mut self, operand: ValueId, ty: TensorType) -> Built<ValueId> {
        self.one_of_type(OpKind::BitcastConvert, &[operand], ty)
    }

    /// Each element rounded to fewer bits.
    pub fn reduce_precision(
        &mut self,
        operand: ValueId,
        exponent_bits: i64,
        mantissa_bits: i64,
    ) -> Built<ValueId> {
        self.one(OpKind::ReducePrecision { exponent_bits, mantissa_bits }, &[operand])
    }
}
