//! `sort`: slices of several tensors arranged together by the elements of some of them.
//!
//! What always holds: the result is that of a stable sort by the comparison the region makes. A region is taken where it
//! compares elements of one tensor, or of several one after the other, as exporters write it; what is compared becomes
//! whole numbers of the same order. Where a comparison orders no NaN, they come as in the total order.
#![allow(unsafe_code)]

use std::cmp::Ordering;

use warpforge_hlo::ir::{Binary, CompareKind, Direction, Function, Op, OpKind, Region, ValueId};
use warpforge_tensor::{DType, Kind};

use super::Launched;
use crate::EngineError;
use crate::kernels::{Cost, Kernel};
use crate::pattern::{sizes, splat_number};
use crate::pool::Pool;

/// What slices are sorted by: elements of one tensor, in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    /// Which of the tensors that are sorted together.
    tensor: usize,
    dtype: DType,
    descending: bool,
    /// Whether both zeros count as one, and all NaNs.
    zeros_equal: bool,
    nans_equal: bool,
}

/// A tensor that is sorted with the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sorted {
    operand: usize,
    bytes: usize,
}

/// The kernel.
pub(crate) struct Sorting {
    tensors: Vec<Sorted>,
    keys: Vec<Key>,
    /// Elements of a slice and how far apart they are: as many slices lie side by side.
    length: usize,
    stride: usize,
    slices: usize,
    cost: Cost,
}

/// Reads a function of one sort.
pub(super) fn recognize(function: &Function, cost: Cost) -> Option<Sorting> {
    let [op, _] = function.body.ops.as_slice() else { return None };
    let OpKind::Sort { dimension, .. } = &op.kind else { return None };
    let [region] = op.regions.as_slice() else { return None };
    let argument = |value| function.body.arguments.iter().position(|argument| *argument == value);
    let tensor = |value: &ValueId| {
        let bytes = function.ty(*value).tensor()?.storage().bytes();
        Some(Sorted { operand: argument(*value)?, bytes })
    };
    let tensors = op.operands.iter().map(tensor).collect::<Option<Vec<_>>>()?;
    let shape = sizes(function.ty(*op.operands.first()?).tensor()?)?;
    let rank = shape.len() as i64;
    let along = if *dimension < 0 { dimension + rank } else { *dimension };
    let along = usize::try_from(along).ok().filter(|along| *along < shape.len())?;
    let length = shape[along];
    u32::try_from(length).ok()?;
    let elements: usize = shape.iter().product();
    Some(Sorting {
        tensors,
        keys: Comparing { function, region }.keys()?,
        length,
        stride: shape[along + 1..].iter().product(),
        slices: elements / length.max(1),
        cost,
    })
}

/// A region that compares.
struct Comparing<'a> {
    function: &'a Function,
    region: &'a Region,
}

impl Comparing<'_> {
    fn keys(&self) -> Option<Vec<Key>> {
        let (end, _) = self.region.ops.split_last()?;
        let mut keys = Vec::new();
        self.lexicographic(*end.operands.first()?, &mut keys)?;
        Some(keys)
    }

    fn maker(&self, value: ValueId) -> Option<&Op> {
        self.region.ops.iter().find(|op| op.results.first() == Some(&value))
    }

    /// A comparison, or one that decides only where another finds equals: `a < b or (a == b and ...)`.
    fn lexicographic(&self, value: ValueId, keys: &mut Vec<Key>) -> Option<()> {
        let op = self.maker(value)?;
        match (&op.kind, op.operands.as_slice()) {
            (OpKind::Compare { .. }, _) => {
                let (direction, key) = self.comparison(op)?;
                matches!(direction, Direction::Lt | Direction::Gt).then(|| keys.push(key))
            }
            (OpKind::Binary(Binary::Or), [less, otherwise]) => {
                let (direction, key) = self.comparison(self.maker(*less)?)?;
                let both = self.maker(*otherwise)?;
                let (OpKind::Binary(Binary::And), [equal, next]) =
                    (&both.kind, both.operands.as_slice())
                else {
                    return None;
                };
                let (equality, same) = self.comparison(self.maker(*equal)?)?;
                let fits = matches!(direction, Direction::Lt | Direction::Gt)
                    && equality == Direction::Eq
                    && Key { descending: key.descending, ..same } == key;
                keys.push(key);
                self.lexicographic(*next, keys).filter(|()| fits)
            }
            _ => None,
        }
    }

    /// What is compared, first the first element, and how.
    fn comparison(&self, op: &Op) -> Option<(Direction, Key)> {
        let (OpKind::Compare { direction, kind }, [a, b]) = (&op.kind, op.operands.as_slice())
        else {
            return None;
        };
        let (first, second) = (self.canonical(*a)?, self.canonical(*b)?);
        let place = |value| self.region.arguments.iter().position(|argument| *argument == value);
        let (at, other) = (place(first.0)?, place(second.0)?);
        let dtype = self.function.ty(first.0).tensor()?.dtype()?;
        let key = Key::plain(dtype, *direction == Direction::Gt)?;
        if at % 2 != 0 || other != at + 1 || first.1 != second.1 {
            return None;
        }
        let [zeros, nans] = first.1;
        let partial = dtype.is_float() && *kind != Some(CompareKind::TotalOrder);
        let zeros_equal = zeros || partial;
        Some((*direction, Key { tensor: at / 2, zeros_equal, nans_equal: nans, ..key }))
    }

    /// The argument that a value is, and whether its zeros and its NaNs were made one each.
    fn canonical(&self, value: ValueId) -> Option<(ValueId, [bool; 2])> {
        if self.region.arguments.contains(&value) {
            return Some((value, [false; 2]));
        }
        let op = self.maker(value)?;
        let (OpKind::Select, [chosen, instead, otherwise]) = (&op.kind, op.operands.as_slice())
        else {
            return None;
        };
        let (argument, mut one) = self.canonical(*otherwise)?;
        let test = self.maker(*chosen)?;
        let (OpKind::Compare { direction, .. }, [a, b]) = (&test.kind, test.operands.as_slice())
        else {
            return None;
        };
        let number = self.number(*instead)?;
        let of_argument =
            |value: ValueId| self.canonical(value).is_some_and(|(found, _)| found == argument);
        let is_zero = *direction == Direction::Eq && number == 0.0 && self.number(*b) == Some(0.0);
        let is_nan = *direction == Direction::Ne && number.is_nan() && a == b;
        if !of_argument(*a) || !(is_zero || is_nan) {
            return None;
        }
        one[0] |= is_zero;
        one[1] |= is_nan;
        Some((argument, one))
    }

    fn number(&self, value: ValueId) -> Option<f64> {
        match &self.maker(value)?.kind {
            OpKind::Constant(dense) => splat_number(dense),
            _ => None,
        }
    }
}

impl Key {
    /// Elements of the only tensor in their order, floats in total order; none for types that have no order here.
    pub(super) fn plain(dtype: DType, descending: bool) -> Option<Self> {
        let whole = matches!(dtype.kind(), Kind::Signed | Kind::Unsigned | Kind::Boolean);
        let float = matches!(dtype, DType::F64 | DType::F32 | DType::F16 | DType::BF16);
        let key = Self { tensor: 0, dtype, descending, zeros_equal: false, nans_equal: false };
        (whole || float).then_some(key)
    }

    /// An element as a number of the same order.
    ///
    /// # Safety
    ///
    /// The tensor has an element of the key's type there.
    pub(super) unsafe fn of(&self, tensor: *const u8, at: usize) -> u64 {
        // SAFETY: the caller's promise.
        let bits: u64 = unsafe {
            match self.dtype.bytes() {
                1 => u64::from(*tensor.add(at)),
                2 => u64::from(*tensor.cast::<u16>().add(at)),
                4 => u64::from(*tensor.cast::<u32>().add(at)),
                _ => *tensor.cast::<u64>().add(at),
            }
        };
        let width = 8 * self.dtype.bytes() as u32;
        let (sign, all) = (1_u64 << (width - 1), u64::MAX >> (64 - width));
        let number = match self.dtype.kind() {
            Kind::Signed => bits ^ sign,
            Kind::Unsigned | Kind::Boolean => bits,
            _ => {
                let infinity = match self.dtype {
                    DType::F64 => 0x7ff0_0000_0000_0000,
                    DType::F32 => 0x7f80_0000,
                    DType::BF16 => 0x7f80,
                    _ => 0x7c00,
                };
                let magnitude = bits & !sign;
                if self.nans_equal && magnitude > infinity {
                    // The usual one: positive, above every number.
                    infinity | 1 | sign
                } else if self.zeros_equal && magnitude == 0 {
                    sign
                } else if bits & sign != 0 {
                    !bits & all
                } else {
                    bits | sign
                }
            }
        };
        if self.descending { !number } else { number }
    }
}

impl Sorting {
    /// Sorts one slice.
    ///
    /// # Safety
    ///
    /// Memory is that of the launch, and nobody else writes the slice.
    unsafe fn slice(&self, memory: &Launched<'_>, number: usize, order: &mut Vec<(u64, u32)>) {
        let begin = number / self.stride * self.length * self.stride + number % self.stride;
        let place = |at: u32| begin + at as usize * self.stride;
        let key = |key: &Key, at: u32| {
            // SAFETY: the place is that of an element.
            unsafe { key.of(memory.inputs[self.tensors[key.tensor].operand], place(at)) }
        };
        order.clear();
        let (first, others) = (&self.keys[0], &self.keys[1..]);
        order.extend((0..self.length as u32).map(|at| (key(first, at), at)));
        // Places differ, so that the order of equals is that of their places.
        if others.is_empty() {
            order.sort_unstable();
        } else {
            order.sort_unstable_by(|a, b| {
                let next = |ordering: Ordering, other: &Key| {
                    ordering.then_with(|| key(other, a.1).cmp(&key(other, b.1)))
                };
                others.iter().fold(a.0.cmp(&b.0), next).then(a.1.cmp(&b.1))
            });
        }
        for (tensor, output) in self.tensors.iter().zip(memory.outputs) {
            let from = memory.inputs[tensor.operand];
            for (to, (_, at)) in (0..self.length as u32).zip(order.iter()) {
                let (from_byte, to_byte) = (place(*at) * tensor.bytes, place(to) * tensor.bytes);
                // SAFETY: both places are those of elements.
                unsafe {
                    let (from, to) = (from.add(from_byte), output.add(to_byte));
                    std::ptr::copy_nonoverlapping(from, to, tensor.bytes);
                }
            }
        }
    }
}

impl Kernel for Sorting {
    fn backend(&self) -> &'static str {
        "sort"
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
        if self.length == 0 {
            return Ok(());
        }
        let memory = Launched { inputs, outputs };
        pool.run_ranges(self.slices, (1 << 12) / self.length, 4, &|range| {
            let memory = &memory;
            let mut order = Vec::with_capacity(self.length);
            for number in range {
                // SAFETY: the caller's promise; each slice is one thread's.
                unsafe { self.slice(memory, number, &mut order) };
            }
        });
        Ok(())
    }
}
