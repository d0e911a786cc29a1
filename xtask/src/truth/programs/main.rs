//! The kernel as a program: `run LENGTH` walks the chain once, `serve LENGTH` takes samples of it as the line protocol of
//! paired comparisons asks, `spin` keeps a CPU busy until its parent is gone.

mod kernel;

use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let form = arguments.next().unwrap_or_default();
    let length: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    match form.as_str() {
        "run" => std::process::exit(i32::from(kernel::chain(length) == 0)),
        "serve" => serve(length),
        "spin" => spin(),
        _ => std::process::exit(2),
    }
}

/// Nanoseconds per walk, averaged over enough walks for a millisecond.
fn serve(length: u64) {
    let timed = |walks: u32| {
        let start = Instant::now();
        for _ in 0..walks {
            kernel::chain(length);
        }
        start.elapsed()
    };
    let mut walks = 1;
    while timed(walks) < Duration::from_millis(1) {
        walks *= 2;
    }
    say("ready");
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        match line.trim() {
            "sample" => say(&format!("{}", timed(walks).as_nanos() as f64 / f64::from(walks))),
            "verify" => say("ok"),
            _ => say("error unknown request"),
        }
    }
}

fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    // A driver that went away ends us by the end of our input.
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}

fn spin() {
    let parent = std::os::unix::process::parent_id();
    while std::os::unix::process::parent_id() == parent {
        kernel::chain(10_000_000);
    }
}
