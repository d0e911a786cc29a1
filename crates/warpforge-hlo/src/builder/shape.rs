//! Ops that make or move elements.

use warpforge_tensor::{DType, Elements, Kind, Shape, Tensor};

use super::{Built, FunctionBuilder};
use crate::attribute::Dense;
use crate::ir::{Gather, OpKind, Padding, ValueId};
use crate::types::{Dimension, TensorType};

impl FunctionBuilder<'_> {
    /// A tensor with these elements.
    pub fn constant(&mut self, tensor: &Tensor) -> Built<ValueId> {
        let ty = TensorType::new(tensor.dtype(), tensor.shape().sizes());
        let dense = Dense { ty, splat: false, bytes: tensor.bytes().into() };
        self.one(OpKind::Constant(dense), &[])
    }

    /// A tensor whose elements are all this number, rounded or wrapped to the type.
    pub fn fill(&mut self, dtype: DType, sizes: &[usize], value: f64) -> Built<ValueId> {
        let element = match dtype.kind() {
            Kind::Boolean | Kind::Signed | Kind::Unsigned => Elements::Integers(vec![value as i64]),
            Kind::Float => Elements::Floats(vec![value]),
            Kind::Complex => Elements::Complex(vec![value.into()]),
        };
        let scalar = Tensor::from_elements(dtype, Shape::scalar(), &element)
            .map_err(|error| self.broken(&error.to_string()))?;
        let ty = TensorType::new(dtype, sizes);
        let splat = ty.rank() > 0;
        self.one(OpKind::Constant(Dense { ty, splat, bytes: scalar.bytes().into() }), &[])
    }

    /// The index of each element along a dimension.
    pub fn iota(&mut self, dtype: DType, sizes: &[usize], dimension: i64) -> Built<ValueId> {
        self.one_of_type(OpKind::Iota { dimension }, &[], TensorType::new(dtype, sizes))
    }

    /// A tensor of these sizes, where dimension `i` of the operand becomes dimension `dimensions[i]` and is repeated along the
    /// others.
    pub fn broadcast_in_dim(
        &mut self,
        operand: ValueId,
        sizes: &[usize],
        dimensions: &[i64],
    ) -> Built<ValueId> {
        let ty = self.resized(operand, sizes)?;
        self.one_of_type(OpKind::BroadcastInDim { dimensions: dimensions.to_vec() }, &[operand], ty)
    }

    /// The same elements in the same order, in another shape.
    pub fn reshape(&mut self, operand: ValueId, sizes: &[usize]) -> Built<ValueId> {
        let ty = self.resized(operand, sizes)?;
        self.one_of_type(OpKind::Reshape, &[operand], ty)
    }

    /// Dimension `i` of the result is dimension `permutation[i]` of the operand.
    pub fn transpose(&mut self, operand: ValueId, permutation: &[i64]) -> Built<ValueId> {
        self.one(OpKind::Transpose { permutation: permutation.to_vec() }, &[operand])
    }

    /// The elements in opposite order along some dimensions.
    pub fn reverse(&mut self, operand: ValueId, dimensions: &[i64]) -> Built<ValueId> {
        self.one(OpKind::Reverse { dimensions: dimensions.to_vec() }, &[operand])
    }

    /// The elements from `start` to before `limit`, every `strides`-th of them, in each dimension.
    pub fn slice(
        &mut self,
        operand: ValueId,
        start: &[i64],
        limit: &[i64],
        strides: &[i64],
    ) -> Built<ValueId> {
        let (start, limit, strides) = (start.to_vec(), limit.to_vec(), strides.to_vec());
        self.one(OpKind::Slice { start, limit, strides }, &[operand])
    }

    /// Tensors one after the other along a dimension.
    pub fn concatenate(&mut self, operands: &[ValueId], dimension: i64) -> Built<ValueId> {
        self.one(OpKind::Concatenate { dimension }, operands)
    }

    /// A value around and between the elements.
    pub fn pad(&mut self, operand: ValueId, value: ValueId, padding: Padding) -> Built<ValueId> {
        self.one(OpKind::Pad(Box::new(padding)), &[operand, value])
    }

    /// A part of a tensor, from places known when the program runs.
    pub fn dynamic_slice(
        &mut self,
        operand: ValueId,
        starts: &[ValueId],
        sizes: &[i64],
    ) -> Built<ValueId> {
        let operands: Vec<ValueId> = [operand].into_iter().chain(starts.iter().copied()).collect();
        self.one(OpKind::DynamicSlice { sizes: sizes.to_vec() }, &operands)
    }

    /// A tensor with a part replaced, at places known when the program runs.
    pub fn dynamic_update_slice(
        &mut self,
        operand: ValueId,
        update: ValueId,
        starts: &[ValueId],
    ) -> Built<ValueId> {
        let operands: Vec<ValueId> =
            [operand, update].into_iter().chain(starts.iter().copied()).collect();
        self.one(OpKind::DynamicUpdateSlice, &operands)
    }

    /// Slices taken from the places that another tensor says.
    pub fn gather(&mut self, operand: ValueId, indices: ValueId, gather: Gather) -> Built<ValueId> {
        self.one(OpKind::Gather(Box::new(gather)), &[operand, indices])
    }

    /// The type of a value with other sizes.
    fn resized(&self, value: ValueId, sizes: &[usize]) -> Built<TensorType> {
        let dimensions = sizes.iter().map(|size| Dimension::Static(*size as u64)).collect();
        let element = self.tensor_type(value)?.element.clone();
        Ok(TensorType { dimensions, element, bounds: None })
    }
}
