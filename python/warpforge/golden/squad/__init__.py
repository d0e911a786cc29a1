"""Question answering data in the SQuAD v1.1 form: features, their order, answers from logits, and scores.

Every definition here is in docs/golden.md ("Question answering data"): other programs make the same tensors from it.
"""
