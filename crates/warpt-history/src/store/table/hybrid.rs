//! Parquet's run-length and bit-packing hybrid for dictionary codes. Writing it here, from codes that are known already,
//! costs a tenth of letting a writer look every text up in a hash table; reading gives the codes back without a
//! copy of the text for each row.
//!
//! Reading never panics and takes no more memory than the number of codes asked for.

/// Bits a code needs when there are so many different ones.
pub(crate) fn width(distinct: usize) -> u8 {
    (usize::BITS - distinct.saturating_sub(1).leading_zeros()) as u8
}

/// Codes as bytes, the width in front as data pages have it.
pub(crate) fn encode(codes: &[u32], width: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(codes.len() * usize::from(width) / 8 + 16);
    out.push(width);
    // Start of the codes that wait to be packed; always a multiple of 8 of them before a run is written.
    let (mut start, mut at) = (0, 0);
    while at < codes.len() {
        let code = codes[at];
        let length = codes[at..].iter().take_while(|other| **other == code).count();
        // What completes the group of eight that is open.
        let fill = (8 - (at - start) % 8) % 8;
        if length >= fill + 8 {
            pack(&codes[start..at + fill], width, &mut out);
            let run = length - fill;
            varint((run as u64) << 1, &mut out);
            out.extend_from_slice(&code.to_le_bytes()[..usize::from(width).div_ceil(8)]);
            start = at + length;
        }
        at += length;
    }
    pack(&codes[start..], width, &mut out);
    out
}

fn pack(codes: &[u32], width: u8, out: &mut Vec<u8>) {
    if codes.is_empty() {
        return;
    }
    varint(((codes.len().div_ceil(8) as u64) << 1) | 1, out);
    let (mut buffer, mut filled) = (0_u64, 0_u32);
    let padding = codes.len().next_multiple_of(8) - codes.len();
    for code in codes.iter().copied().chain(std::iter::repeat_n(0, padding)) {
        buffer |= u64::from(code) << filled;
        filled += u32::from(width);
        while filled >= 8 {
            out.push(buffer as u8);
            buffer >>= 8;
            filled -= 8;
        }
    }
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads `count` codes, each below `distinct`, the width in front.
pub(crate) fn decode(bytes: &[u8], count: usize, distinct: usize) -> Option<Vec<u32>> {
    let (&width, mut rest) = bytes.split_first()?;
    if width > 32 {
        return None;
    }
    let mut codes = Vec::with_capacity(count.min(1 << 24));
    while codes.len() < count {
        let (header, after) = take_varint(rest)?;
        rest = after;
        let missing = count - codes.len();
        if header & 1 == 0 {
            let length = usize::try_from(header >> 1).ok()?;
            let bytes = usize::from(width).div_ceil(8);
            let mut code = [0; 4];
            code[..bytes].copy_from_slice(rest.get(..bytes)?);
            rest = &rest[bytes..];
            let code = u32::from_le_bytes(code);
            if length == 0 || code as usize >= distinct {
                return None;
            }
            codes.resize(codes.len() + length.min(missing), code);
        } else {
            let groups = usize::try_from(header >> 1).ok()?;
            let bytes = groups.checked_mul(usize::from(width))?;
            let packed = rest.get(..bytes)?;
            rest = &rest[bytes..];
            let length = groups.checked_mul(8)?.min(missing);
            if length == 0 {
                return None;
            }
            unpack(packed, width, length, distinct, &mut codes)?;
        }
    }
    Some(codes)
}

fn unpack(
    packed: &[u8],
    width: u8,
    length: usize,
    distinct: usize,
    codes: &mut Vec<u32>,
) -> Option<()> {
    let mask = (1_u64 << width) - 1;
    let (mut buffer, mut filled) = (0_u64, 0_u32);
    let mut bytes = packed.iter();
    for _ in 0..length {
        while filled < u32::from(width) {
            buffer |= u64::from(*bytes.next()?) << filled;
            filled += 8;
        }
        let code = (buffer & mask) as u32;
        if code as usize >= distinct {
            return None;
        }
        codes.push(code);
        buffer >>= width;
        filled -= u32::from(width);
    }
    Some(())
}

fn take_varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0_u64;
    for (place, byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f).checked_shl(7 * place as u32)?;
        if byte & 0x80 == 0 {
            return Some((value, &bytes[place + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn codes_come_back(
            runs in proptest::collection::vec((0_u32..300, 1_usize..40), 0..60), distinct in 300_usize..70_000,
        ) {
            let codes: Vec<u32> =
                runs.iter().flat_map(|(code, length)| std::iter::repeat_n(*code, *length)).collect();
            let bytes = encode(&codes, width(distinct));
            prop_assert_eq!(decode(&bytes, codes.len(), distinct), Some(codes));
        }

        #[test]
        fn no_bytes_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..60), count in 0_usize..1000, distinct in 0_usize..100,
        ) {
            if let Some(codes) = decode(&bytes, count, distinct) {
                prop_assert_eq!(codes.len(), count);
                prop_assert!(codes.iter().all(|code| (*code as usize) < distinct));
            }
        }
    }

    #[test]
    fn one_text_takes_no_bits() {
        assert_eq!(
            (width(0), width(1), width(2), width(3), width(256), width(257)),
            (0, 0, 1, 2, 8, 9)
        );
        let bytes = encode(&[0; 100_000], 0);
        assert!(bytes.len() < 6);
        assert_eq!(decode(&bytes, 100_000, 1), Some(vec![0; 100_000]));
    }
}
