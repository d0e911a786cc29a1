"""Programs with their right answers: what `cargo xtask conformance` judges the reference interpreter by.

Joined to the Rust side by files only. `corpus` writes JAX's own test harnesses as StableHLO programs with inputs and
XLA's outputs; `second` adds what the specification's interpreter says, `wide` what XLA says in f64; `unary` computes
functions of one number correctly rounded.
"""
