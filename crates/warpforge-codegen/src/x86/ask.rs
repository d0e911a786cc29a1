//! What is asked for in advance, where no cache holds the elements: memory must not rest while a row is computed with.

use super::Rows;
use crate::lower::Pass;
use crate::vector::{Fold, Node};

/// Elements of a stream that are asked for while a pass goes over a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ask {
    pub(super) stream: usize,
    /// How far on the first of them is.
    pub(super) from: usize,
    /// How many elements pass by while one is asked for.
    pub(super) pace: usize,
}

/// What each pass asks for.
///
/// What passes by once is asked for a little in advance. What passes by several times is asked for a row in advance, half in
/// each of the two longest passes, or all of it in one that is longer than the others by far.
pub(super) fn asked(passes: &[Pass], rows: Rows<'_>) -> Vec<Vec<Ask>> {
    const AHEAD: usize = 512;
    const LONGEST_ROW: usize = 4096;
    const FAR_LONGER: usize = 4;
    let mut asked = vec![Vec::new(); passes.len()];
    let mut by_length: Vec<usize> = (0..passes.len()).collect();
    by_length.sort_by_key(|at| std::cmp::Reverse(length(&passes[*at])));
    for stream in (0..rows.moving.len()).filter(|stream| rows.moving[*stream]) {
        let loads = |at: &usize| passes[*at].body.nodes.contains(&Node::Load { stream });
        let loading: Vec<usize> = (0..passes.len()).filter(loads).collect();
        let from = rows.elements;
        match (&loading[..], &by_length[..]) {
            ([], _) => {}
            ([_, _, ..], [one, other, ..]) if from <= LONGEST_ROW => {
                if length(&passes[*one]) > FAR_LONGER * length(&passes[*other]) {
                    asked[*one].push(Ask { stream, from, pace: 1 });
                    continue;
                }
                let (first, second) = (one.min(other), one.max(other));
                asked[*first].push(Ask { stream, from, pace: 2 });
                asked[*second].push(Ask { stream, from: from + from / 2, pace: 2 });
            }
            ([first, ..], _) => asked[*first].push(Ask { stream, from: AHEAD, pace: 1 }),
        }
    }
    asked
}

/// Instructions of a pass for a vector, about.
fn length(pass: &Pass) -> usize {
    let exact = pass.reduced.iter().filter(|reduced| reduced.fold == Fold::Sum).count();
    pass.body.nodes.len() + 4 * exact
}
