//! Products of rows with numbers in 12 bits.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
pub(super) use x86::dots;

#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn dots(
    _: &super::super::dots::Rows,
    _: &[*const u8; super::super::dots::STREAMS],
    _: &super::Table,
    _: usize,
) -> super::super::dots::Dots {
    unreachable!("streams need 512-bit vectors");
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m512i, _MM_HINT_T0, _mm_prefetch, _mm512_load_si512, _mm512_loadu_epi16,
        _mm512_permutexvar_epi16, _mm512_set1_epi16, _mm512_set4_epi32, _mm512_setzero_ps,
        _mm512_shuffle_epi8, _mm512_srli_epi16, _mm512_ternarylogic_epi32,
    };

    use super::super::super::dots::{
        AHEAD, Dots, Instruction, Pairs, Rows, STREAMS, Widened, added, for_rows,
    };
    use super::super::{BLOCK, BLOCK_BYTES, Table, WORDS};
    use crate::products::has_bf16_vectors;

    /// The products of rows with the blocks of columns.
    ///
    /// # Safety
    ///
    /// The machine has 512-bit vectors; there are so many blocks in each column, at the beginning of a cache line, and as many
    /// numbers in each row.
    pub(in super::super) unsafe fn dots(
        rows: &Rows,
        columns: &[*const u8; STREAMS],
        table: &Table,
        blocks: usize,
    ) -> Dots {
        // SAFETY: the caller's promise; what else the machine has is asked.
        unsafe {
            match has_bf16_vectors() {
                true => by_instruction(rows, columns, table, blocks),
                false => widened(rows, columns, table, blocks),
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    unsafe fn by_instruction(
        rows: &Rows,
        columns: &[*const u8; STREAMS],
        table: &Table,
        blocks: usize,
    ) -> Dots {
        // SAFETY: the caller's promise.
        unsafe { for_rows!(rows.count, of_rows(&Instruction, rows, columns, table, blocks)) }
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn widened(
        rows: &Rows,
        columns: &[*const u8; STREAMS],
        table: &Table,
        blocks: usize,
    ) -> Dots {
        // SAFETY: the caller's promise.
        unsafe { for_rows!(rows.count, of_rows(&Widened, rows, columns, table, blocks)) }
    }

    /// # Safety
    ///
    /// As for [`dots`], and the machine has the instructions.
    #[inline(always)]
    unsafe fn of_rows<const ROWS: usize>(
        how: &impl Pairs,
        rows: &Rows,
        columns: &[*const u8; STREAMS],
        table: &Table,
        blocks: usize,
    ) -> Dots {
        /// What is no exponent.
        const REST: i16 = 0x807f_u16 as i16;
        // SAFETY: the caller's promise; the table is one vector, at the beginning of a cache line; asking for memory that is
        // not there does nothing.
        unsafe {
            let mut sums = [[_mm512_setzero_ps(); STREAMS]; ROWS];
            let table = _mm512_load_si512(std::ptr::from_ref(table).cast());
            let rest = _mm512_set1_epi16(REST);
            let swap = _mm512_set4_epi32(0x0e0f_0c0d, 0x0a0b_0809, 0x0607_0405, 0x0203_0001);
            let number = |codes: __m512i, pair: __m512i| {
                /// The bits of the first that are in the second, and those of the third.
                const AND_OR: i32 = 0xea;
                let exponents = _mm512_permutexvar_epi16(codes, table);
                _mm512_ternarylogic_epi32::<AND_OR>(pair, rest, exponents)
            };
            for block in 0..blocks {
                for (stream, column) in columns.iter().enumerate() {
                    let place = column.wrapping_add(block * BLOCK_BYTES);
                    _mm_prefetch::<_MM_HINT_T0>(place.wrapping_add(AHEAD).cast());
                    _mm_prefetch::<_MM_HINT_T0>(place.wrapping_add(AHEAD + 64).cast());
                    _mm_prefetch::<_MM_HINT_T0>(place.wrapping_add(AHEAD + 128).cast());
                    let codes = _mm512_load_si512(place.cast());
                    let low = _mm512_load_si512(place.add(64).cast());
                    let high = _mm512_load_si512(place.add(128).cast());
                    let numbers = [
                        number(codes, low),
                        number(_mm512_srli_epi16::<4>(codes), _mm512_shuffle_epi8(low, swap)),
                        number(_mm512_srli_epi16::<8>(codes), high),
                        number(_mm512_srli_epi16::<12>(codes), _mm512_shuffle_epi8(high, swap)),
                    ];
                    for (row, sums) in sums.iter_mut().enumerate() {
                        let left = rows.start.wrapping_offset(row as isize * rows.step);
                        let left = left.cast::<i16>().add(block * BLOCK);
                        for (part, number) in numbers.iter().enumerate() {
                            let left = _mm512_loadu_epi16(left.add(part * WORDS));
                            sums[stream] = how.add(sums[stream], left, *number);
                        }
                    }
                }
            }
            added(&sums)
        }
    }
}
