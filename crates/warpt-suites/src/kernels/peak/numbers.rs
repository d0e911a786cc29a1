//! The operands of the register loops and the scalar computation their results are compared with. All values are
//! whole numbers small enough that every sum is exact in the accumulator's type.

use super::{PeakKernel, Product};

/// The value of a bf16 number.
pub fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The nearest bf16 number, ties to even; not for NaN.
pub fn bf16_from_f32(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1));
    (rounded >> 16) as u16
}

/// An operand's element as a whole number, by type.
fn write_element(product: Product, bytes: &mut [u8], index: usize, value: i8) {
    match product {
        Product::F64Lanes => {
            bytes[index * 8..][..8].copy_from_slice(&f64::from(value).to_ne_bytes());
        }
        Product::F32Lanes => {
            bytes[index * 4..][..4].copy_from_slice(&f32::from(value).to_ne_bytes());
        }
        Product::Bf16Pairs | Product::Bf16Tiles => {
            bytes[index * 2..][..2].copy_from_slice(&bf16_from_f32(f32::from(value)).to_ne_bytes());
        }
        Product::BytesUnsignedSigned | Product::ByteTiles => bytes[index] = value as u8,
    }
}

fn read_element(product: Product, bytes: &[u8], index: usize) -> f64 {
    match product {
        Product::F64Lanes => f64::from_ne_bytes(array(bytes, index)),
        Product::F32Lanes => f64::from(f32::from_ne_bytes(array(bytes, index))),
        Product::Bf16Pairs | Product::Bf16Tiles => {
            f64::from(bf16_to_f32(u16::from_ne_bytes(array(bytes, index))))
        }
        // The left operand of the unsigned-by-signed product stays below 128, so both read the same.
        Product::BytesUnsignedSigned | Product::ByteTiles => f64::from(bytes[index] as i8),
    }
}

/// The bytes of one element.
fn array<const N: usize>(bytes: &[u8], index: usize) -> [u8; N] {
    std::array::from_fn(|byte| bytes[index * N + byte])
}

/// How many elements of the operand's type fit in a register.
fn operand_elements(kernel: &PeakKernel) -> usize {
    let element_bytes = match kernel.product {
        Product::F64Lanes => 8,
        Product::F32Lanes => 4,
        Product::Bf16Pairs | Product::Bf16Tiles => 2,
        Product::BytesUnsignedSigned | Product::ByteTiles => 1,
    };
    kernel.register_bytes / element_bytes
}

fn read_lane(product: Product, bytes: &[u8], index: usize) -> f64 {
    match product {
        Product::F64Lanes => f64::from_ne_bytes(array(bytes, index)),
        Product::F32Lanes | Product::Bf16Pairs | Product::Bf16Tiles => {
            f64::from(f32::from_ne_bytes(array(bytes, index)))
        }
        Product::BytesUnsignedSigned | Product::ByteTiles => {
            f64::from(i32::from_ne_bytes(array(bytes, index)))
        }
    }
}

fn write_lane(product: Product, bytes: &mut [u8], index: usize, value: i16) {
    match product {
        Product::F64Lanes => {
            bytes[index * 8..][..8].copy_from_slice(&f64::from(value).to_ne_bytes());
        }
        Product::F32Lanes | Product::Bf16Pairs | Product::Bf16Tiles => {
            bytes[index * 4..][..4].copy_from_slice(&f32::from(value).to_ne_bytes());
        }
        Product::BytesUnsignedSigned | Product::ByteTiles => {
            bytes[index * 4..][..4].copy_from_slice(&i32::from(value).to_ne_bytes());
        }
    }
}

fn lanes(kernel: &PeakKernel) -> usize {
    kernel.register_bytes / if kernel.product == Product::F64Lanes { 8 } else { 4 }
}

/// What an accumulator lane starts with.
fn start(register: usize, lane: usize) -> i16 {
    ((register * 31 + lane * 7) % 251) as i16 - 125
}

/// Fills accumulators and operands.
pub(super) fn fill(kernel: &PeakKernel, memory: &mut [u8]) {
    for register in 0..kernel.accumulators {
        for lane in 0..lanes(kernel) {
            let at = &mut memory[register * kernel.stride..][..kernel.register_bytes];
            write_lane(kernel.product, at, lane, start(register, lane));
        }
    }
    for index in 0..operand_elements(kernel) {
        let (left, right) =
            memory[kernel.accumulators * kernel.stride..].split_at_mut(kernel.stride);
        write_element(kernel.product, left, index, (index % 3) as i8 + 1);
        write_element(kernel.product, right, index, (index % 5) as i8 - 1);
    }
}

/// Changes the sign of the right operand, so that the next block takes back what the last one added.
pub(super) fn negate(kernel: &PeakKernel, memory: &mut [u8]) {
    let at = &mut memory[(kernel.accumulators + 1) * kernel.stride..][..kernel.register_bytes];
    match kernel.product {
        Product::F64Lanes => at.chunks_exact_mut(8).for_each(|element| element[7] ^= 0x80),
        Product::F32Lanes => at.chunks_exact_mut(4).for_each(|element| element[3] ^= 0x80),
        Product::Bf16Pairs | Product::Bf16Tiles => {
            at.chunks_exact_mut(2).for_each(|element| element[1] ^= 0x80);
        }
        Product::BytesUnsignedSigned | Product::ByteTiles => {
            at.iter_mut().for_each(|element| *element = element.wrapping_neg());
        }
    }
}

/// What one instruction adds to a lane: the scalar form of each product.
fn increment(product: Product, left: &[u8], right: &[u8], lane: usize) -> f64 {
    let read = |bytes: &[u8], index: usize| read_element(product, bytes, index);
    let sum =
        |terms: usize, left_at: &dyn Fn(usize) -> usize, right_at: &dyn Fn(usize) -> usize| {
            (0..terms).map(|term| read(left, left_at(term)) * read(right, right_at(term))).sum()
        };
    let (row, column) = (lane / 16, lane % 16);
    match product {
        Product::F64Lanes | Product::F32Lanes => read(left, lane) * read(right, lane),
        Product::Bf16Pairs => sum(2, &|term| lane * 2 + term, &|term| lane * 2 + term),
        Product::BytesUnsignedSigned => sum(4, &|term| lane * 4 + term, &|term| lane * 4 + term),
        // The right tile holds groups of consecutive rows side by side: pairs of bf16, quadruples of bytes.
        Product::Bf16Tiles => sum(32, &|k| row * 32 + k, &|k| (k / 2) * 32 + column * 2 + k % 2),
        Product::ByteTiles => sum(64, &|k| row * 64 + k, &|k| (k / 4) * 64 + column * 4 + k % 4),
    }
}

/// Compares every accumulator lane with the scalar computation after `blocks` blocks.
pub(super) fn check(kernel: &PeakKernel, memory: &[u8], blocks: u64) -> Result<(), String> {
    let operands = &memory[kernel.accumulators * kernel.stride..];
    let (left, right) = operands.split_at(kernel.stride);
    // After an even number of blocks everything added was taken back; after an odd one, one block's sum remains,
    // and the right operand has the opposite sign of the block that added it.
    let remaining = if blocks.is_multiple_of(2) { 0.0 } else { -(kernel.rounds as f64) };
    for lane in 0..lanes(kernel) {
        let sum = remaining * increment(kernel.product, left, right, lane);
        for register in 0..kernel.accumulators {
            let found = read_lane(kernel.product, &memory[register * kernel.stride..], lane);
            let expected = f64::from(start(register, lane)) + sum;
            if found != expected {
                return Err(format!(
                    "accumulator {register} lane {lane} after {blocks} blocks: expected {expected}, found {found}"
                ));
            }
        }
    }
    Ok(())
}
