//! Files of the history store from anywhere: reading the journal or the index never panics, and what was read is written and
//! read back unchanged. The first byte chooses.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warpt_history::store::Index;
use warpt_history::store::frame::{Keys, decode, decode_all, encode};

fuzz_target!(|input: &[u8]| {
    let Some((choice, bytes)) = input.split_first() else { return };
    match choice % 3 {
        0 => {
            let frames = decode_all(bytes);
            let written: Vec<u8> = frames.runs.iter().flat_map(|run| encode(run).expect("as long as it was")).collect();
            assert_eq!(decode_all(&written).runs, frames.runs);
        }
        // Checksums cannot be guessed: the payload alone.
        1 => {
            if let Some(run) = decode(bytes, &mut Keys::default()) {
                let again = decode_all(&encode(&run).expect("as long as it was"));
                assert_eq!((again.runs, again.lost_bytes), (vec![run], 0));
            }
        }
        _ => {
            if let Ok(index) = Index::parse(bytes) {
                let text = warpt_bench::record::to_json(&index);
                assert_eq!(Index::parse(text.as_bytes()).as_ref(), Ok(&index));
            }
        }
    }
});
