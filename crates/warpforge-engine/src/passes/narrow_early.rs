//! What is read only as narrower numbers, in other shapes, is narrowed before its shape is changed: whoever makes it writes it so,
//! and whoever reads it finds it where it lies. So is what only the greatest in a window is wanted of. What was widened for
//! nothing but to be looked up, and narrowed again, stays narrow.

use std::collections::{HashMap, HashSet};

use warpforge_hlo::ir::{Binary, Function, Op, OpKind, Program, Region, ValueId};
use warpforge_hlo::types::{ElementType, TensorType, Type};
use warpforge_tensor::DType;

use super::{Pass, Rewriter, rewrite};
use crate::EngineError;
use crate::pattern::combining;

/// Views that are looked through at most, one behind the other.
const MOST_VIEWS: usize = 16;

/// The pass.
#[derive(Debug, Clone, Copy)]
pub struct NarrowEarly;

impl Pass for NarrowEarly {
    fn name(&self) -> &'static str {
        "narrow-early"
    }

    fn run(&self, program: Program, entry: &str) -> Result<Program, EngineError> {
        rewrite(program, entry, |function| {
            let reader = Reader::new(function);
            let mut rewriter = Rewriter::new(function);
            // Old values, and what they are in the new function as narrower numbers.
            let mut narrow: HashMap<ValueId, ValueId> = HashMap::new();
            for op in &function.body.ops {
                if let Some(from) = op.operands.first().and_then(|from| narrow.get(from).copied()) {
                    if op.kind == OpKind::Convert {
                        rewriter.replace(op.results[0], from);
                        continue;
                    }
                    let Some(ty) = function.ty(op.results[0]).tensor().cloned() else { continue };
                    let dtype = rewriter.tensor(from).map(|ty| ty.element.clone());
                    let ty = TensorType { element: dtype.unwrap_or(ty.element.clone()), ..ty };
                    let mut operands = rewriter.values(&op.operands[1..]);
                    let mut regions = Vec::new();
                    if let Some(binary) = greatest(op) {
                        let one = TensorType {
                            element: ty.element.clone(),
                            ..TensorType::new(DType::F32, &[])
                        };
                        for operand in &mut operands {
                            *operand =
                                rewriter.emit_one(OpKind::Convert, vec![*operand], one.clone(), op);
                        }
                        regions.push(region(&mut rewriter, binary, &one, op));
                    }
                    operands.insert(0, from);
                    let new = rewriter.emit_with(op.kind.clone(), operands, ty, regions, op);
                    narrow.insert(op.results[0], new);
                    continue;
                }
                rewriter.copy(function, op);
                for result in &op.results {
                    let Some(dtype) = reader.narrowed(op, *result) else { continue };
                    let new = match reader.before_widening(op, dtype) {
                        Some(before) => rewriter.value(before),
                        None => {
                            let value = rewriter.value(*result);
                            let Some(ty) = rewriter.tensor(value).cloned() else { continue };
                            let ty = TensorType { element: ElementType::Plain(dtype), ..ty };
                            rewriter.emit_one(OpKind::Convert, vec![value], ty, op)
                        }
                    };
                    narrow.insert(*result, new);
                }
            }
            Ok(rewriter.finish())
        })
    }
}

/// Whether an op only says where the elements of its operand lie.
fn is_view(op: &Op) -> bool {
    matches!(op.kind, OpKind::Reshape | OpKind::Transpose { .. } | OpKind::Slice { .. })
}

/// Whether an op looks up whole elements of a value, or finds the greatest or least of them, which is one of them.
fn picks(op: &Op, value: ValueId) -> bool {
    let picks = matches!(op.kind, OpKind::Gather { .. }) || greatest(op).is_some();
    picks && op.operands[0] == value && !op.operands[1..].contains(&value)
}

/// What finds the greatest or least number in a window, if an op does.
fn greatest(op: &Op) -> Option<Binary> {
    let (OpKind::ReduceWindow(_), [_, _], [region]) =
        (&op.kind, op.operands.as_slice(), op.regions.as_slice())
    else {
        return None;
    };
    combining(region).filter(|binary| matches!(binary, Binary::Maximum | Binary::Minimum))
}

/// A region that combines two numbers of a type.
fn region(rewriter: &mut Rewriter, binary: Binary, ty: &TensorType, origin: &Op) -> Region {
    let arguments = vec![
        rewriter.fresh_argument(Type::Tensor(ty.clone())),
        rewriter.fresh_argument(Type::Tensor(ty.clone())),
    ];
    let outer = rewriter.open();
    let found = rewriter.emit_one(OpKind::Binary(binary), arguments.clone(), ty.clone(), origin);
    rewriter.emit(OpKind::Return, vec![found], Vec::new(), origin);
    Region { arguments, ops: rewriter.close(outer) }
}

struct Reader<'a> {
    function: &'a Function,
    readers: HashMap<ValueId, Vec<&'a Op>>,
    /// What is returned, and what regions read.
    elsewhere: HashSet<ValueId>,
}

impl<'a> Reader<'a> {
    fn new(function: &'a Function) -> Self {
        let mut readers: HashMap<ValueId, Vec<&Op>> = HashMap::new();
        let mut elsewhere = HashSet::new();
        for op in &function.body.ops {
            for operand in &op.operands {
                readers.entry(*operand).or_default().push(op);
            }
            for region in &op.regions {
                read_in(region, &mut elsewhere);
            }
        }
        Self { function, readers, elsewhere }
    }

    fn dtype(&self, value: ValueId) -> Option<DType> {
        self.function.ty(value).tensor()?.dtype()
    }

    /// The narrower type that a result of an op is read as, wherever it is, at least once in another shape.
    fn narrowed(&self, op: &Op, value: ValueId) -> Option<DType> {
        if is_view(op) || matches!(op.kind, OpKind::Constant(_)) {
            return None;
        }
        // Where it was narrow before, nothing is narrowed that was not.
        let widened = op.operands.first().and_then(|from| self.dtype(*from));
        let widened = widened.filter(|dtype| self.before_widening(op, *dtype).is_some());
        let readers = self.readers.get(&value)?;
        let moves = |reader: &&Op| self.keeps(reader, value, widened.is_some());
        readers.iter().any(moves).then_some(())?;
        let found = self.only(value, MOST_VIEWS, widened.is_some())?;
        widened.is_none_or(|dtype| dtype == found).then_some(found)
    }

    /// Whether an op has the same result, narrowed, when it reads a value that is narrowed: it places elements, or finds the greatest
    /// of them, of which rounding changes no order. What it looks up would be more to narrow than what it finds, where it was
    /// not narrow before.
    fn keeps(&self, reader: &Op, value: ValueId, widened: bool) -> bool {
        let picks = picks(reader, value) && (widened || greatest(reader).is_some());
        is_view(reader) || picks
    }

    /// The one narrower type that a value is read as by all that read it, behind so many views at most; where it was narrow
    /// before, behind ops that pick elements, too.
    fn only(&self, value: ValueId, views: usize, widened: bool) -> Option<DType> {
        if self.dtype(value)? != DType::F32 || self.elsewhere.contains(&value) {
            return None;
        }
        let mut found = None;
        for reader in self.readers.get(&value)? {
            let dtype = match &reader.kind {
                OpKind::Convert => self.dtype(reader.results[0])?,
                _ if self.keeps(reader, value, widened) => {
                    self.only(reader.results[0], views.checked_sub(1)?, widened)?
                }
                _ => return None,
            };
            if !matches!(dtype, DType::BF16 | DType::F16) || found.is_some_and(|one| one != dtype) {
                return None;
            }
            found = Some(dtype);
        }
        found
    }

    /// What an op widens, if that is all it does and it was of this type.
    fn before_widening(&self, op: &Op, dtype: DType) -> Option<ValueId> {
        let [from] = op.operands[..] else { return None };
        let widens = op.kind == OpKind::Convert && self.dtype(from)? == dtype;
        widens.then_some(from)
    }
}

/// The values that a region and those in it read.
fn read_in(region: &Region, found: &mut HashSet<ValueId>) {
    for op in &region.ops {
        found.extend(op.operands.iter().copied());
        op.regions.iter().for_each(|region| read_in(region, found));
    }
}
