//! What a loop iterates over: the shape of what is reduced, or of the results; and why a function is not one loop.

use warpforge_hlo::ir::{Function, OpKind, ValueId};
use warpforge_hlo::types::TensorType;

use crate::pattern::sizes;
use warpforge_codegen::ir::Extent;

/// Rows beyond this are not kept in registers from one reduction to the next.
pub(super) const LONGEST_ROW: usize = 1 << 16;

/// Why a function is not one loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal(pub(crate) String);

pub(super) type Lowered<T> = Result<T, Refusal>;

pub(super) fn refuse<T>(reason: impl Into<String>) -> Lowered<T> {
    Err(Refusal(reason.into()))
}

pub(super) fn known_sizes(ty: &TensorType) -> Lowered<Vec<usize>> {
    sizes(ty).ok_or_else(|| Refusal(format!("the sizes of {ty} are not known")))
}

pub(super) fn beyond_one(sizes: &[usize]) -> Vec<usize> {
    sizes.iter().copied().filter(|size| *size != 1).collect()
}

/// What is iterated over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Domain {
    /// Sizes other than 1, in the order of the shape.
    pub(super) sizes: Vec<usize>,
    /// Which of them are reduced.
    pub(super) reduced: Vec<usize>,
    /// How what is reduced is visited.
    pub(super) along: Along,
}

/// How the elements that are reduced into one number are visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Along {
    /// One after the other, innermost: a row is there as a whole, to be computed with after it was reduced.
    Rows,
    /// Many numbers are made side by side, element by element of each: what is kept is innermost, as it is in memory.
    Columns,
}

impl Domain {
    pub(super) fn of(function: &Function) -> Lowered<Self> {
        let tensor = |value: ValueId| {
            function.ty(value).tensor().ok_or_else(|| Refusal("a value that is no tensor".into()))
        };
        let mut domain: Option<Self> = None;
        for op in &function.body.ops {
            let OpKind::Reduce { dimensions } = &op.kind else { continue };
            let [operand, _] = op.operands.as_slice() else {
                return refuse("a reduction of several tensors");
            };
            let full = known_sizes(tensor(*operand)?)?;
            // The place of each dimension among those that are not of size 1.
            let mut place = 0;
            let mut reduced = Vec::new();
            for (at, size) in full.iter().enumerate() {
                if *size != 1 {
                    if dimensions.contains(&(at as i64)) {
                        reduced.push(place);
                    }
                    place += 1;
                }
            }
            let found = Self { sizes: beyond_one(&full), reduced, along: Along::Rows };
            match &domain {
                None => domain = Some(found),
                Some(first) if *first == found => {}
                Some(_) => return refuse("reductions over different dimensions"),
            }
        }
        if let Some(domain) = domain {
            if domain.reduced.is_empty() || domain.elements() == 0 {
                return refuse("a reduction of single elements or of none");
            }
            return Ok(domain);
        }
        let end = function.body.ops.last().ok_or_else(|| Refusal("an empty function".into()))?;
        let mut sizes: Option<Vec<usize>> = None;
        for result in &end.operands {
            let found = beyond_one(&known_sizes(tensor(*result)?)?);
            match &sizes {
                None => sizes = Some(found),
                Some(first) if *first == found => {}
                Some(_) => return refuse("results of different shapes"),
            }
        }
        match sizes {
            Some(sizes) => Ok(Self { sizes, reduced: Vec::new(), along: Along::Rows }),
            None => refuse("no results"),
        }
    }

    pub(super) fn elements(&self) -> usize {
        self.sizes.iter().product()
    }

    pub(super) fn kept(&self) -> Vec<usize> {
        (0..self.sizes.len()).filter(|at| !self.reduced.contains(at)).collect()
    }

    pub(super) fn kept_sizes(&self) -> Vec<usize> {
        self.kept().iter().map(|at| self.sizes[*at]).collect()
    }

    /// Elements of a row; 1 where nothing is reduced.
    pub(super) fn row(&self) -> usize {
        self.reduced.iter().map(|at| self.sizes[*at]).product()
    }

    /// The same, visited along columns, where elements that are kept lie innermost.
    pub(super) fn along_columns(&self) -> Option<Self> {
        let last = self.reduced.last()?;
        (last + 1 < self.sizes.len()).then(|| Self { along: Along::Columns, ..self.clone() })
    }

    /// What is kept inside of all that is reduced: these dimensions and those after them.
    fn innermost_kept(&self) -> usize {
        match self.along {
            Along::Rows => self.sizes.len(),
            Along::Columns => self.reduced.last().map_or(0, |last| last + 1),
        }
    }

    /// Elements of a column's neighbourhood: how many numbers are made side by side.
    pub(super) fn width(&self) -> usize {
        self.sizes[self.innermost_kept()..].iter().product()
    }

    /// The order in which dimensions are iterated: what is reduced last, but for what is kept inside of it.
    pub(super) fn order(&self) -> Vec<usize> {
        let inside = self.innermost_kept();
        let outer = self.kept().into_iter().filter(|at| *at < inside);
        outer.chain(self.reduced.iter().copied()).chain(inside..self.sizes.len()).collect()
    }

    /// Whether elements are visited in the order of their shape.
    pub(super) fn in_order(&self) -> bool {
        self.order().is_sorted()
    }

    pub(super) fn extent(&self, sizes: &[usize]) -> Option<Extent> {
        let sizes = beyond_one(sizes);
        if sizes == self.sizes {
            return Some(Extent::Element);
        }
        (!self.reduced.is_empty() && sizes == self.kept_sizes()).then_some(Extent::Row)
    }
}

/// Where dimensions that are not of size 1 go, among those of the result that are not.
pub(super) fn targets(dimensions: &[i64], from: &[usize], to: &[usize]) -> Vec<usize> {
    let rank = |at: usize| to[..at].iter().filter(|size| **size != 1).count();
    dimensions
        .iter()
        .zip(from)
        .filter(|(_, size)| **size != 1)
        .map(|(at, _)| rank(*at as usize))
        .collect()
}
