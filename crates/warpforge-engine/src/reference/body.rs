//! The region of an op that computes with one: a reduction's step, a sort's comparison, a scatter's update.

use warpforge_hlo::ir::{Binary, CompareKind, Direction, Op, OpKind, Region};
use warpforge_tensor::Tensor;

use super::Value;
use super::control::tensors;
use super::interpreter::{Context, Frame, State};
use super::liveness::RegionLiveness;
use super::random::RandomState;
use super::scalar_program::ScalarProgram;
use crate::EngineError;

/// A region that is called with scalars.
pub(super) trait Body {
    /// The op, where the region is nothing but one op of its two arguments, in either order, that commutes.
    fn commutative(&self) -> Option<Binary>;

    /// The comparison, where the region is nothing but one of its first argument with its second, in this order.
    fn comparison(&self) -> Option<(Direction, Option<CompareKind>)> {
        None
    }

    /// Computes the region's results from its arguments.
    fn call(&mut self, arguments: &[Tensor]) -> Result<Vec<Tensor>, EngineError>;
}

/// A region of a running program. It sees the values around it as they were when it was made.
pub(super) struct RegionBody<'a> {
    region: &'a Region,
    /// Whether its arguments are numbers as they are stored, so that a whole fold can be one op on them.
    plain: bool,
    way: Way<'a>,
}

/// How the region is computed.
enum Way<'a> {
    /// Scalars in, scalars out, nothing allocated on the way.
    Scalars(ScalarProgram),
    /// As any other region.
    Interpreted(Box<Interpreted<'a>>),
}

struct Interpreted<'a> {
    context: &'a Context<'a>,
    liveness: &'a RegionLiveness,
    frame: Frame<'a>,
    state: State<'a>,
}

impl<'a> RegionBody<'a> {
    pub(super) fn new(
        context: &'a Context<'a>,
        state: &State<'_>,
        frame: &Frame<'a>,
        (region, liveness): (&'a Region, &'a RegionLiveness),
    ) -> Self {
        let way = match ScalarProgram::new(frame, region) {
            Some(program) => Way::Scalars(program),
            None => {
                let mut own = Frame::new(frame.function);
                copy_captured(region, frame, &mut own);
                let state = State {
                    observer: None,
                    exchange: None,
                    host: None,
                    random: RandomState::new(0),
                    steps: state.steps,
                    most_steps: state.most_steps,
                    depth: state.depth,
                };
                Way::Interpreted(Box::new(Interpreted { context, liveness, frame: own, state }))
            }
        };
        let plain = region
            .arguments
            .iter()
            .all(|id| frame.function.ty(*id).tensor().is_some_and(|ty| ty.dtype().is_some()));
        Self { region, plain, way }
    }

    /// The only op of a region, if it has just one and returns just its result.
    fn only_op(&self) -> Option<&'a Op> {
        match self.region.ops.as_slice() {
            [op, last] if self.plain && last.operands == op.results && op.results.len() == 1 => {
                Some(op)
            }
            _ => None,
        }
    }
}

/// Copies what a region uses of the values around it.
fn copy_captured(region: &Region, from: &Frame<'_>, to: &mut Frame<'_>) {
    for op in &region.ops {
        for id in &op.operands {
            if let Some(value) = from.peek(*id) {
                to.set(*id, value.clone());
            }
        }
        for inner in &op.regions {
            copy_captured(inner, from, to);
        }
    }
}

impl Body for RegionBody<'_> {
    fn commutative(&self) -> Option<Binary> {
        let op = self.only_op()?;
        let OpKind::Binary(binary) = op.kind else { return None };
        let ([a, b], [first, second]) = (self.region.arguments.as_slice(), op.operands.as_slice())
        else {
            return None;
        };
        let both = (first, second) == (a, b) || (first, second) == (b, a);
        (both && binary.commutes()).then_some(binary)
    }

    fn comparison(&self) -> Option<(Direction, Option<CompareKind>)> {
        let op = self.only_op()?;
        let OpKind::Compare { direction, kind } = op.kind else { return None };
        let in_order = self.region.arguments.get(..2)? == op.operands;
        in_order.then_some((direction, kind))
    }

    fn call(&mut self, arguments: &[Tensor]) -> Result<Vec<Tensor>, EngineError> {
        match &mut self.way {
            Way::Scalars(program) => program.run(arguments),
            Way::Interpreted(inner) => {
                let arguments = arguments.iter().cloned().map(Value::Tensor).collect();
                let Interpreted { context, liveness, frame, state } = &mut **inner;
                tensors(context.region(state, frame, (self.region, liveness), arguments)?)
            }
        }
    }
}
