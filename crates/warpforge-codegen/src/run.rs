//! A kernel's code and how it is handed its memory: the domain is cut into lines, and lines that lie evenly in all operands
//! are handed over at once.
#![allow(unsafe_code)]

use std::ops::Range;

use crate::ir::{Access, Extent, LoopKernel, Spread};
use crate::lower::{self, Lowered, Stream};
use crate::{Unsupported, Writes};

use crate::x86::{self, Executable, LANES, Line, MOST_EVICTED};

/// Elements of a line at least: shorter ones leave most of a vector empty.
const SHORTEST_LINE: usize = 16;

/// How elements of an operand follow one another from line to line.
#[derive(Debug, Clone)]
struct Walk {
    /// Which of the inputs or outputs.
    operand: usize,
    is_output: bool,
    bytes: usize,
    /// Where lines are; outputs lie in order.
    access: Option<Access>,
    /// Elements of a line, or 1 for numbers of rows.
    line: usize,
    /// Lines that lie evenly, and how far apart.
    lines: usize,
    step: isize,
    /// How far apart elements of a line are.
    stride: isize,
}

impl Walk {
    fn new(
        kernel: &LoopKernel,
        stream: (Stream, lower::Format, Extent),
        line: usize,
    ) -> Result<Self, Unsupported> {
        let (stream, format, extent) = stream;
        let line = if extent == Extent::Row { 1 } else { line };
        let bytes = format.bytes();
        let input = match stream {
            Stream::Output(operand) => {
                let (lines, step, access) = (usize::MAX, line as isize, None);
                return Ok(Self {
                    operand,
                    is_output: true,
                    bytes,
                    access,
                    line,
                    lines,
                    step,
                    stride: 1,
                });
            }
            Stream::Input(input) => input,
        };
        let access = kernel.inputs[input].clone();
        let uneven = || Unsupported("lines that do not lie evenly".into());
        let (length, stride) = *access.dimensions.last().ok_or_else(uneven)?;
        let (lines, step) = if length > line && length % line == 0 {
            (length / line, line as isize * stride)
        } else if length == line {
            let outer = access.dimensions.len().checked_sub(2).map(|at| access.dimensions[at]);
            outer.unwrap_or((usize::MAX, 0))
        } else {
            return Err(uneven());
        };
        let operand = access.operand;
        Ok(Self {
            operand,
            is_output: false,
            bytes,
            access: Some(access),
            line,
            lines,
            step,
            stride,
        })
    }

    /// Where the first element of a line is, in elements.
    fn place(&self, line: usize) -> isize {
        match &self.access {
            None => (line * self.line) as isize,
            Some(access) => access.place(line * self.line),
        }
    }

    /// Whether the next line has other elements, or there is but one.
    fn moves(&self) -> bool {
        self.step != 0 || self.lines == usize::MAX
    }

    /// Lines that follow evenly from one on, itself among them.
    fn even(&self, line: usize) -> usize {
        self.lines - line % self.lines
    }
}

/// Machine code for a kernel.
#[derive(Debug)]
pub struct Generated {
    code: Executable,
    /// The same, writing past the caches, for results that lie at whole lines.
    streaming: Option<Executable>,
    constants: Vec<Line>,
    walks: Vec<Walk>,
    spills: usize,
    slots: usize,
    /// Elements of a line: of a row, where the kernel reduces.
    line: usize,
    reduces: bool,
}

/// Elements of the longest lines that all operands have.
fn line(kernel: &LoopKernel, lowered: &Lowered) -> Result<usize, Unsupported> {
    if let Some(row) = kernel.row {
        return Ok(row.max(1));
    }
    let mut line = kernel.elements;
    for (stream, _, extent) in &lowered.streams {
        if let (Stream::Input(input), Extent::Element) = (stream, extent)
            && let Some((length, _)) = kernel.inputs[*input].dimensions.last()
        {
            line = greatest_divisor(line, *length);
        }
    }
    if line < SHORTEST_LINE && line < kernel.elements {
        return Err(Unsupported(format!("lines of {line} elements")));
    }
    Ok(line.max(1))
}

fn greatest_divisor(mut a: usize, mut b: usize) -> usize {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Generated {
    /// Makes code for a kernel, which writes its results in one of the ways.
    pub fn new(kernel: &LoopKernel, writes: Writes) -> Result<Self, Unsupported> {
        if !x86::is_available() {
            return Err(Unsupported("a processor without AVX-512".into()));
        }
        let lowered = lower::lower(kernel)?;
        let (code, constants) = x86::assemble(&lowered, None)?;
        let mut made = Self { constants, ..Self::of(kernel, &lowered, Executable::new(&code)?)? };
        let moving: Vec<bool> = made.walks.iter().map(Walk::moves).collect();
        let rows = x86::Rows { elements: made.line, moving: &moving, writes };
        let large = || Executable::new(&x86::assemble(&lowered, Some(rows))?.0);
        match writes {
            Writes::Past if made.line.is_multiple_of(LANES) => made.streaming = Some(large()?),
            Writes::Through => made.code = large()?,
            Writes::Near | Writes::Past => {}
        }
        Ok(made)
    }

    /// The same by a function that was made of the kernel as it is [printed](crate::printed).
    ///
    /// # Safety
    ///
    /// The function is that, and stays where it is as long as this is used.
    #[cfg(feature = "printed")]
    pub unsafe fn by(
        kernel: &LoopKernel,
        function: extern "C" fn(*mut u64),
    ) -> Result<Self, Unsupported> {
        Self::of(kernel, &lower::lower(kernel)?, Executable::there(function))
    }

    fn of(kernel: &LoopKernel, lowered: &Lowered, code: Executable) -> Result<Self, Unsupported> {
        let line = line(kernel, lowered)?;
        let walks: Result<Vec<Walk>, Unsupported> =
            lowered.streams.iter().map(|stream| Walk::new(kernel, *stream, line)).collect();
        Ok(Self {
            code,
            streaming: None,
            constants: Vec::new(),
            walks: walks?,
            spills: lowered.spills,
            // Behind them, those of the first pass for the next row.
            slots: lowered.slots + lowered.passes.first().map_or(0, |pass| pass.reduced.len()),
            line,
            reduces: kernel.row.is_some(),
        })
    }

    /// Computes a part of the domain on this thread: whole rows where the kernel reduces.
    ///
    /// # Safety
    ///
    /// `inputs` and `outputs` have one pointer for each of the kernel's, to as many elements as its accesses reach from the
    /// part, aligned to their types; nothing else writes the inputs or touches that part of the outputs meanwhile, and no
    /// output overlaps an input. A pointer to an operand whose elements are visited in order leads to where its first
    /// element would be.
    pub unsafe fn run_part(
        &self,
        elements: Range<usize>,
        inputs: &[*const u8],
        outputs: &[*mut u8],
    ) {
        // SAFETY: the caller's promise.
        unsafe { self.run(elements, inputs, outputs, None) };
    }

    /// Whether [`Self::run_rows`] takes rows of so many elements.
    pub fn takes_rows(&self, width: usize) -> bool {
        self.line == width
    }

    /// Computes some rows of the domain on this thread, which lie at a distance from one another in all outputs and in some
    /// inputs: pointers to those lead to the first of these rows.
    ///
    /// # Safety
    ///
    /// As for [`Self::run_part`], but for what the pointers lead to; it [takes such rows](Self::takes_rows).
    pub unsafe fn run_rows(
        &self,
        rows: Range<usize>,
        inputs: &[*const u8],
        outputs: &[*mut u8],
        spread: &Spread<'_>,
    ) {
        let elements = rows.start * self.line..rows.end * self.line;
        // SAFETY: the caller's promise.
        unsafe { self.run(elements, inputs, outputs, Some((rows.start, spread))) };
    }

    /// # Safety
    ///
    /// As for [`Self::run_part`] or [`Self::run_rows`].
    unsafe fn run(
        &self,
        elements: Range<usize>,
        inputs: &[*const u8],
        outputs: &[*mut u8],
        spread: Option<(usize, &Spread<'_>)>,
    ) {
        let (mut start, end) = (elements.start, elements.end);
        while start < end {
            let (number, inside) = (start / self.line, start % self.line);
            let whole = (end - start) / self.line;
            let (lines, length) = if inside == 0 && whole > 0 {
                let even = self.walks.iter().map(|walk| walk.even(number)).min();
                (even.unwrap_or(1).min(whole), self.line)
            } else {
                (1, (self.line - inside).min(end - start))
            };
            debug_assert!(!self.reduces || (inside == 0 && length == self.line));
            // SAFETY: the caller's promise; these lines lie evenly in all operands.
            unsafe { self.lines((number, inside), lines, length, inputs, outputs, spread) };
            start += lines * length;
        }
    }

    /// # Safety
    ///
    /// As for [`Self::run_part`]; the lines lie evenly.
    unsafe fn lines(
        &self,
        (number, inside): (usize, usize),
        lines: usize,
        length: usize,
        inputs: &[*const u8],
        outputs: &[*mut u8],
        spread: Option<(usize, &Spread<'_>)>,
    ) {
        const EVICTED_WORDS: usize = MOST_EVICTED * 8;
        thread_local! {
            /// The frame, and room for what rows are made of, kept between calls.
            static ROOM: std::cell::RefCell<(Vec<u64>, Vec<[u64; 8]>)> =
                const { std::cell::RefCell::new((Vec::new(), Vec::new())) };
        }
        ROOM.with_borrow_mut(|(frame, room)| {
            let spill = length.next_multiple_of(LANES) * 4 / 64;
            let slots = self.slots.div_ceil(16);
            let needed = EVICTED_WORDS / 8 + slots + spill * self.spills;
            if room.len() < needed {
                room.resize(needed, [0; 8]);
            }
            let evicted = room.as_mut_ptr();
            let numbers = evicted.wrapping_add(EVICTED_WORDS / 8);
            let spilled = numbers.wrapping_add(slots);
            frame.clear();
            frame.extend([lines as u64, length as u64]);
            frame.extend([self.constants.as_ptr() as u64, numbers as u64, evicted as u64]);
            let mut aligned = true;
            for walk in &self.walks {
                let bytes = walk.bytes as isize;
                let is_spread = |spread: &Spread<'_>| walk.is_output || spread.inputs[walk.operand];
                let (place, step) = match spread.filter(|(_, spread)| is_spread(spread)) {
                    Some((first, spread)) => {
                        (((number - first) * spread.distance) as isize, spread.distance as isize)
                    }
                    None => (walk.place(number) + inside as isize * walk.stride, walk.step),
                };
                let pointer = match walk.is_output {
                    true => outputs[walk.operand].wrapping_offset(place * bytes) as u64,
                    false => inputs[walk.operand].wrapping_offset(place * bytes) as u64,
                };
                let step = (step * bytes) as u64;
                if walk.is_output && walk.bytes > 1 && walk.line > 1 {
                    aligned &=
                        pointer.is_multiple_of(64) && (lines == 1 || step.is_multiple_of(64));
                }
                frame.extend([pointer, step]);
            }
            for slot in 0..self.spills {
                frame.extend([spilled.wrapping_add(slot * spill) as u64, 0]);
            }
            let code = match &self.streaming {
                Some(streaming) if aligned => streaming,
                _ => &self.code,
            };
            // SAFETY: the caller's promise: every line that the frame leads to is there; the code was made for this frame.
            unsafe { code.call(frame.as_mut_ptr()) };
        });
    }
}
