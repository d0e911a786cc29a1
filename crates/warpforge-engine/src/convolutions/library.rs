//! Convolutions by the vendor library, in the layouts it likes best: what lies otherwise is copied before and after.
#![allow(unsafe_code)]

use std::sync::{Arc, Mutex, PoisonError};

use warpforge_onednn::{
    Argument, ConvolutionShape, Execution, MemoryDesc, Primitive, Threadpool,
    convolution_backward_data, convolution_backward_weights, convolution_forward,
};
use warpforge_tensor::DType;

use super::recognize::placed;
use super::{Convolution, Dimensions, Direction, is_channels_last};
use crate::EngineError;
use crate::kernels::{Cost, Kernel};
use crate::library::{Following, Reordering, data_type, failed, packed, scratch_of, strided};
use crate::plan::Buffer;
use crate::pool::Pool;
use crate::view::View;

/// An operand as the library wants it: where it lies otherwise, a copy and room for it.
struct Operand {
    copy: Option<(Reordering, Buffer)>,
}

impl Operand {
    fn new(plain: &MemoryDesc, wanted: &MemoryDesc, threads: usize) -> Result<Self, EngineError> {
        let copy = if plain == wanted {
            None
        } else {
            Some((Reordering::new(plain, wanted, threads)?, Buffer::new(wanted.bytes())))
        };
        Ok(Self { copy })
    }

    /// Where the library finds it.
    unsafe fn brought(
        &self,
        threads: &Threadpool,
        given: *const u8,
    ) -> Result<*mut u8, EngineError> {
        match &self.copy {
            None => Ok(given.cast_mut()),
            Some((copy, room)) => {
                // SAFETY: the caller's promise; the room is as large as the layout asks.
                unsafe { copy.run(threads, given, room.pointer()) }?;
                Ok(room.pointer())
            }
        }
    }
}

/// The kernel.
pub(crate) struct LibraryConvolution {
    execution: Mutex<Execution>,
    threads: Arc<Threadpool>,
    /// Input, kernel, and what is added: operands of the cluster, and where in them the first element lies, in bytes.
    operands: Vec<(usize, isize)>,
    input: Operand,
    kernel: Operand,
    /// The kernel in the library's layout, where it never changes.
    packed: Option<Buffer>,
    /// From the library's layout to the result's, and room for the former.
    result: Option<(Reordering, Buffer)>,
    scratch: Option<Buffer>,
    cost: Cost,
}

fn any(dtype: warpforge_tensor::DType, dimensions: &Dimensions) -> Result<MemoryDesc, EngineError> {
    let sizes: Vec<usize> = dimensions.iter().map(|(size, _)| *size).collect();
    MemoryDesc::any(data_type(dtype)?, &sizes).map_err(|error| failed(&error))
}

fn chosen(primitive: &Primitive, argument: Argument) -> Result<MemoryDesc, EngineError> {
    primitive
        .descriptor(argument)
        .ok_or_else(|| EngineError::Unsupported("a convolution without a layout".into()))
}

/// How a summand lies, in the dimensions of the result.
fn described(
    convolution: &Convolution,
    view: &View,
    dtype: DType,
) -> Result<MemoryDesc, EngineError> {
    let placed = placed(view, &convolution.order);
    strided(
        dtype,
        &placed.ok_or_else(|| EngineError::Unsupported("a summand of another rank".into()))?,
    )
}

/// A summand as a bias: one number for each feature.
fn as_bias(described: &MemoryDesc) -> Option<MemoryDesc> {
    let dims = described.dims();
    let others = dims.iter().enumerate().all(|(at, size)| at == 1 || *size == 1);
    let features = *dims.get(1)?;
    let steps = described.is_strided()?;
    if !others || steps.get(1) != Some(&1) {
        return None;
    }
    MemoryDesc::strided(described.data_type(), &[features], &[1]).ok()
}

impl LibraryConvolution {
    /// Makes a convolution ready. `weights` leads to the kernel where it never changes.
    pub(crate) fn new(
        convolution: &Convolution,
        threads: &Arc<Threadpool>,
        weights: Option<*const u8>,
        cost: Cost,
    ) -> Result<Self, EngineError> {
        let [input_type, kernel_type, result_type] = convolution.dtypes;
        let count = threads.count();
        let shape = ConvolutionShape {
            strides: convolution.strides.clone(),
            dilations: convolution.dilations.clone(),
            padding_low: convolution.padding.iter().map(|(low, _)| *low).collect(),
            padding_high: convolution.padding.iter().map(|(_, high)| *high).collect(),
        };
        let plain_input = strided(input_type, &convolution.input)?;
        let plain_kernel = strided(kernel_type, &convolution.kernel)?;
        let plain_result = strided(result_type, &convolution.result)?;
        let following = Following::new(
            &convolution.tails,
            count,
            |view, dtype| described(convolution, view, dtype),
            as_bias,
        )?;
        // Features that lie together are a layout the library computes in; from others it is asked for its own.
        let asked = |plain: &MemoryDesc, dtype, dimensions: &Dimensions| {
            if is_channels_last(dimensions) { Ok(plain.clone()) } else { any(dtype, dimensions) }
        };
        let asked_input = asked(&plain_input, input_type, &convolution.input)?;
        let asked_kernel = match convolution.direction {
            Direction::Kernel => asked(&plain_kernel, kernel_type, &convolution.kernel)?,
            Direction::Forward | Direction::Input => any(kernel_type, &convolution.kernel)?,
        };
        let asked_result = match convolution.direction {
            Direction::Kernel => any(result_type, &convolution.result)?,
            Direction::Forward | Direction::Input => {
                asked(&plain_result, result_type, &convolution.result)?
            }
        };
        let attributes = &following.attributes;
        let (primitive, arguments) = match convolution.direction {
            Direction::Forward => (
                convolution_forward(
                    &asked_input,
                    &asked_kernel,
                    following.bias(),
                    &asked_result,
                    &shape,
                    attributes,
                ),
                [Argument::Src, Argument::Weights, Argument::Dst],
            ),
            Direction::Input => (
                convolution_backward_data(
                    &asked_result,
                    &asked_kernel,
                    &asked_input,
                    &shape,
                    attributes,
                ),
                [Argument::DiffDst, Argument::Weights, Argument::DiffSrc],
            ),
            Direction::Kernel => (
                convolution_backward_weights(
                    &asked_input,
                    &asked_result,
                    None,
                    &asked_kernel,
                    &shape,
                    attributes,
                ),
                [Argument::Src, Argument::DiffDst, Argument::DiffWeights],
            ),
        };
        let primitive = Arc::new(primitive.map_err(|error| failed(&error))?);
        let [input, kernel, result] = arguments.map(|argument| chosen(&primitive, argument));
        let (input, kernel, result) = (input?, kernel?, result?);
        let layouts = [&input, &kernel, &result];
        let mut operands: Vec<(Argument, MemoryDesc)> =
            arguments.into_iter().zip(layouts.map(MemoryDesc::clone)).collect();
        let bytes = |dtype: DType, elements: isize| elements * dtype.bytes() as isize;
        let mut places = vec![
            (convolution.operands[0], bytes(input_type, convolution.offsets[0])),
            (convolution.operands[1], bytes(kernel_type, convolution.offsets[1])),
        ];
        for added in following.added {
            operands.push((added.place, added.described));
            places.push((added.operand, added.offset));
        }
        let scratch = scratch_of(&primitive, &mut operands);
        let execution = Execution::new(&primitive, &operands).map_err(|error| failed(&error))?;
        let packed = match weights {
            // SAFETY: the caller's promise: the kernel is there, whole.
            Some(weights) => Some(unsafe {
                packed(weights.offset(places[1].1), &plain_kernel, &kernel, threads)
            }?),
            None => None,
        };
        let result = if plain_result == result {
            None
        } else {
            let room = Buffer::new(result.bytes());
            Some((Reordering::new(&result, &plain_result, count)?, room))
        };
        Ok(Self {
            execution: Mutex::new(execution),
            threads: Arc::clone(threads),
            operands: places,
            input: Operand::new(&plain_input, &input, count)?,
            kernel: Operand::new(&plain_kernel, &kernel, count)?,
            packed,
            result,
            scratch,
            cost,
        })
    }
}

impl Kernel for LibraryConvolution {
    fn backend(&self) -> &'static str {
        "library"
    }

    fn cost(&self) -> Cost {
        self.cost
    }

    fn held_bytes(&self) -> usize {
        let result = self.result.as_ref().map(|(_, room)| room);
        self.packed.iter().chain(&self.scratch).chain(result).map(Buffer::bytes).sum()
    }

    fn reads(&self, input: usize) -> bool {
        let packed = |place: usize| place == 1 && self.packed.is_some();
        let mut operands = self.operands.iter().enumerate();
        operands.any(|(place, (operand, _))| *operand == input && !packed(place))
    }

    unsafe fn launch(
        &self,
        _: &Pool,
        inputs: &[*const u8],
        outputs: &[*mut u8],
    ) -> Result<(), EngineError> {
        let threads = &self.threads;
        // SAFETY: the caller's promise; offsets lead to elements of the operands; rooms are as large as the library's
        // layouts ask.
        unsafe {
            let given = |(operand, offset): (usize, isize)| inputs[operand].offset(offset);
            let input = self.input.brought(threads, given(self.operands[0]))?;
            let kernel = match &self.packed {
                Some(packed) => packed.pointer(),
                None => self.kernel.brought(threads, given(self.operands[1]))?,
            };
            let result = self.result.as_ref().map_or(outputs[0], |(_, room)| room.pointer());
            let mut pointers = vec![input, kernel, result];
            pointers.extend(self.operands[2..].iter().map(|added| given(*added).cast_mut()));
            pointers.extend(self.scratch.as_ref().map(Buffer::pointer));
            let mut execution = self.execution.lock().unwrap_or_else(PoisonError::into_inner);
            execution.run(threads, &pointers).map_err(|error| failed(&error))?;
            if let Some((copy, room)) = &self.result {
                copy.run(threads, room.pointer().cast_const(), outputs[0])?;
            }
        }
        Ok(())
    }
}
