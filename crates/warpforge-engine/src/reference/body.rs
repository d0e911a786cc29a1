//! The region of an op that computes with one: a reduction's step, a sort's comparison, a scatter's update.

use warpforge_hlo::ir::{Binary, CompareKind, Direction};
use warpforge_tensor::Tensor;

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
