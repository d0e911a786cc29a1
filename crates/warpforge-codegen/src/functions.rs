//! Functions of one f32 as straight-line programs, at most 2 units in the last place off: polynomials, with one set of
//! coefficients, or with those that each element picks from tables.

use crate::coefficients::{
    ERF_END, ERF_PIECES, ERF_PIECES_SHORT, EXP_NEAR, EXP_SHORT, EXPM1, LN_2_HIGH, LN_2_LOW, LOG,
    QUARTERS, ROUNDING, SIXTEENTHS, TANH,
};
use crate::vector::{Comparison, Node, One, Program, Table, Two, Value};

impl Program {
    /// A polynomial, the constant term first.
    fn polynomial(&mut self, x: Value, coefficients: &[f32]) -> Value {
        let coefficients = coefficients.iter().map(|number| Node::Constant(number.to_bits()));
        let coefficients: Vec<Value> = coefficients.map(|node| self.node(node)).collect();
        self.sum_of_powers(x, &coefficients)
    }

    /// A polynomial of so many terms, whose coefficients come from a table for each power.
    fn picked_polynomial(
        &mut self,
        x: Value,
        index: Value,
        table: fn(usize) -> Table,
        terms: usize,
    ) -> Value {
        let picks = (0..terms).map(|power| Node::Pick { table: table(power), index });
        let coefficients: Vec<Value> = picks.map(|node| self.node(node)).collect();
        self.sum_of_powers(x, &coefficients)
    }

    fn sum_of_powers(&mut self, x: Value, coefficients: &[Value]) -> Value {
        let powers = coefficients.iter().copied().rev();
        powers.reduce(|sum, coefficient| self.fused(sum, x, coefficient)).unwrap_or(x)
    }

    /// The integer `n`, as a float, and `r` with `x = n ln 2 + r`, for `x` that are not far from 0.
    fn reduced(&mut self, x: Value) -> (Value, Value) {
        let n = self.halvings(x);
        let (high, low) = (self.constant(LN_2_HIGH), self.constant(LN_2_LOW));
        let r = self.fused_negative(n, high, x);
        (n, self.fused_negative(n, low, r))
    }

    /// The integer nearest to `x / ln 2`.
    fn halvings(&mut self, x: Value) -> Value {
        let (log2_e, rounding) = (self.constant(std::f32::consts::LOG2_E), self.constant(ROUNDING));
        let shifted = self.fused(x, log2_e, rounding);
        self.subtract(shifted, rounding)
    }

    /// `value * 2^n`.
    fn scaled(&mut self, value: Value, n: Value) -> Value {
        self.two(Two::Scale, value, n)
    }

    /// Where a comparison with a number holds.
    fn against(&mut self, comparison: Comparison, x: Value, number: f32) -> Value {
        let number = self.constant(number);
        self.compare(comparison, x, number)
    }

    /// e to the power of x. What is no number stays none: of two the second is taken then.
    pub(crate) fn exp(&mut self, x: Value) -> Value {
        let (lowest, highest) = (self.constant(-104.0), self.constant(89.0));
        let bounded = self.two(Two::GreaterOrSecond, lowest, x);
        let bounded = self.two(Two::LessOrSecond, highest, bounded);
        let (value, n) = self.power(bounded, false);
        self.scaled(value, n)
    }

    /// The same for what is computed with further: nearer, and for x that are neither low nor high.
    fn exp_to_go_on(&mut self, x: Value) -> Value {
        let (value, n) = self.power(x, true);
        self.scaled(value, n)
    }

    /// e to the power of x, where that is not above 0; 0 where it is too small to be normal.
    pub(crate) fn exp_of_negative(&mut self, x: Value) -> Value {
        let (value, exponent) = self.power(x, false);
        self.scaled_where_normal(x, value, exponent)
    }

    /// A value and an exponent, up to whose floor 2 is raised, for e to the power of an x that is not far from 0: the power of
    /// the nearest sixteenth is picked, the rest is a polynomial.
    fn power(&mut self, x: Value, exact: bool) -> (Value, Value) {
        let (log2_e, nearest) =
            (self.constant(std::f32::consts::LOG2_E), self.constant(SIXTEENTHS));
        let index = self.fused(x, log2_e, nearest);
        let n = self.subtract(index, nearest);
        let (high, low) = (self.constant(LN_2_HIGH), self.constant(LN_2_LOW));
        let r = self.fused_negative(n, high, x);
        let r = self.fused_negative(n, low, r);
        let p = self.polynomial(r, &EXP_NEAR);
        let square = self.multiply(r, r);
        let rest = self.fused(square, p, r);
        let power = self.node(Node::Pick { table: Table::Power, index });
        if !exact {
            return (self.fused(power, rest, power), n);
        }
        let left = self.node(Node::Pick { table: Table::PowerRest, index });
        let rest = self.fused(power, rest, left);
        (self.add(power, rest), n)
    }

    /// The same, with an error of less than 2^-16 of the power, for what is rounded to fewer bits.
    pub(crate) fn short_exp_of_negative(&mut self, x: Value) -> Value {
        let n = self.halvings(x);
        let ln_2 = self.constant(std::f32::consts::LN_2);
        let r = self.fused_negative(n, ln_2, x);
        let p = self.polynomial(r, &EXP_SHORT);
        let one = self.constant(1.0);
        let p = self.fused(p, r, one);
        let value = self.fused(p, r, one);
        self.scaled_where_normal(x, value, n)
    }

    /// A value times 2 to the power of an exponent, or 0 where x is so low that e to its power is not normal.
    fn scaled_where_normal(&mut self, x: Value, value: Value, exponent: Value) -> Value {
        let truth = self.against(Comparison::NotLess, x, -87.0);
        self.node(Node::ScaleWhere { truth, value, exponent })
    }

    /// e to the power of x, minus 1, also exact where x is small.
    pub(crate) fn exp_minus_one(&mut self, x: Value) -> Value {
        let (lowest, highest) = (self.constant(-30.0), self.constant(89.0));
        let low = self.compare(Comparison::Less, x, lowest);
        let high = self.compare(Comparison::Greater, x, highest);
        let bounded = self.select(low, lowest, x);
        let bounded = self.select(high, highest, bounded);
        let (n, r) = self.reduced(bounded);
        let p = self.polynomial(r, &EXPM1);
        let square = self.multiply(r, r);
        let small = self.fused(square, p, r);
        let one = self.constant(1.0);
        // Powers beyond what the 1 counts for are made in two steps.
        let power = self.scaled(one, n);
        let less = self.subtract(power, one);
        let value = self.fused(small, power, less);
        let sum = self.add(small, one);
        let large = self.scaled(sum, n);
        let far = self.against(Comparison::Greater, x, 21.0);
        let value = self.select(far, large, value);
        let zero = self.bits(0);
        let near = self.compare(Comparison::Equal, n, zero);
        let value = self.select(near, small, value);
        let nothing = self.compare(Comparison::Equal, x, zero);
        let value = self.select(nothing, x, value);
        let none = self.compare(Comparison::Unordered, x, x);
        self.select(none, x, value)
    }

    /// The natural logarithm.
    pub(crate) fn log(&mut self, x: Value) -> Value {
        let tiny = self.against(Comparison::Less, x, f32::MIN_POSITIVE);
        let up = self.constant(8_388_608.0);
        let raised = self.multiply(x, up);
        let normal = self.select(tiny, raised, x);
        let start = self.bits(0x3f35_04f3);
        let shifted = self.two(Two::SubtractIntegers, normal, start);
        let exponent = self.one(One::ShiftSigned(23), shifted);
        let n = self.small_integer(exponent);
        let (zero, lowered) = (self.constant(0.0), self.constant(23.0));
        let less = self.select(tiny, lowered, zero);
        let n = self.subtract(n, less);
        let mask = self.bits(0x007f_ffff);
        let mantissa = self.two(Two::And, shifted, mask);
        let mantissa = self.two(Two::AddIntegers, mantissa, start);
        let one = self.constant(1.0);
        let f = self.subtract(mantissa, one);
        let square = self.multiply(f, f);
        let p = self.polynomial(f, &LOG);
        let tail = self.multiply(p, square);
        let tail = self.multiply(tail, f);
        let (high, low) = (self.constant(LN_2_HIGH), self.constant(LN_2_LOW));
        let tail = self.fused(n, low, tail);
        let half = self.constant(-0.5);
        let sum = self.fused(half, square, tail);
        let sum = self.add(sum, f);
        let value = self.fused(n, high, sum);
        let infinity = self.constant(f32::INFINITY);
        let endless = self.compare(Comparison::Equal, x, infinity);
        let value = self.select(endless, x, value);
        let nothing = self.compare(Comparison::Equal, x, zero);
        let lowest = self.constant(f32::NEG_INFINITY);
        let value = self.select(nothing, lowest, value);
        let none = self.constant(f32::NAN);
        let negative = self.compare(Comparison::Less, x, zero);
        let value = self.select(negative, none, value);
        let unknown = self.compare(Comparison::Unordered, x, x);
        self.select(unknown, none, value)
    }

    /// An integer of less than 22 bits as a float.
    fn small_integer(&mut self, n: Value) -> Value {
        let rounding = self.constant(ROUNDING);
        let shifted = self.two(Two::AddIntegers, n, rounding);
        self.subtract(shifted, rounding)
    }

    /// The hyperbolic tangent.
    pub(crate) fn tanh(&mut self, x: Value) -> Value {
        let size = self.size(x);
        let square = self.multiply(x, x);
        let p = self.polynomial(square, &TANH);
        let p = self.multiply(p, square);
        let small = self.fused(p, x, x);
        let most = self.constant(20.0);
        let bounded = self.two(Two::LessOrSecond, most, size);
        let (one, two) = (self.constant(1.0), self.constant(2.0));
        let double = self.multiply(bounded, two);
        let power = self.exp_to_go_on(double);
        let sum = self.add(power, one);
        let quotient = self.divide(two, sum);
        let large = self.subtract(one, quotient);
        let large = self.with_sign(large, x);
        let near = self.against(Comparison::Less, size, 0.625);
        self.select(near, small, large)
    }

    /// `1 / (1 + e^-x)`.
    pub(crate) fn logistic(&mut self, x: Value) -> Value {
        let size = self.size(x);
        let zero = self.constant(0.0);
        let most = self.constant(104.0);
        let bounded = self.two(Two::LessOrSecond, most, size);
        let negative = self.subtract(zero, bounded);
        let power = self.exp_to_go_on(negative);
        let one = self.constant(1.0);
        let sum = self.add(power, one);
        let positive = self.compare(Comparison::GreaterOrEqual, x, zero);
        let above = self.select(positive, one, power);
        let quotient = self.divide(above, sum);
        let back = self.subtract(sum, one);
        let lost = self.subtract(power, back);
        self.fused_negative(quotient, lost, quotient)
    }

    /// The error function: a polynomial for each quarter, whose coefficients elements pick.
    pub(crate) fn erf(&mut self, x: Value) -> Value {
        let size = self.size(x);
        let most = self.constant(ERF_END);
        let bounded = self.two(Two::LessOrSecond, most, size);
        let (piece, d) = self.piece(bounded);
        let value = self.picked_polynomial(d, piece, Table::Erf, ERF_PIECES.len());
        let value = self.add(value, d);
        self.with_sign(value, x)
    }

    /// The same, with an error of less than 2^-13 of the value, for what is a number of bf16.
    pub(crate) fn short_erf(&mut self, x: Value) -> Value {
        let (most, least) = (self.constant(ERF_END), self.constant(-ERF_END));
        let bounded = self.two(Two::LessOrSecond, most, x);
        let bounded = self.two(Two::GreaterOrSecond, least, bounded);
        let size = self.size(bounded);
        let (piece, d) = self.piece(size);
        let value = self.picked_polynomial(d, piece, Table::ErfShort, ERF_PIECES_SHORT.len());
        self.multiply(value, bounded)
    }

    /// The nearest quarter, its number in the last bits, and how far on a number is.
    fn piece(&mut self, size: Value) -> (Value, Value) {
        let quarters = self.constant(QUARTERS);
        let piece = self.add(size, quarters);
        let begin = self.subtract(piece, quarters);
        (piece, self.subtract(size, begin))
    }

    /// The greater of two numbers; what is none stays none.
    pub(crate) fn extreme(&mut self, op: Two, a: Value, b: Value) -> Value {
        // Of a constant and a number the processor's own instruction is right, up to the signs of zeros.
        let constant = |value: Value| match self.nodes[value.0] {
            Node::Constant(bits) => Some(f32::from_bits(bits)).filter(|number| !number.is_nan()),
            _ => None,
        };
        let known = match (constant(a), constant(b)) {
            (_, Some(number)) => Some((b, a, number)),
            (Some(number), None) => Some((a, b, number)),
            (None, None) => None,
        };
        if let Some((constant, other, number)) = known
            && (number != 0.0 || (op == Two::Greater && number.is_sign_positive()))
        {
            let op = if op == Two::Greater { Two::GreaterOrSecond } else { Two::LessOrSecond };
            let value = self.two(op, constant, other);
            // A negative zero becomes a positive one.
            return if number == 0.0 { self.add(value, constant) } else { value };
        }
        let value = self.two(op, a, b);
        let none = self.compare(Comparison::Unordered, a, b);
        let sum = self.add(a, b);
        self.select(none, sum, value)
    }

    /// The bits of a bf16, rounded to the nearest, ties to even.
    pub(crate) fn narrowed(&mut self, x: Value) -> Value {
        let high = self.one(One::ShiftRight(16), x);
        let (one, half, quiet) = (self.bits(1), self.bits(0x7fff), self.bits(0x40));
        let odd = self.two(Two::And, high, one);
        let half = self.two(Two::AddIntegers, odd, half);
        let sum = self.two(Two::AddIntegers, x, half);
        let rounded = self.one(One::ShiftRight(16), sum);
        let quiet = self.two(Two::Or, high, quiet);
        let none = self.compare(Comparison::Unordered, x, x);
        self.select(none, quiet, rounded)
    }
}
