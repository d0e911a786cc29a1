//! One run and its rows as bytes: a frame of the journal.
//!
//! ```text
//! "WJ01"  length u32  checksum u64 (xxHash64 of the payload)  payload
//! ```
//!
//! Numbers are little-endian; counts in the payload are LEB128. Reading never panics, takes no memory that the input does
//! not justify, and finds the next frame after anything that is not one: a torn write costs the torn run only.

use std::collections::HashMap;
use std::sync::Arc;

use super::row::{MAX_ROWS, MAX_TEXT_BYTES, Row, RunRows, RunSummary, SeriesKey, Standing};

/// What every frame starts with.
pub const MAGIC: [u8; 4] = *b"WJ01";
/// Bytes before the payload.
pub const HEADER_BYTES: usize = 16;
/// A payload is never longer.
pub const MAX_PAYLOAD_BYTES: usize = 1 << 28;
/// Bits of the byte that says which numbers a row has.
const HAS: [u8; 4] = [1, 2, 4, 8];
/// The smallest row in bytes: three references, direction, standing, samples, presence and the value.
const MIN_ROW_BYTES: usize = 15;

/// A run as a frame; none when it would be longer than a reader accepts.
pub fn encode(run: &RunRows) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(64 + run.rows.len() * 96);
    encode_into(run, &mut out).then_some(out)
}

/// Adds a run as a frame; false, and nothing added, when it would be longer than a reader accepts.
pub(crate) fn encode_into(run: &RunRows, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    put_payload(run, out);
    let payload = &out[start + HEADER_BYTES..];
    if payload.len() > MAX_PAYLOAD_BYTES {
        out.truncate(start);
        return false;
    }
    let (length, checksum) = (payload.len() as u32, checksum(payload));
    let header = &mut out[start..start + HEADER_BYTES];
    header[..4].copy_from_slice(&MAGIC);
    header[4..8].copy_from_slice(&length.to_le_bytes());
    header[8..].copy_from_slice(&checksum.to_le_bytes());
    true
}

fn put_payload(run: &RunRows, out: &mut Vec<u8>) {
    let summary = &run.summary;
    out.extend_from_slice(&summary.time_us.to_le_bytes());
    for text in [
        &summary.run,
        &summary.machine,
        &summary.suite,
        &summary.hardware,
        &summary.software,
        &summary.state,
    ] {
        put_text(out, text);
    }
    for count in [summary.passed, summary.failed, summary.skipped] {
        put_count(out, u64::from(count));
    }
    let mut texts = Texts::default();
    let references: Vec<[u64; 3]> = run
        .rows
        .iter()
        .map(|row| {
            let key = &row.key;
            [texts.add(0, &key.metric), texts.add(1, &key.params), texts.add(2, &key.unit)]
        })
        .collect();
    put_count(out, texts.list.len() as u64);
    for text in &texts.list {
        put_text(out, text);
    }
    put_count(out, run.rows.len() as u64);
    for (row, references) in run.rows.iter().zip(references) {
        for reference in references {
            put_count(out, reference);
        }
        let standing = Standing::ALL.iter().position(|standing| *standing == row.standing);
        out.push(u8::from(row.key.higher_is_better));
        out.push(standing.unwrap_or(0) as u8);
        put_count(out, u64::from(row.samples));
        let optional = [row.minimum, row.low, row.high, row.mad];
        let present = optional.iter().zip(HAS).filter(|(number, _)| number.is_some());
        out.push(present.map(|(_, bit)| bit).sum());
        out.extend_from_slice(&row.value.to_le_bytes());
        for number in optional.into_iter().flatten() {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
}

/// What a stretch of journal holds.
#[derive(Debug, Default, PartialEq)]
pub struct Frames {
    /// The runs, in the order written.
    pub runs: Vec<RunRows>,
    /// Bytes that belong to no whole frame: a torn write, or damage.
    pub lost_bytes: u64,
}

/// Reads every whole frame of some bytes.
pub fn decode_all(bytes: &[u8]) -> Frames {
    let mut frames = Frames::default();
    let mut keys = Keys::default();
    let mut at = 0;
    while at < bytes.len() {
        match frame_at(&bytes[at..], &mut keys) {
            Some((run, length)) => {
                frames.runs.push(run);
                at += length;
            }
            None => {
                let rest = &bytes[at + 1..];
                let skip = rest.windows(4).position(|window| window == MAGIC);
                let skip = 1 + skip.unwrap_or(rest.len());
                frames.lost_bytes += skip as u64;
                at += skip;
            }
        }
    }
    frames
}

/// The frame at the start of some bytes, with its length.
fn frame_at(bytes: &[u8], keys: &mut Keys) -> Option<(RunRows, usize)> {
    let header = bytes.get(..HEADER_BYTES)?;
    if header[..4] != MAGIC {
        return None;
    }
    let length = u32::from_le_bytes(header[4..8].try_into().ok()?) as usize;
    let end = HEADER_BYTES.checked_add(length).filter(|_| length <= MAX_PAYLOAD_BYTES)?;
    let payload = bytes.get(HEADER_BYTES..end)?;
    if u64::from_le_bytes(header[8..16].try_into().ok()?) != checksum(payload) {
        return None;
    }
    Some((decode(payload, keys)?, end))
}

/// Reads a payload. Public for the fuzzer, which cannot guess checksums.
pub fn decode(payload: &[u8], keys: &mut Keys) -> Option<RunRows> {
    let mut input = Input { rest: payload };
    let time_us = i64::from_le_bytes(input.array()?);
    let mut text = || input.text();
    let (run, machine, suite) = (text()?, text()?, text()?);
    let (hardware, software, state) = (text()?, text()?, text()?);
    let (passed, failed, skipped) = (input.small()?, input.small()?, input.small()?);
    let texts: Vec<u32> =
        (0..input.items(1)?).map(|at| Some(keys.text(at, input.str()?))).collect::<Option<_>>()?;
    let count = input.items(MIN_ROW_BYTES)?;
    if count > MAX_ROWS {
        return None;
    }
    let mut rows = Vec::with_capacity(count);
    for row in 0..count {
        let mut text = || texts.get(usize::try_from(input.count()?).ok()?).cloned();
        let (metric, params, unit) = (text()?, text()?, text()?);
        let [higher_is_better, standing] = input.array()?;
        let key = keys.key(row, [metric, params, unit], flag(higher_is_better)?);
        let standing = *Standing::ALL.get(usize::from(standing))?;
        let samples = input.small()?;
        let [present] = input.array()?;
        if present > 15 {
            return None;
        }
        let value = input.number()?;
        let mut optional = [None; 4];
        for (slot, bit) in optional.iter_mut().zip(HAS) {
            if present & bit != 0 {
                *slot = Some(input.number()?);
            }
        }
        let [minimum, low, high, mad] = optional;
        rows.push(Row { key, standing, samples, value, minimum, low, high, mad });
    }
    if !input.rest.is_empty() {
        return None;
    }
    let rows_count = u32::try_from(rows.len()).ok()?;
    let summary = RunSummary {
        run,
        time_us,
        machine,
        suite,
        hardware,
        software,
        state,
        passed,
        failed,
        skipped,
        rows: rows_count,
    };
    Some(RunRows { summary, rows })
}

fn flag(byte: u8) -> Option<bool> {
    (byte <= 1).then_some(byte == 1)
}

fn checksum(payload: &[u8]) -> u64 {
    twox_hash::XxHash64::oneshot(0, payload)
}

/// Texts and keys met so far, each held once: a journal repeats the same few thousand millions of times.
#[derive(Debug, Default)]
pub struct Keys {
    places: HashMap<Arc<str>, u32>,
    texts: Vec<Arc<str>>,
    keys: HashMap<([u32; 3], bool), Arc<SeriesKey>>,
    /// What was last met at each place of a frame: the next frame mostly has the same.
    last_texts: Vec<u32>,
    last_keys: Vec<([u32; 3], bool, Arc<SeriesKey>)>,
}

impl Keys {
    /// The number of the text at a place of a frame.
    fn text(&mut self, at: usize, text: &str) -> u32 {
        if let Some(guess) = self.last_texts.get(at)
            && *self.texts[*guess as usize] == *text
        {
            return *guess;
        }
        let place = self.look_up(text);
        match self.last_texts.get_mut(at) {
            Some(last) => *last = place,
            None => self.last_texts.push(place),
        }
        place
    }

    fn look_up(&mut self, text: &str) -> u32 {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        let place = self.texts.len() as u32;
        let text: Arc<str> = text.into();
        self.texts.push(Arc::clone(&text));
        self.places.insert(text, place);
        place
    }

    /// The key at a row of a frame.
    fn key(&mut self, row: usize, places: [u32; 3], higher_is_better: bool) -> Arc<SeriesKey> {
        if let Some((last, direction, key)) = self.last_keys.get(row)
            && (*last, *direction) == (places, higher_is_better)
        {
            return Arc::clone(key);
        }
        let key = self.make(places, higher_is_better);
        let met = (places, higher_is_better, Arc::clone(&key));
        match self.last_keys.get_mut(row) {
            Some(last) => *last = met,
            None => self.last_keys.push(met),
        }
        key
    }

    fn make(&mut self, places: [u32; 3], higher_is_better: bool) -> Arc<SeriesKey> {
        let texts = &self.texts;
        let make = || {
            let [metric, params, unit] = places.map(|place| texts[place as usize].to_string());
            Arc::new(SeriesKey { metric, params, unit, higher_is_better })
        };
        Arc::clone(self.keys.entry((places, higher_is_better)).or_insert_with(make))
    }
}

/// The different texts of a frame, in the order met.
#[derive(Default)]
struct Texts<'a> {
    list: Vec<&'a str>,
    places: HashMap<&'a str, u64>,
    /// What was last added for metric, params and unit: the next row mostly has the same.
    last: [Option<(&'a str, u64)>; 3],
}

impl<'a> Texts<'a> {
    fn add(&mut self, column: usize, text: &'a str) -> u64 {
        if let Some((last, place)) = self.last[column]
            && last == text
        {
            return place;
        }
        let place = self.look_up(text);
        self.last[column] = Some((text, place));
        place
    }

    fn look_up(&mut self, text: &'a str) -> u64 {
        let next = self.list.len() as u64;
        let list = &mut self.list;
        *self.places.entry(text).or_insert_with(|| {
            list.push(text);
            next
        })
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_count(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

fn put_count(out: &mut Vec<u8>, mut count: u64) {
    while count >= 0x80 {
        out.push((count & 0x7f) as u8 | 0x80);
        count >>= 7;
    }
    out.push(count as u8);
}

struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn count(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                return None;
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn small(&mut self) -> Option<u32> {
        u32::try_from(self.count()?).ok()
    }

    /// A number of items to follow, each of at least so many bytes: more than fit are refused before memory is taken.
    fn items(&mut self, each: usize) -> Option<usize> {
        let count = usize::try_from(self.count()?).ok()?;
        (count.checked_mul(each)? <= self.rest.len()).then_some(count)
    }

    fn str(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.count()?).ok()?;
        if length > MAX_TEXT_BYTES {
            return None;
        }
        std::str::from_utf8(self.bytes(length)?).ok()
    }

    fn text(&mut self) -> Option<String> {
        self.str().map(str::to_owned)
    }

    fn number(&mut self) -> Option<f64> {
        Some(f64::from_le_bytes(self.array()?)).filter(|number| number.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::run;
    use proptest::prelude::*;

    #[test]
    fn a_run_comes_back_as_it_was() {
        let one = run("run-1", "machine-1", 1_700_000_000_000_000, 3);
        let bytes = encode(&one).unwrap();
        assert_eq!(decode_all(&bytes), Frames { runs: vec![one], lost_bytes: 0 });
    }

    #[test]
    fn a_torn_frame_costs_only_itself() {
        let (one, two) = (run("one", "m", 1, 2), run("two", "m", 2, 2));
        let torn = encode(&one).unwrap();
        for cut in 1..torn.len() {
            let mut bytes = torn[..cut].to_vec();
            bytes.extend(encode(&two).unwrap());
            let frames = decode_all(&bytes);
            assert_eq!((frames.runs, frames.lost_bytes), (vec![two.clone()], cut as u64));
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = decode(&bytes, &mut Keys::default());
            let _ = decode_all(&bytes);
        }

        #[test]
        fn damage_is_noticed(place in 0_usize..10_000, bit in 0_u8..8) {
            let mut damaged = encode(&run("run", "machine", 5, 4)).unwrap();
            let place = place % damaged.len();
            damaged[place] ^= 1 << bit;
            prop_assert!(decode_all(&damaged).runs.is_empty());
        }
    }
}
