//! What rules are made of: an op's operands and what it states of its results, what a rule expects of them, and the
//! comparisons that sizes which are not known agree with.

use std::fmt::Display;

use warpforge_tensor::DType;

use crate::ir::{Function, Op, Region, ValueId};
use crate::types::{Dimension, ElementType, TensorType, Type};

pub(super) type Rule<T = ()> = Result<T, String>;

/// What is said where the types of results are asked for and nothing but the op itself can say them.
const UNSTATED: &str =
    "the type of the result does not follow from the operands, it must be stated";

/// What a rule says of an op's results. The verifier compares it with what the op states; where nothing is stated yet, it is
/// what the results are.
pub(super) enum Expected {
    /// These types.
    Types(Vec<Type>),
    /// Tensors of these shapes; their elements may be others, such as wider ones, or have another scale.
    Shapes(Vec<TensorType>),
    /// What the op states: the rule has looked at it.
    Stated,
}

impl Expected {
    /// One tensor.
    pub(super) fn tensor(tensor: TensorType) -> Self {
        Self::tensors(vec![tensor])
    }

    /// Several tensors.
    pub(super) fn tensors(tensors: Vec<TensorType>) -> Self {
        Self::Types(tensors.into_iter().map(Type::Tensor).collect())
    }

    /// Whether the op states results that fit.
    pub(super) fn check(&self, sees: &Sees<'_>) -> Rule {
        match self {
            Self::Types(expected) => {
                compare(sees, expected, "the result must be a", |found, expected| {
                    same_type(found, expected)
                })
            }
            Self::Shapes(expected) => {
                compare(sees, expected, "the result must have the shape of", |found, expected| {
                    found.tensor().is_some_and(|found| same_shape(found, expected))
                })
            }
            Self::Stated => Ok(()),
        }
    }

    /// The types of results of which nothing is stated.
    pub(super) fn into_types(self) -> Rule<Vec<Type>> {
        match self {
            Self::Types(types) => Ok(types),
            Self::Shapes(tensors) => Ok(tensors.into_iter().map(Type::Tensor).collect()),
            Self::Stated => Err(UNSTATED.into()),
        }
    }
}

fn compare<T: Display>(
    sees: &Sees<'_>,
    expected: &[T],
    demand: &str,
    fits: impl Fn(&Type, &T) -> bool,
) -> Rule {
    let found = sees.result_types()?;
    if found.len() != expected.len() {
        let expected = counted(expected.len(), "result");
        return Err(format!("expected {expected}, found {}", found.len()));
    }
    match found.into_iter().zip(expected).find(|(found, expected)| !fits(found, expected)) {
        Some((found, expected)) => Err(format!("{demand} {expected}, found {found}")),
        None => Ok(()),
    }
}

/// The functions of a program by name.
pub(super) type Functions<'a> = dyn Fn(&str) -> Option<&'a Function> + 'a;

/// One op and what surrounds it.
pub(super) struct Sees<'a> {
    pub(super) functions: &'a Functions<'a>,
    pub(super) function: &'a Function,
    pub(super) op: &'a Op,
    /// Whether the op states the types of its results; otherwise they are being asked for.
    pub(super) stated: bool,
}

impl<'a> Sees<'a> {
    pub(super) fn operand_types(&self) -> Vec<&'a Type> {
        self.types(&self.op.operands)
    }

    /// The types that the op states of its results.
    pub(super) fn result_types(&self) -> Rule<Vec<&'a Type>> {
        if self.stated { Ok(self.types(&self.op.results)) } else { Err(UNSTATED.into()) }
    }

    fn types(&self, ids: &[ValueId]) -> Vec<&'a Type> {
        ids.iter().map(|id| self.function.ty(*id)).collect()
    }

    /// The operands as tensors.
    pub(super) fn tensors(&self) -> Rule<Vec<&'a TensorType>> {
        let tensor = |(index, ty): (usize, &'a Type)| {
            ty.tensor().ok_or_else(|| format!("operand {} must be a tensor, found {ty}", index + 1))
        };
        self.operand_types().into_iter().enumerate().map(tensor).collect()
    }

    /// Exactly `N` operands, all tensors.
    pub(super) fn operands<const N: usize>(&self) -> Rule<[&'a TensorType; N]> {
        let tensors = self.tensors()?;
        let found = tensors.len();
        tensors.try_into().map_err(|_| format!("expected {}, found {found}", counted(N, "operand")))
    }

    /// The only result, a tensor.
    pub(super) fn result(&self) -> Rule<&'a TensorType> {
        match self.result_types()?.as_slice() {
            [Type::Tensor(tensor)] => Ok(tensor),
            [other] => Err(format!("the result must be a tensor, found {other}")),
            other => Err(format!("expected 1 result, found {}", other.len())),
        }
    }

    /// The only region.
    pub(super) fn region(&self) -> Rule<&'a Region> {
        match self.op.regions.as_slice() {
            [region] => Ok(region),
            other => Err(format!("expected 1 region, found {}", other.len())),
        }
    }

    /// The types of what a region is entered with.
    pub(super) fn arguments(&self, region: &Region) -> Vec<&'a Type> {
        self.types(&region.arguments)
    }

    /// The types of what a region returns.
    pub(super) fn returned(&self, region: &Region) -> Vec<&'a Type> {
        region.terminator().map_or_else(Vec::new, |op| self.types(&op.operands))
    }

    /// The scalars that the only region makes of `count` values twice: what folding gives.
    pub(super) fn folded(&self, count: usize) -> Rule<Vec<TensorType>> {
        let region = self.region()?;
        let returned = self.returned(region);
        let scalars: Vec<TensorType> =
            returned.iter().filter_map(|ty| ty.tensor()).map(scalar_of).collect();
        if returned.len() != count || scalars.len() != count {
            let expected = counted(count, "scalar");
            return Err(format!("its region must return {expected}, found {}", returned.len()));
        }
        let twice: Vec<TensorType> = scalars.iter().chain(&scalars).cloned().collect();
        self.region_is(region, &twice, &scalars)?;
        Ok(scalars)
    }

    /// A region's arguments and what it returns must be tensors of these types.
    pub(super) fn region_is(
        &self,
        region: &Region,
        arguments: &[TensorType],
        results: &[TensorType],
    ) -> Rule {
        check_list("argument", &self.arguments(region), arguments)?;
        check_list("returned value", &self.returned(region), results)
    }
}

fn check_list(what: &str, found: &[&Type], expected: &[TensorType]) -> Rule {
    if found.len() != expected.len() {
        let expected = counted(expected.len(), what);
        return Err(format!("its region must have {expected}, found {}", found.len()));
    }
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        if !found.tensor().is_some_and(|found| same_tensor(found, expected)) {
            return Err(format!(
                "{what} {} of its region must be a {expected}, found {found}",
                index + 1
            ));
        }
    }
    Ok(())
}

/// `1 result`, `2 results`.
pub(super) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Whether two sizes can be the same.
pub(super) fn same_size(a: Dimension, b: Dimension) -> bool {
    match (a, b) {
        (Dimension::Static(a), Dimension::Static(b)) => a == b,
        _ => true,
    }
}

pub(super) fn same_shape(a: &TensorType, b: &TensorType) -> bool {
    a.rank() == b.rank() && a.dimensions.iter().zip(&b.dimensions).all(|(a, b)| same_size(*a, *b))
}

pub(super) fn same_tensor(a: &TensorType, b: &TensorType) -> bool {
    same_shape(a, b) && a.element == b.element
}

pub(super) fn same_type(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Tensor(a), Type::Tensor(b)) => same_tensor(a, b),
        (Type::Tuple(a), Type::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_type(a, b))
        }
        _ => a == b,
    }
}

/// The first of two tensors of one shape, with the sizes that are known of either.
pub(super) fn merged(a: &TensorType, b: &TensorType) -> TensorType {
    let sizes = a.dimensions.iter().zip(&b.dimensions);
    let dimensions = sizes.map(|(a, b)| if a.size().is_some() { *a } else { *b }).collect();
    TensorType { dimensions, element: a.element.clone(), bounds: a.bounds.clone() }
}

/// A tensor of the same shape with other elements.
pub(super) fn with_element(tensor: &TensorType, element: ElementType) -> TensorType {
    TensorType { dimensions: tensor.dimensions.clone(), element, bounds: tensor.bounds.clone() }
}

pub(super) fn with_dtype(tensor: &TensorType, dtype: DType) -> TensorType {
    with_element(tensor, ElementType::Plain(dtype))
}

/// A tensor of these sizes with the elements of another.
pub(super) fn with_dimensions(like: &TensorType, dimensions: Vec<Dimension>) -> TensorType {
    TensorType { dimensions, element: like.element.clone(), bounds: None }
}

pub(super) fn scalar_of(tensor: &TensorType) -> TensorType {
    with_dimensions(tensor, Vec::new())
}

/// A dimension of a tensor of this rank.
pub(super) fn axis(name: &str, value: i64, rank: usize) -> Rule<usize> {
    usize::try_from(value).ok().filter(|axis| *axis < rank).ok_or_else(|| {
        format!("{name} must be a dimension from 0 to {}, found {value}", rank.saturating_sub(1))
    })
}

/// Different dimensions of a tensor of this rank.
pub(super) fn axes(name: &str, values: &[i64], rank: usize) -> Rule<Vec<usize>> {
    let found: Vec<usize> =
        values.iter().map(|value| axis(name, *value, rank)).collect::<Rule<_>>()?;
    let mut seen = vec![false; rank];
    for axis in &found {
        if std::mem::replace(&mut seen[*axis], true) {
            return Err(format!("{name} must not repeat a dimension, found {values:?}"));
        }
    }
    Ok(found)
}

pub(super) fn increasing(name: &str, values: &[i64]) -> Rule {
    if values.windows(2).all(|pair| pair[0] < pair[1]) {
        return Ok(());
    }
    Err(format!("{name} must be in increasing order, found {values:?}"))
}

pub(super) fn length(name: &str, found: usize, expected: usize) -> Rule {
    if found == expected {
        return Ok(());
    }
    Err(format!(
        "{name} must have {expected} entr{}, found {found}",
        if expected == 1 { "y" } else { "ies" }
    ))
}

/// The plain element type.
pub(super) fn plain(tensor: &TensorType) -> Rule<DType> {
    tensor.dtype().ok_or_else(|| format!("quantized elements are not taken, found {tensor}"))
}

/// A scalar or a vector of integers, as dynamic ops take their sizes.
pub(super) fn is_index(tensor: &TensorType) -> bool {
    tensor.dtype().is_some_and(DType::is_integer)
}
