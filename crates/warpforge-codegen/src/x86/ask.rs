//! What is asked for in advance, where no cache holds the elements: memory must not rest while a row is computed with.

use super::Rows;
use crate::Writes;
use crate::lower::Pass;
use crate::vector::{Effect, Fold, Node};

/// Elements of a stream that are asked for while a pass goes over a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ask {
    pub(super) stream: usize,
    /// How far on the first of them is.
    pub(super) from: usize,
    /// How many elements pass by while one is asked for.
    pub(super) pace: usize,
    /// Whether they are going to be written.
    pub(super) is_written: bool,
}

/// What each pass asks for.
///
/// What passes by once is asked for a little in advance. What passes by several times is asked for a row in advance, half in
/// each of the two longest passes, or all of it in one that is longer than the others by far. So are the places of results that
/// are written through the caches.
pub(super) fn asked(passes: &[Pass], rows: Rows<'_>) -> Vec<Vec<Ask>> {
    const AHEAD: usize = 512;
    const LONGEST_ROW: usize = 4096;
    const FAR_LONGER: usize = 4;
    let mut asked = vec![Vec::new(); passes.len()];
    let mut by_length: Vec<usize> = (0..passes.len()).collect();
    by_length.sort_by_key(|at| std::cmp::Reverse(length(&passes[*at])));
    for stream in (0..rows.moving.len()).filter(|stream| rows.moving[*stream]) {
        let loads = |pass: &Pass| pass.body.nodes.contains(&Node::Load { stream });
        let is_written = !passes.iter().any(loads);
        let touching: Vec<usize> = match is_written {
            true if rows.writes == Writes::Past => Vec::new(),
            true => (0..passes.len()).filter(|at| stores(&passes[*at], stream)).collect(),
            false => (0..passes.len()).filter(|at| loads(&passes[*at])).collect(),
        };
        let Some(first) = touching.first() else { continue };
        let ask = |from: usize, pace: usize| Ask { stream, from, pace, is_written };
        let row = rows.elements;
        match by_length[..] {
            [one, other, ..] if row <= LONGEST_ROW && (is_written || touching.len() > 1) => {
                if length(&passes[one]) > FAR_LONGER * length(&passes[other]) {
                    asked[one].push(ask(row, 1));
                    continue;
                }
                asked[one.min(other)].push(ask(row, 2));
                asked[one.max(other)].push(ask(row + row / 2, 2));
            }
            _ => asked[*first].push(ask(AHEAD, 1)),
        }
    }
    asked
}

/// Whether a pass writes elements of a stream.
fn stores(pass: &Pass, stream: usize) -> bool {
    let is_there =
        |effect: &Effect| matches!(effect, Effect::Store { stream: to, .. } if *to == stream);
    pass.body.effects.iter().any(is_there)
}

/// Instructions of a pass for a vector, about.
fn length(pass: &Pass) -> usize {
    let exact = pass.reduced.iter().filter(|reduced| reduced.fold == Fold::Sum).count();
    pass.body.nodes.len() + 4 * exact
}
