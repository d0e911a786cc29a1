//! In which order values are made, and which are worth a register of their own.

use crate::lower::Format;
use crate::vector::{Effect, Node, Program, Value};

/// A number that instructions can read from memory and spread.
pub(super) fn is_spread(node: &Node, formats: &[Format]) -> bool {
    match node {
        Node::Constant(_) | Node::Row { .. } => true,
        Node::Splat { stream } => formats[*stream] == Format::Word,
        _ => false,
    }
}

/// The order in which values are made: each before the first that needs it, as late as that allows.
pub(super) fn schedule(
    program: &Program,
    ready: &dyn Fn(Value) -> bool,
    roots: &[Value],
) -> Vec<Value> {
    let mut order = Vec::new();
    let mut done = vec![false; program.nodes.len()];
    let mut stack: Vec<(Value, bool)> = Vec::new();
    for root in roots {
        stack.push((*root, false));
        while let Some((value, visited)) = stack.pop() {
            if done[value.0] || ready(value) {
                continue;
            }
            if visited {
                done[value.0] = true;
                order.push(value);
                continue;
            }
            stack.push((value, true));
            // The last one pushed is made first: truth values, of which few can be kept, come last.
            let node = &program.nodes[value.0];
            let (truths, others): (Vec<Value>, Vec<Value>) = node
                .operands()
                .into_iter()
                .partition(|operand| program.nodes[operand.0].is_truth());
            stack.extend(
                truths.into_iter().chain(others.into_iter().rev()).map(|next| (next, false)),
            );
        }
    }
    order
}

/// What is worth a register of its own while a loop runs, best first: what would have to be computed, then what is read most.
pub(in crate::x86) fn worth_pinning(program: &Program, formats: &[Format]) -> Vec<Value> {
    let same = program.invariant();
    let mut uses = vec![0_usize; program.nodes.len()];
    let mut outside = vec![false; program.nodes.len()];
    let roots: Vec<Value> = program.effects.iter().map(Effect::value).collect();
    let order = schedule(program, &|_| false, &roots);
    for value in &order {
        for operand in program.nodes[value.0].operands() {
            uses[operand.0] += 1;
            outside[operand.0] |= !same[value.0];
        }
    }
    for root in roots {
        uses[root.0] += 1;
        outside[root.0] = true;
    }
    let mut found: Vec<Value> =
        order.into_iter().filter(|value| same[value.0] && outside[value.0]).collect();
    found.sort_by_key(|value| {
        (is_spread(&program.nodes[value.0], formats), std::cmp::Reverse(uses[value.0]), value.0)
    });
    found
}
