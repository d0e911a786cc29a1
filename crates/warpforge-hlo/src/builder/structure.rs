//! Products, ops with regions, and calls.

use warpforge_tensor::DType;

use super::{Built, FunctionBuilder};
use crate::ir::{
    Convolution, CustomCall, DotGeneral, Group, OpKind, Region, Scatter, ValueId, Window,
};
use crate::types::{ElementType, TensorType, Type};

impl FunctionBuilder<'_> {
    /// A product over some dimensions, with the elements of the left operand.
    pub fn dot_general(&mut self, lhs: ValueId, rhs: ValueId, dot: DotGeneral) -> Built<ValueId> {
        self.one(OpKind::DotGeneral(Box::new(dot)), &[lhs, rhs])
    }

    /// A product over some dimensions, with wider elements than the operands have.
    pub fn dot_general_as(
        &mut self,
        lhs: ValueId,
        rhs: ValueId,
        dot: DotGeneral,
        dtype: DType,
    ) -> Built<ValueId> {
        self.product_as(OpKind::DotGeneral(Box::new(dot)), &[lhs, rhs], dtype)
    }

    /// A convolution, with the elements of the input.
    pub fn convolution(
        &mut self,
        input: ValueId,
        kernel: ValueId,
        convolution: Convolution,
    ) -> Built<ValueId> {
        self.one(OpKind::Convolution(Box::new(convolution)), &[input, kernel])
    }

    /// A convolution, with wider elements than the operands have.
    pub fn convolution_as(
        &mut self,
        input: ValueId,
        kernel: ValueId,
        convolution: Convolution,
        dtype: DType,
    ) -> Built<ValueId> {
        self.product_as(OpKind::Convolution(Box::new(convolution)), &[input, kernel], dtype)
    }

    /// An op whose shape follows from its operands, with other elements.
    fn product_as(&mut self, kind: OpKind, operands: &[ValueId], dtype: DType) -> Built<ValueId> {
        let product = self.one(kind, operands)?;
        if let Type::Tensor(tensor) = &mut self.function.values[product.index()].ty {
            tensor.element = ElementType::Plain(dtype);
        }
        Ok(product)
    }

    /// Folds inputs along dimensions. The closure gets one scalar for each input, then another one for each, and hands out
    /// their combination.
    pub fn reduce(
        &mut self,
        inputs: &[ValueId],
        initial: &[ValueId],
        dimensions: &[i64],
        body: impl FnOnce(&mut Self, &[ValueId]) -> Built<Vec<ValueId>>,
    ) -> Built<Vec<ValueId>> {
        let region = self.folding(initial, body)?;
        let kind = OpKind::Reduce { dimensions: dimensions.to_vec() };
        self.op(kind, &[inputs, initial].concat(), vec![region])
    }

    /// Folds what a sliding window sees; the closure as for [`Self::reduce`].
    pub fn reduce_window(
        &mut self,
        inputs: &[ValueId],
        initial: &[ValueId],
        window: Window,
        body: impl FnOnce(&mut Self, &[ValueId]) -> Built<Vec<ValueId>>,
    ) -> Built<Vec<ValueId>> {
        let region = self.folding(initial, body)?;
        let kind = OpKind::ReduceWindow(Box::new(window));
        self.op(kind, &[inputs, initial].concat(), vec![region])
    }

    /// Folds values across processes; the closure as for [`Self::reduce`].
    pub fn all_reduce(
        &mut self,
        operand: ValueId,
        group: Group,
        body: impl FnOnce(&mut Self, &[ValueId]) -> Built<Vec<ValueId>>,
    ) -> Built<ValueId> {
        let region = self.folding(&[operand], body)?;
        let results = self.op(OpKind::AllReduce { group }, &[operand], vec![region])?;
        Ok(super::only(&results))
    }

    /// Sorts inputs together along a dimension. The closure gets two scalars of each input and hands out whether the first
    /// ones come before the second ones.
    pub fn sort(
        &mut self,
        inputs: &[ValueId],
        dimension: i64,
        stable: bool,
        before: impl FnOnce(&mut Self, &[ValueId]) -> Built<ValueId>,
    ) -> Built<Vec<ValueId>> {
        let scalars = self.scalars(inputs)?;
        let pairs: Vec<Type> =
            scalars.into_iter().flat_map(|scalar| [scalar.clone(), scalar]).collect();
        let region = self.region(pairs, |body, pairs| Ok(vec![before(body, pairs)?]))?;
        self.op(OpKind::Sort { dimension, stable }, inputs, vec![region])
    }

    /// Combines updates into inputs at the places that another tensor says. The closure gets the scalars of the inputs,
    /// then those of the updates.
    pub fn scatter(
        &mut self,
        inputs: &[ValueId],
        indices: ValueId,
        updates: &[ValueId],
        scatter: Scatter,
        body: impl FnOnce(&mut Self, &[ValueId]) -> Built<Vec<ValueId>>,
    ) -> Built<Vec<ValueId>> {
        let scalars = self.scalars(&[inputs, updates].concat())?;
        let region = self.region(scalars, body)?;
        let operands = [inputs, &[indices], updates].concat();
        self.op(OpKind::Scatter(Box::new(scatter)), &operands, vec![region])
    }

    /// Repeats a body on some values for as long as a condition holds.
    pub fn while_loop(
        &mut self,
        initial: &[ValueId],
        condition: impl FnOnce(&mut Self, &[ValueId]) -> Built<ValueId>,
        body: impl FnOnce(&mut Self, &[ValueId]) -> Built<Vec<ValueId>>,
    ) -> Built<Vec<ValueId>> {
        let carried = self.types(initial)?;
        // The short form has one name for a value in both regions.
        let first_name = self.named.0;
        let condition =
            self.region(carried.clone(), |region, values| Ok(vec![condition(region, values)?]))?;
        let next_name = std::mem::replace(&mut self.named.0, first_name);
        let body = self.region(carried, body)?;
        self.named.0 = self.named.0.max(next_name);
        self.op(OpKind::While, initial, vec![condition, body])
    }

    /// What one of two branches gives.
    pub fn if_else(
        &mut self,
        predicate: ValueId,
        on_true: impl FnOnce(&mut Self) -> Built<Vec<ValueId>>,
        on_false: impl FnOnce(&mut Self) -> Built<Vec<ValueId>>,
    ) -> Built<Vec<ValueId>> {
        let nothing: [Type; 0] = [];
        let on_true = self.region(nothing.clone(), |region, _| on_true(region))?;
        let on_false = self.region(nothing, |region, _| on_false(region))?;
        self.op(OpKind::If, &[predicate], vec![on_true, on_false])
    }

    /// What a function that was added before gives.
    pub fn call(&mut self, callee: &str, operands: &[ValueId]) -> Built<Vec<ValueId>> {
        self.op(OpKind::Call { callee: callee.to_owned() }, operands, Vec::new())
    }

    /// What something outside the specification gives.
    pub fn custom_call(
        &mut self,
        call: CustomCall,
        operands: &[ValueId],
        types: Vec<Type>,
    ) -> Built<Vec<ValueId>> {
        self.op_with_types(OpKind::CustomCall(Box::new(call)), operands, Vec::new(), types)
    }

    /// Several values as one.
    pub fn tuple(&mut self, operands: &[ValueId]) -> Built<ValueId> {
        self.one(OpKind::Tuple, operands)
    }

    /// One of the values in a tuple.
    pub fn get_tuple_element(&mut self, tuple: ValueId, index: i64) -> Built<ValueId> {
        self.one(OpKind::GetTupleElement { index }, &[tuple])
    }

    /// A region that gets two scalars for each of these values.
    fn folding(
        &mut self,
        values: &[ValueId],
        body: impl FnOnce(&mut Self, &[ValueId]) -> Built<Vec<ValueId>>,
    ) -> Built<Region> {
        let scalars = self.scalars(values)?;
        let twice: Vec<Type> = scalars.iter().chain(&scalars).cloned().collect();
        self.region(twice, body)
    }

    /// The types of single elements of these values.
    fn scalars(&self, values: &[ValueId]) -> Built<Vec<Type>> {
        let scalar = |id: &ValueId| {
            let element = self.tensor_type(*id)?.element.clone();
            Ok(Type::Tensor(TensorType { dimensions: Vec::new(), element, bounds: None }))
        };
        values.iter().map(scalar).collect()
    }

    fn types(&self, values: &[ValueId]) -> Built<Vec<Type>> {
        values.iter().map(|id| self.ty(*id).cloned()).collect()
    }
}
