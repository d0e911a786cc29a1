//! `reduce` of values and their places together: the greatest (or least) along a dimension and where it is, as `argmax` is
//! written. Of equal ones the first place counts; a NaN counts as more than any number, the first one found.
#![allow(unsafe_code)]

use warpforge_hlo::ir::{Binary, Direction, Function, Op, OpKind, Region, ValueId};
use warpforge_tensor::DType;

use super::Launched;
use super::arithmetic::{Arithmetic, WithArithmetic, combines, with_arithmetic};
use super::index::read;
use crate::EngineError;
use crate::kernels::{Cost, Kernel};
use crate::pattern::sizes;
use crate::pool::Pool;

/// The kernel.
pub(crate) struct Greatest {
    /// Operands of the cluster: values, places, and where both begin.
    operands: [usize; 4],
    dtype: DType,
    place_dtype: DType,
    /// Whether the least is looked for.
    least: bool,
    /// Elements looked at for one result, and results that lie side by side.
    length: usize,
    inner: usize,
    count: usize,
    cost: Cost,
}

/// Reads a function of one such reduction along one dimension.
pub(super) fn recognize(function: &Function, cost: Cost) -> Option<Greatest> {
    let [op, _] = function.body.ops.as_slice() else { return None };
    let OpKind::Reduce { dimensions } = &op.kind else { return None };
    let ([region], [dimension]) = (op.regions.as_slice(), dimensions.as_slice()) else {
        return None;
    };
    let argument = |value| function.body.arguments.iter().position(|argument| *argument == value);
    let operands: Vec<usize> =
        op.operands.iter().map(|value| argument(*value)).collect::<Option<_>>()?;
    let operands = <[usize; 4]>::try_from(operands).ok()?;
    let values = function.ty(op.operands[0]).tensor()?;
    let (dtype, shape) = (values.dtype()?, sizes(values)?);
    let place_dtype = function.ty(op.operands[1]).tensor()?.dtype()?;
    let least = Picking { region }.least()?;
    let along = usize::try_from(*dimension).ok().filter(|along| *along < shape.len())?;
    if !combines(Binary::Maximum, dtype) || !matches!(place_dtype, DType::I32 | DType::I64) {
        return None;
    }
    let elements: usize = shape.iter().product();
    Some(Greatest {
        operands,
        dtype,
        place_dtype,
        least,
        length: shape[along],
        inner: shape[along + 1..].iter().product(),
        count: shape
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != along)
            .map(|(_, size)| size)
            .product(),
        cost: Cost { flops: elements as u64, ..cost },
    })
}

/// A region that picks one of two values with their places.
struct Picking<'a> {
    region: &'a Region,
}

impl Picking<'_> {
    fn maker(&self, value: ValueId) -> Option<&Op> {
        self.region.ops.iter().find(|op| op.results.first() == Some(&value))
    }

    /// The operands of an op of one kind, in either order where `first` does not hold of the first.
    fn either(
        &self,
        value: ValueId,
        op: Binary,
        first: impl Fn(ValueId) -> bool,
    ) -> Option<[ValueId; 2]> {
        let maker = self.maker(value)?;
        match (&maker.kind, maker.operands.as_slice()) {
            (OpKind::Binary(found), [a, b]) if *found == op => {
                if first(*a) {
                    Some([*a, *b])
                } else {
                    first(*b).then_some([*b, *a])
                }
            }
            _ => None,
        }
    }

    fn compares(&self, value: ValueId, direction: Direction, of: [ValueId; 2]) -> bool {
        self.maker(value).is_some_and(|op| {
            matches!(&op.kind, OpKind::Compare { direction: found, .. } if *found == direction)
                && op.operands == of
        })
    }

    fn selects(&self, value: ValueId, of: [ValueId; 2]) -> Option<ValueId> {
        let op = self.maker(value).filter(|op| op.kind == OpKind::Select)?;
        (op.operands.get(1..) == Some(of.as_slice())).then(|| op.operands[0])
    }

    /// Whether the least is picked; none where it is another region.
    fn least(&self) -> Option<bool> {
        let [a, a_place, b, b_place] =
            *<&[ValueId; 4]>::try_from(self.region.arguments.as_slice()).ok()?;
        let [value, place] =
            *<&[ValueId; 2]>::try_from(self.region.ops.last()?.operands.as_slice()).ok()?;
        let picked = self.selects(value, [a, b])?;
        let placed = self.selects(place, [a_place, b_place])?;
        // The first is picked where it is more, or no number; its place also where it is equal and comes before.
        let [more, nan] = self.either(picked, Binary::Or, |value| {
            self.compares(value, Direction::Gt, [a, b])
                || self.compares(value, Direction::Lt, [a, b])
        })?;
        let [_, equal] = self.either(placed, Binary::Or, |value| value == picked)?;
        let [_, before] =
            self.either(equal, Binary::And, |value| self.compares(value, Direction::Eq, [a, b]))?;
        let fits = self.compares(nan, Direction::Ne, [a, a])
            && self.compares(before, Direction::Lt, [a_place, b_place]);
        fits.then(|| self.compares(more, Direction::Lt, [a, b]))
    }
}

/// One launch.
struct Run<'a> {
    kernel: &'a Greatest,
    pool: &'a Pool,
    memory: Launched<'a>,
}

impl WithArithmetic for Run<'_> {
    fn run<T: Copy, W: Copy + PartialOrd + Send + Sync, A: Arithmetic<T, W>>(self, arithmetic: A) {
        let Run { kernel, pool, memory } = self;
        let Greatest { length, inner, place_dtype, least, .. } = *kernel;
        pool.run_ranges(kernel.count, (1 << 13) / length.max(1), 4, &|range| {
            let memory = &memory;
            let [values, places, first_value, first_place] =
                kernel.operands.map(|operand| memory.inputs[operand]);
            for number in range {
                let begin = number / inner * length * inner + number % inner;
                // SAFETY: the beginnings are scalars of these types.
                let (mut kept, mut kept_place) =
                    unsafe { (*first_value.cast::<T>(), read(first_place, place_dtype, 0)) };
                let mut best = arithmetic.load(kept);
                for at in 0..length {
                    let from = begin + at * inner;
                    // SAFETY: the place is that of an element.
                    let element = unsafe { *values.cast::<T>().add(from) };
                    let value = arithmetic.load(element);
                    let more = if least { best < value } else { best > value };
                    // What does not equal itself is no number.
                    #[allow(clippy::eq_op)]
                    let stays = more || best != best;
                    if stays {
                        continue;
                    }
                    // SAFETY: as above.
                    let place = unsafe { read(places, place_dtype, from) };
                    if best != value || place <= kept_place {
                        kept_place = place;
                    }
                    (best, kept) = (value, element);
                }
                // SAFETY: there is a result of these types for each number.
                unsafe {
                    *memory.outputs[0].cast::<T>().add(number) = kept;
                    let place = memory.outputs[1];
                    match place_dtype {
                        DType::I32 => place.cast::<i32>().add(number).write(kept_place as i32),
                        _ => place.cast::<i64>().add(number).write(kept_place),
                    }
                }
            }
        });
    }
}

impl Kernel for Greatest {
    fn backend(&self) -> &'static str {
        "reduce"
    }

    fn cost(&self) -> Cost {
        self.cost
    }

    unsafe fn launch(
        &self,
        pool: &Pool,
        inputs: &[*const u8],
        outputs: &[*mut u8],
    ) -> Result<(), EngineError> {
        let memory = Launched { inputs, outputs };
        with_arithmetic(self.dtype, Binary::Maximum, Run { kernel: self, pool, memory });
        Ok(())
    }
}
