//! The names of ops: all of them, and which one may have been meant.

use crate::ir::{Binary, Unary};

/// The ops of the dialect beside those on one or two tensors of one shape.
const OTHERS: &[&str] = &[
    "chlo.top_k",
    "stablehlo.after_all",
    "stablehlo.all_gather",
    "stablehlo.all_reduce",
    "stablehlo.all_to_all",
    "stablehlo.batch_norm_grad",
    "stablehlo.batch_norm_inference",
    "stablehlo.batch_norm_training",
    "stablehlo.bitcast_convert",
    "stablehlo.broadcast",
    "stablehlo.broadcast_in_dim",
    "stablehlo.case",
    "stablehlo.cholesky",
    "stablehlo.clamp",
    "stablehlo.collective_broadcast",
    "stablehlo.collective_permute",
    "stablehlo.compare",
    "stablehlo.composite",
    "stablehlo.concatenate",
    "stablehlo.constant",
    "stablehlo.convert",
    "stablehlo.convolution",
    "stablehlo.create_token",
    "stablehlo.custom_call",
    "stablehlo.dot",
    "stablehlo.dot_general",
    "stablehlo.dynamic_broadcast_in_dim",
    "stablehlo.dynamic_conv",
    "stablehlo.dynamic_gather",
    "stablehlo.dynamic_iota",
    "stablehlo.dynamic_pad",
    "stablehlo.dynamic_reshape",
    "stablehlo.dynamic_slice",
    "stablehlo.dynamic_update_slice",
    "stablehlo.einsum",
    "stablehlo.fft",
    "stablehlo.gather",
    "stablehlo.get_dimension_size",
    "stablehlo.get_tuple_element",
    "stablehlo.if",
    "stablehlo.infeed",
    "stablehlo.iota",
    "stablehlo.map",
    "stablehlo.optimization_barrier",
    "stablehlo.outfeed",
    "stablehlo.pad",
    "stablehlo.partition_id",
    "stablehlo.real_dynamic_slice",
    "stablehlo.recv",
    "stablehlo.reduce",
    "stablehlo.reduce_precision",
    "stablehlo.reduce_scatter",
    "stablehlo.reduce_window",
    "stablehlo.replica_id",
    "stablehlo.reshape",
    "stablehlo.return",
    "stablehlo.reverse",
    "stablehlo.rng",
    "stablehlo.rng_bit_generator",
    "stablehlo.scatter",
    "stablehlo.select",
    "stablehlo.select_and_scatter",
    "stablehlo.send",
    "stablehlo.set_dimension_size",
    "stablehlo.slice",
    "stablehlo.sort",
    "stablehlo.torch_index_select",
    "stablehlo.transpose",
    "stablehlo.triangular_solve",
    "stablehlo.tuple",
    "stablehlo.unary_einsum",
    "stablehlo.uniform_dequantize",
    "stablehlo.uniform_quantize",
    "stablehlo.while",
];

/// How many letters of a name may be wrong.
const WRONG_LETTERS: usize = 3;

/// The names of all ops with attributes or types of their own, those of the `chlo` dialect as far as they are known.
pub fn op_names() -> impl Iterator<Item = &'static str> {
    let unary = Unary::ALL.iter().map(|unary| unary.name());
    let binary = Binary::ALL.iter().map(|binary| binary.name());
    unary.chain(binary).chain(OTHERS.iter().copied())
}

/// The known name nearest to one that is not known, where one is near.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    // A name from a stranger can be of any length, and comparing takes time that grows with it.
    let near = |known: &&str| known.len().abs_diff(name.len()) <= WRONG_LETTERS;
    op_names()
        .filter(near)
        .map(|known| (strsim::damerau_levenshtein(known, name), known))
        .min()
        .filter(|(distance, _)| *distance <= WRONG_LETTERS)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::Attributes;

    #[test]
    fn every_name_is_one_of_an_op() {
        for name in OTHERS {
            let kind = super::super::kind_of(name, &mut Attributes::default(), &[]);
            let unknown = kind.is_err_and(|message| message.contains("is not an op"));
            assert!(!unknown, "{name}");
        }
    }

    #[test]
    fn near_names_are_found() {
        assert_eq!(nearest("stablehlo.exponental"), Some("stablehlo.exponential"));
        assert_eq!(nearest("stablehlo.dot_genral"), Some("stablehlo.dot_general"));
        assert_eq!(nearest("stablehlo.frobnicate"), None);
    }
}
