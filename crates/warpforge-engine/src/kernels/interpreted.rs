//! Ops that have no kernel of their own yet, computed by the reference interpreter; the plan says so.
#![allow(unsafe_code)]

use warpforge_hlo::ir::{Function, Program};
use warpforge_tensor::Tensor;

use super::{Cost, Kernel};
use crate::EngineError;
use crate::pool::Pool;
use crate::reference::{Interpreter, Value};

/// A function run by the reference interpreter.
pub(crate) struct Interpreted {
    program: Program,
    cost: Cost,
}

impl Interpreted {
    pub(crate) fn new(function: &Function, cost: Cost) -> Self {
        let mut function = function.clone();
        function.public = true;
        function.name = "main".into();
        Self { program: Program { functions: vec![function], ..Program::default() }, cost }
    }
}

impl Kernel for Interpreted {
    fn backend(&self) -> &'static str {
        "reference"
    }

    fn cost(&self) -> Cost {
        self.cost
    }

    unsafe fn launch(
        &self,
        _: &Pool,
        inputs: &[*const u8],
        outputs: &[*mut u8],
    ) -> Result<(), EngineError> {
        let function = &self.program.functions[0];
        let mut values = Vec::with_capacity(inputs.len());
        for (argument, pointer) in function.body.arguments.iter().zip(inputs) {
            let ty = function.ty(*argument).tensor();
            let shape = ty.and_then(|ty| Some((ty.storage(), ty.shape()?)));
            let Some((dtype, shape)) = shape else {
                return Err(EngineError::Unsupported("a value of unknown size".into()));
            };
            let bytes = shape.elements() * dtype.bytes();
            // SAFETY: the caller's promise: a dense tensor of this type.
            let bytes = unsafe { std::slice::from_raw_parts(*pointer, bytes) };
            values.push(Value::Tensor(Tensor::new(dtype, shape, bytes)?));
        }
        let results = Interpreter::new(&self.program).run(values)?;
        for (result, pointer) in results.iter().zip(outputs) {
            let Value::Tensor(tensor) = result else {
                return Err(EngineError::Unsupported("a result that is no tensor".into()));
            };
            let bytes = tensor.bytes();
            // SAFETY: the caller's promise; the interpreter gives results of the types stated.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), *pointer, bytes.len()) };
        }
        Ok(())
    }
}
