//! From the ops of a cluster to a loop kernel, or the reason why one loop cannot compute them.
//!
//! Every value of the cluster is one of: a view of an operand or constant, not yet read; a register with a number for each
//! element of the domain or for each row; one number. The domain is the shape of what is reduced, or of the results;
//! dimensions of size 1 count for nothing.

use std::collections::HashMap;

use warpforge_hlo::attribute::Dense;
use warpforge_hlo::ir::{Direction, Function, Op, OpKind, Unary, ValueId};
use warpforge_hlo::types::TensorType;
use warpforge_tensor::{DType, Elements, Shape, Tensor};

use super::domain::{
    Along, Domain, LONGEST_ROW, Lowered, Refusal, beyond_one, known_sizes, refuse, targets,
};
use super::lane::{has_binary, has_unary, reduces};
use super::softmax;
use crate::pattern::combining;
use crate::view::View;
use warpforge_codegen::ir::{Access, LoopKernel, OutputInfo, Place, RegisterInfo};
use warpforge_codegen::ir::{Extent, Instruction, Number, Operand, Register};

/// A kernel and what it reads besides the function's arguments.
#[derive(Debug, Clone)]
pub(crate) struct Lowering {
    pub(crate) kernel: LoopKernel,
    /// Operands after the arguments.
    pub(crate) constants: Vec<Tensor>,
}

/// Makes a kernel of a function whose ops are all on elements, rows or places.
pub(crate) fn lower(function: &Function) -> Lowered<Lowering> {
    let domain = Domain::of(function)?;
    if let Some(columns) = domain.along_columns()
        && let Ok(lowering) = lower_over(function, columns)
    {
        return Ok(lowering);
    }
    if domain.row() > LONGEST_ROW && function.body.ops.len() > 2 {
        return refuse(format!("rows of {} elements", domain.row()));
    }
    lower_over(function, domain)
}

fn lower_over(function: &Function, domain: Domain) -> Lowered<Lowering> {
    let mut lowerer = Lowerer {
        function,
        domain,
        forms: HashMap::new(),
        loaded: HashMap::new(),
        constants: Vec::new(),
        inputs: Vec::new(),
        registers: Vec::new(),
        code: Vec::new(),
    };
    for (index, argument) in function.body.arguments.iter().enumerate() {
        let ty = lowerer.ty(*argument)?;
        let view = View::row_major(&known_sizes(&ty)?);
        lowerer.forms.insert(*argument, Form::View { operand: index, view });
    }
    let (end, ops) = match function.body.ops.split_last() {
        Some(split) => split,
        None => return refuse("an empty function"),
    };
    for op in ops {
        lowerer.op(op)?;
    }
    lowerer.finish(&end.operands)
}

/// What a value is while the kernel is made.
#[derive(Debug, Clone)]
enum Form {
    /// Elements of an operand, at these places.
    View { operand: usize, view: View },
    /// In a register; one for each row may stand for a value of the domain's shape.
    Register(Register),
    /// One number everywhere.
    Immediate(u64),
}

struct Lowerer<'a> {
    function: &'a Function,
    domain: Domain,
    forms: HashMap<ValueId, Form>,
    /// Registers of inputs already read, by access.
    loaded: HashMap<(usize, View, Extent), Register>,
    constants: Vec<Tensor>,
    inputs: Vec<Access>,
    registers: Vec<RegisterInfo>,
    code: Vec<Instruction>,
}

impl Lowerer<'_> {
    fn ty(&self, value: ValueId) -> Lowered<TensorType> {
        match self.function.ty(value).tensor() {
            Some(ty) => Ok(ty.clone()),
            None => refuse("a value that is no tensor"),
        }
    }

    fn dtype(&self, value: ValueId) -> Lowered<DType> {
        let ty = self.ty(value)?;
        ty.dtype().ok_or_else(|| Refusal("quantized elements".into()))
    }

    fn number(&self, value: ValueId) -> Lowered<Number> {
        let dtype = self.dtype(value)?;
        Number::of(dtype).ok_or_else(|| Refusal(format!("elements of {dtype}")))
    }

    fn shape(&self, value: ValueId) -> Lowered<Vec<usize>> {
        known_sizes(&self.ty(value)?)
    }

    fn form(&self, value: ValueId) -> Lowered<Form> {
        match self.forms.get(&value) {
            Some(form) => Ok(form.clone()),
            None => refuse("a value from outside"),
        }
    }

    fn register(&mut self, number: Number, extent: Extent) -> Register {
        self.registers.push(RegisterInfo { number, extent, place: Place::Slot(usize::MAX) });
        Register(self.registers.len() - 1)
    }

    fn op(&mut self, op: &Op) -> Lowered<()> {
        let [result] = op.results.as_slice() else { return refuse(op.kind.name()) };
        let form = match &op.kind {
            OpKind::Constant(dense) => self.constant(dense)?,
            OpKind::Iota { dimension } => self.iota(*result, *dimension)?,
            OpKind::Reshape
            | OpKind::Transpose { .. }
            | OpKind::BroadcastInDim { .. }
            | OpKind::Slice { .. }
            | OpKind::Reverse { .. } => self.placed(op, *result)?,
            OpKind::Reduce { .. } => self.reduce(op, *result)?,
            _ => self.elementwise(op, *result)?,
        };
        self.forms.insert(*result, form);
        Ok(())
    }

    fn constant(&mut self, dense: &Dense) -> Lowered<Form> {
        let Some(dtype) = dense.ty.dtype() else { return refuse("a quantized constant") };
        let Some(number) = Number::of(dtype) else {
            return refuse(format!("a constant of {dtype}"));
        };
        let sizes = known_sizes(&dense.ty)?;
        if dense.splat || sizes.iter().product::<usize>() == 1 {
            return Ok(Form::Immediate(immediate(dtype, number, &dense.bytes)));
        }
        let Some(tensor) = crate::passes::constant_tensor(dense) else {
            return refuse("a constant that is not whole");
        };
        Ok(self.constant_view(tensor, View::row_major(&sizes)))
    }

    fn constant_view(&mut self, tensor: Tensor, view: View) -> Form {
        self.constants.push(tensor);
        let operand = self.function.body.arguments.len() + self.constants.len() - 1;
        Form::View { operand, view }
    }

    fn iota(&mut self, result: ValueId, dimension: i64) -> Lowered<Form> {
        let (sizes, dtype) = (self.shape(result)?, self.dtype(result)?);
        self.number(result)?;
        let Some(count) = sizes.get(dimension as usize).copied() else { return refuse("an iota") };
        if count > LONGEST_ROW {
            return refuse("a long iota");
        }
        let elements = match dtype.is_float() {
            true => Elements::Floats((0..count).map(|at| at as f64).collect()),
            false => Elements::Integers((0..count as i64).collect()),
        };
        let tensor = Shape::new([count])
            .ok()
            .and_then(|shape| Tensor::from_elements(dtype, shape, &elements).ok());
        let Some(tensor) = tensor else { return refuse("an iota") };
        let view = View::row_major(&[count]).broadcast(&[dimension], &sizes);
        Ok(self.constant_view(tensor, view))
    }

    /// An op that only says where elements are.
    fn placed(&mut self, op: &Op, result: ValueId) -> Lowered<Form> {
        let to = self.shape(result)?;
        let from = self.shape(op.operands[0])?;
        match self.form(op.operands[0])? {
            Form::Immediate(bits) => Ok(Form::Immediate(bits)),
            Form::View { operand, view } => {
                let placed = match &op.kind {
                    OpKind::Reshape => view.reshaped(&to),
                    OpKind::Transpose { permutation } => Some(view.transposed(permutation)),
                    OpKind::BroadcastInDim { dimensions } => Some(view.broadcast(dimensions, &to)),
                    OpKind::Slice { start, strides, .. } => Some(view.sliced(start, strides, &to)),
                    OpKind::Reverse { dimensions } => Some(view.reversed(dimensions)),
                    _ => None,
                };
                match placed {
                    Some(view) => Ok(Form::View { operand, view }),
                    None => refuse(format!("{} that needs a copy", op.kind.name())),
                }
            }
            Form::Register(register) => {
                let same = beyond_one(&from) == beyond_one(&to);
                let spread = self.registers[register.0].extent == Extent::Row
                    && beyond_one(&to) == self.domain.sizes;
                match &op.kind {
                    OpKind::Reshape if same => Ok(Form::Register(register)),
                    OpKind::BroadcastInDim { dimensions } => {
                        let order: Vec<usize> = targets(dimensions, &from, &to);
                        if same && order.is_sorted() || spread && order == self.domain.kept() {
                            return Ok(Form::Register(register));
                        }
                        refuse("a computed value spread over other dimensions")
                    }
                    _ => refuse(format!("{} of a computed value", op.kind.name())),
                }
            }
        }
    }

    /// The operand of an instruction whose result has these sizes.
    fn operand(&mut self, value: ValueId, sizes: &[usize], extent: Extent) -> Lowered<Operand> {
        match self.form(value)? {
            Form::Immediate(bits) => Ok(Operand::Immediate(bits)),
            Form::Register(register) => {
                // Along columns a number is only there once all of its elements were seen.
                if self.domain.along == Along::Columns
                    && self.registers[register.0].extent != extent
                {
                    return refuse("elements computed from what was reduced along columns");
                }
                Ok(Operand::Register(register))
            }
            Form::View { operand, view } => {
                // Scalars stand for themselves at every place where ops allow them.
                let view = if view.sizes.is_empty() { view.broadcast(&[], sizes) } else { view };
                if view.sizes != sizes {
                    return refuse("operands of different shapes");
                }
                let dtype = self.dtype(value)?;
                let number = self.number(value)?;
                Ok(Operand::Register(self.load((operand, dtype), number, &view, extent)))
            }
        }
    }

    fn load(
        &mut self,
        (operand, dtype): (usize, DType),
        number: Number,
        view: &View,
        extent: Extent,
    ) -> Register {
        let mut plain = View { sizes: Vec::new(), strides: Vec::new(), offset: view.offset };
        for (size, stride) in view.sizes.iter().zip(&view.strides) {
            if *size != 1 {
                plain.sizes.push(*size);
                plain.strides.push(*stride);
            }
        }
        if extent == Extent::Element {
            let order: Vec<i64> = self.domain.order().iter().map(|at| *at as i64).collect();
            plain = plain.transposed(&order);
        }
        let key = (operand, plain, extent);
        if let Some(register) = self.loaded.get(&key) {
            return *register;
        }
        let to = self.register(number, extent);
        self.inputs.push(Access::new(operand, dtype, key.1.collapsed(), key.1.offset));
        self.code.push(Instruction::Load { input: self.inputs.len() - 1, to });
        self.loaded.insert(key, to);
        to
    }

    fn reduce(&mut self, op: &Op, result: ValueId) -> Lowered<Form> {
        let ([operand, start], [region]) = (op.operands.as_slice(), op.regions.as_slice()) else {
            return refuse("a reduction of several tensors");
        };
        let Some(binary) = combining(region) else { return refuse("a reduction by a region") };
        let sizes = self.shape(*operand)?;
        if beyond_one(&sizes) != self.domain.sizes {
            return refuse("a reduction of another shape");
        }
        let number = self.number(*operand)?;
        if !reduces(binary, number) {
            return refuse(format!("a reduction by {}", binary.name()));
        }
        let from = match self.operand(*operand, &sizes, Extent::Element)? {
            Operand::Register(from) if self.registers[from.0].extent == Extent::Element => from,
            other => self.spread(other, number),
        };
        let rows = self.shape(result)?;
        let initial = self.operand(*start, &rows, Extent::Row)?;
        let to = self.register(number, Extent::Row);
        self.code.push(Instruction::Reduce { op: binary, initial, from, to });
        Ok(Form::Register(to))
    }

    /// A register with a number for each element.
    fn spread(&mut self, operand: Operand, number: Number) -> Register {
        let to = self.register(number, Extent::Element);
        self.code.push(Instruction::Convert { number, from: operand, to });
        to
    }

    fn elementwise(&mut self, op: &Op, result: ValueId) -> Lowered<Form> {
        let sizes = self.shape(result)?;
        let Some(extent) = self.domain.extent(&sizes) else {
            return refuse("ops on different shapes");
        };
        let number = self.number(result)?;
        let operand_number = match op.operands.first() {
            Some(operand) => self.number(*operand)?,
            None => return refuse(op.kind.name()),
        };
        let mut operands = Vec::with_capacity(op.operands.len());
        for operand in &op.operands {
            self.number(*operand)?;
            operands.push(self.operand(*operand, &sizes, extent)?);
        }
        let short = self.dtype(result)? == DType::BF16;
        let instruction = |to| -> Lowered<Instruction> {
            Ok(match (&op.kind, operands.as_slice()) {
                (OpKind::Unary(unary), [from]) if has_unary(*unary, number) => {
                    Instruction::Unary { op: *unary, short, from: *from, to }
                }
                (OpKind::Binary(binary), [a, b]) if has_binary(*binary, number) => {
                    Instruction::Binary { op: *binary, a: *a, b: *b, to }
                }
                (OpKind::Compare { direction, kind }, [a, b]) => {
                    let total = Some(warpforge_hlo::ir::CompareKind::TotalOrder);
                    if *kind == total {
                        return refuse("comparison in total order");
                    }
                    let (direction, number) = (*direction, operand_number);
                    Instruction::Compare { direction, number, a: *a, b: *b, to }
                }
                (OpKind::Select, [predicate, a, b]) => {
                    Instruction::Select { predicate: *predicate, a: *a, b: *b, to }
                }
                (OpKind::Clamp, [low, operand, high]) => {
                    Instruction::Clamp { low: *low, operand: *operand, high: *high, to }
                }
                _ => return refuse(op.kind.name()),
            })
        };
        match &op.kind {
            OpKind::Convert => return self.convert(op, result, operands[0], extent),
            OpKind::Unary(Unary::IsFinite) if operand_number.is_float() => {
                let size = self.register(operand_number, extent);
                let from = operands[0];
                self.code.push(Instruction::Unary { op: Unary::Abs, short: false, from, to: size });
                let infinity = match operand_number {
                    Number::F32 => u64::from(f32::INFINITY.to_bits()),
                    _ => f64::INFINITY.to_bits(),
                };
                let to = self.register(Number::Bool, extent);
                self.code.push(Instruction::Compare {
                    direction: Direction::Lt,
                    number: operand_number,
                    a: Operand::Register(size),
                    b: Operand::Immediate(infinity),
                    to,
                });
                return Ok(Form::Register(to));
            }
            _ => {}
        }
        // The result's register is made after the operands' ones.
        let to = Register(self.registers.len());
        let instruction = instruction(to)?;
        self.register(number, extent);
        self.code.push(instruction);
        Ok(Form::Register(to))
    }

    fn convert(
        &mut self,
        op: &Op,
        result: ValueId,
        operand: Operand,
        extent: Extent,
    ) -> Lowered<Form> {
        let (from, to) = (self.dtype(op.operands[0])?, self.dtype(result)?);
        let (source, target) = (self.number(op.operands[0])?, self.number(result)?);
        let mut value = operand;
        if source != target {
            let register = self.register(target, extent);
            self.code.push(Instruction::Convert { number: source, from: value, to: register });
            value = Operand::Register(register);
        }
        if from != to && matches!(to, DType::BF16 | DType::F16) {
            let register = self.register(target, extent);
            self.code.push(Instruction::Round { dtype: to, from: value, to: register });
            value = Operand::Register(register);
        }
        Ok(match value {
            Operand::Register(register) => Form::Register(register),
            Operand::Immediate(bits) => Form::Immediate(bits),
        })
    }

    fn finish(mut self, results: &[ValueId]) -> Lowered<Lowering> {
        let mut outputs = Vec::with_capacity(results.len());
        let mut direct: HashMap<Register, usize> = HashMap::new();
        for (index, value) in results.iter().enumerate() {
            let (sizes, dtype, number) =
                (self.shape(*value)?, self.dtype(*value)?, self.number(*value)?);
            let Some(extent) = self.domain.extent(&sizes) else {
                return refuse("results of different shapes");
            };
            if extent == Extent::Element && !self.domain.in_order() {
                return refuse("a result in another order than the rows");
            }
            let from = self.operand(*value, &sizes, extent)?;
            outputs.push(OutputInfo { dtype, extent });
            let whole = dtype.bytes() == number.bytes();
            match from {
                Operand::Register(register)
                    if whole
                        && self.registers[register.0].extent == extent
                        && !direct.contains_key(&register) =>
                {
                    direct.insert(register, index);
                }
                from => self.code.push(Instruction::Store { from, number, output: index }),
            }
        }
        if self.domain.along != Along::Columns {
            let kept = direct.keys().copied().collect();
            self.code = softmax::recognize(self.code, &self.registers, &kept);
        }
        let slots = self.assign_places(&direct);
        let row = (!self.domain.reduced.is_empty()).then(|| self.domain.row());
        let width = (self.domain.along == Along::Columns).then(|| self.domain.width());
        let kernel = LoopKernel {
            elements: self.domain.elements(),
            row,
            width,
            inputs: self.inputs,
            outputs,
            registers: self.registers,
            slots,
            code: self.code,
        };
        Ok(Lowering { kernel, constants: self.constants })
    }

    /// Gives each register a slot, used again once nobody reads the number any more.
    fn assign_places(&mut self, direct: &HashMap<Register, usize>) -> Vec<usize> {
        let mut last: HashMap<Register, usize> = HashMap::new();
        for (at, instruction) in self.code.iter().enumerate() {
            for operand in instruction.operands() {
                if let Operand::Register(register) = operand {
                    last.insert(register, at);
                }
            }
        }
        let mut slots: Vec<usize> = Vec::new();
        let mut free: Vec<usize> = Vec::new();
        for (at, instruction) in self.code.iter().enumerate() {
            if let Some(to) = instruction.result() {
                let info = &mut self.registers[to.0];
                info.place = match direct.get(&to) {
                    Some(output) => Place::Output(*output),
                    None => {
                        let slot = free.pop().unwrap_or_else(|| {
                            slots.push(0);
                            slots.len() - 1
                        });
                        slots[slot] = slots[slot].max(info.number.bytes());
                        Place::Slot(slot)
                    }
                };
            }
            for operand in instruction.operands() {
                if let Operand::Register(register) = operand
                    && last.get(&register) == Some(&at)
                    && let Place::Slot(slot) = self.registers[register.0].place
                    && !free.contains(&slot)
                {
                    free.push(slot);
                }
            }
        }
        // Registers of instructions that became one are never used; any place will do.
        let unused = |info: &&mut RegisterInfo| info.place == Place::Slot(usize::MAX);
        for info in self.registers.iter_mut().filter(unused) {
            info.place = Place::Slot(0);
            slots.resize(slots.len().max(1), 0);
        }
        slots
    }
}

/// The bits of a constant's only element as its register type has them.
fn immediate(dtype: DType, number: Number, bytes: &[u8]) -> u64 {
    match Elements::from_bytes(dtype, bytes) {
        Elements::Floats(values) => match (values.first().copied().unwrap_or(0.0), number) {
            (value, Number::F32) => u64::from((value as f32).to_bits()),
            (value, _) => value.to_bits(),
        },
        Elements::Integers(values) => values.first().copied().unwrap_or(0) as u64,
        Elements::Complex(_) => 0,
    }
}
