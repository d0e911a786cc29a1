//! The kernel under criterion; the length comes from the environment.

use criterion::{Criterion, criterion_group, criterion_main};

mod kernel;

fn chain(criterion: &mut Criterion) {
    let length = std::env::var("CHAIN_LENGTH").ok().and_then(|text| text.parse().ok());
    let length: u64 = length.expect("CHAIN_LENGTH is a number");
    criterion.bench_function("chain", |bencher| bencher.iter(|| kernel::chain(length)));
}

criterion_group!(benches, chain);
criterion_main!(benches);
