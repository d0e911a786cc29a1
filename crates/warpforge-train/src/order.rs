//! The order in which an epoch sees its examples: the same in every language that has SHA-256.

use sha2::{Digest, Sha256};

/// The numbers below `count`, sorted by the SHA-256 of `SEED/order/EPOCH/NUMBER`.
pub fn order(seed: i64, epoch: u64, count: usize) -> Vec<u32> {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    let mut keyed: Vec<([u8; 32], u32)> = (0..count)
        .map(|number| (Sha256::digest(format!("{seed}/order/{epoch}/{number}")).into(), number))
        .collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, number)| number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_a_permutation_of_its_own() {
        let first = order(3, 1, 20);
        let mut sorted = first.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..20).collect::<Vec<_>>());
        assert_ne!(first, sorted);
        assert_eq!(first, order(3, 1, 20));
        assert_ne!(first, order(3, 2, 20));
        assert_ne!(first, order(4, 1, 20));
    }
}
