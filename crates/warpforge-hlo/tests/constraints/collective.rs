//! Ops across processes.

use super::{ADD, Case};

#[rustfmt::skip]
pub(crate) const CASES: &[Case] = &[
    ("all_reduce", "f", "replica_groups = [[0, 0]]", ADD, "2x3xf32", "replica_groups must name each process once, found 0"),
    ("all_reduce", "", "replica_groups = [[0, 1]]", ADD, "", "expected at least 1 operand"),
    ("all_reduce", "q", "replica_groups = [[0, 1]]", ADD, "2x3xi32", "argument 1 of its region must be a tensor<i32>, found tensor<f32>"),
    ("all_reduce", "f", "replica_groups = [[0, 1]]", ADD, "3x2xf32", "the result must be a tensor<2x3xf32>"),
    ("all_gather", "f", "replica_groups = [[0, 1]], all_gather_dim = 2", "", "2x6xf32", "all_gather_dim must be a dimension from 0 to 1, found 2"),
    ("all_gather", "f", "replica_groups = [[0, 1]], all_gather_dim = 1", "", "2x3xf32", "the result must be a tensor<2x6xf32>"),
    ("reduce_scatter", "f", "replica_groups = [[0, 1]], scatter_dimension = 1", ADD, "2x3xf32", "3 elements cannot be split over 2 processes"),
    ("reduce_scatter", "f", "replica_groups = [[0, 1]], scatter_dimension = 2", ADD, "2x3xf32", "scatter_dimension must be a dimension from 0 to 1, found 2"),
    ("all_to_all", "f", "replica_groups = [[0, 1]], split_dimension = 0, concat_dimension = 1, split_count = 0", "", "1x6xf32", "split_count must be at least 1, found 0"),
    ("all_to_all", "f", "replica_groups = [[0, 1]], split_dimension = 1, concat_dimension = 0, split_count = 2", "", "1x6xf32", "3 elements cannot be split into 2"),
    ("all_to_all", "f", "replica_groups = [[0, 1]], split_dimension = 2, concat_dimension = 0, split_count = 2", "", "1x6xf32", "split_dimension must be a dimension from 0 to 1, found 2"),
    ("all_to_all", "f", "replica_groups = [[0, 1]], split_dimension = 0, concat_dimension = 2, split_count = 2", "", "1x6xf32", "concat_dimension must be a dimension from 0 to 1, found 2"),
    ("collective_broadcast", "f", "replica_groups = [[0, 1]]", "", "3x2xf32", "the result must be a tensor<2x3xf32>"),
    ("collective_permute", "f", "source_target_pairs = [[0, 1], [0, 2]]", "", "2x3xf32", "source_target_pairs must name each source and each target once"),
    ("partition_id", "f", "", "", "ui32", "operands must have 0 entries, found 1"),
    ("replica_id", "", "", "", "i32", "the result must be a tensor<ui32>"),
];
