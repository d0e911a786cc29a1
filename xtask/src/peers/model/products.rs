//! The matrix products of a program, found in its text: sizes, whether one side is a weight, and what follows that a library
//! can do in the same call (bias, activation, residual). Nothing here is typed in by hand.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use anyhow::{Context, bail, ensure};
use warpforge_hlo::ir::{Binary, DotGeneral, Unary};
use warpforge_hlo::{Function, Op, OpKind, Program, ValueId};

/// Calls nest no deeper.
const MOST_CALLS: usize = 16;
/// Ops between a product and the function that makes it an activation.
const ACTIVATION_REACH: usize = 5;

/// What a library can apply to a product's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Activation {
    Gelu,
    GeluTanh,
    Silu,
    Relu,
}

/// `batch` products of m x k by k x n.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Product {
    pub(crate) batch: u64,
    pub(crate) m: u64,
    pub(crate) n: u64,
    pub(crate) k: u64,
    /// Whether the right side is an argument of the program, so that it can be packed once.
    pub(crate) weights: bool,
    pub(crate) bias: bool,
    pub(crate) activation: Option<Activation>,
    pub(crate) residual: bool,
}

impl Product {
    /// Floating-point operations.
    pub(crate) fn flops(&self) -> f64 {
        2.0 * self.batch as f64 * self.m as f64 * self.n as f64 * self.k as f64
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x [{} x {} x {}]", self.batch, self.m, self.n, self.k)?;
        for (has, word) in
            [(self.weights, "weights"), (self.bias, "bias"), (self.residual, "residual")]
        {
            if has {
                write!(f, ", {word}")?;
            }
        }
        match self.activation {
            Some(activation) => write!(f, ", {activation:?}"),
            None => Ok(()),
        }
    }
}

/// A product at its place in the program, and the value that is its left side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Occurrence {
    pub(crate) product: Product,
    /// Which call of which function, and the value in it: equal for products of the same left side.
    left: (usize, ValueId),
}

/// Every product in the order of execution.
pub(crate) fn derive(program: &Program) -> anyhow::Result<Vec<Occurrence>> {
    let main = program.main().context("the program has no entry function")?;
    let mut walk = Walk { program, found: Vec::new(), calls: 0 };
    let weights = vec![true; main.arguments.len()];
    walk.function(main, &weights, 0)?;
    Ok(walk.found)
}

/// The products with those of one left side and of weights merged into one, as query, key and value can be. Products that
/// are followed by different things stay apart.
pub(crate) fn merged(occurrences: &[Occurrence]) -> Vec<Product> {
    let mut all: Vec<(Option<(usize, ValueId)>, Product)> = Vec::new();
    for occurrence in occurrences {
        let Occurrence { product, left } = *occurrence;
        let same = all.iter_mut().find(|(of, other)| {
            *of == Some(left) && product.weights && Product { n: other.n, ..product } == *other
        });
        match same {
            Some((_, other)) => other.n += product.n,
            None => all.push((product.weights.then_some(left), product)),
        }
    }
    all.into_iter().map(|(_, product)| product).collect()
}

/// How often each product occurs, the largest amount of work first.
pub(crate) fn counted(products: impl IntoIterator<Item = Product>) -> Vec<(Product, usize)> {
    let mut counts: BTreeMap<Product, usize> = BTreeMap::new();
    for product in products {
        *counts.entry(product).or_default() += 1;
    }
    let mut all: Vec<(Product, usize)> = counts.into_iter().collect();
    let work = |(product, count): &(Product, usize)| product.flops() * *count as f64;
    all.sort_by(|left, right| work(right).total_cmp(&work(left)));
    all
}

struct Walk<'a> {
    program: &'a Program,
    found: Vec<Occurrence>,
    calls: usize,
}

impl<'a> Walk<'a> {
    fn function(
        &mut self,
        function: &'a Function,
        weights: &[bool],
        depth: usize,
    ) -> anyhow::Result<()> {
        ensure!(depth <= MOST_CALLS, "calls nest deeper than {MOST_CALLS}");
        let flow = Flow::of(self.program, function, weights);
        let call = self.calls;
        for op in &function.body.ops {
            match &op.kind {
                OpKind::DotGeneral(dot) => {
                    let (mut product, left, result) = sizes(function, op, dot)?;
                    product.weights =
                        op.operands.get(1).is_some_and(|right| flow.is_weight(*right));
                    flow.follow(result, &mut product);
                    self.found.push(Occurrence { product, left: (call, left) });
                }
                OpKind::Call { callee } | OpKind::Composite { decomposition: callee, .. } => {
                    let inner = self.program.function(callee);
                    let inner = inner.with_context(|| format!("there is no function @{callee}"))?;
                    let given: Vec<bool> =
                        op.operands.iter().map(|operand| flow.is_weight(*operand)).collect();
                    self.calls += 1;
                    self.function(inner, &given, depth + 1)?;
                }
                _ if op.regions.iter().any(holds_product) => {
                    bail!("a product inside a region: how often it runs is not known from the text")
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn holds_product(region: &warpforge_hlo::Region) -> bool {
    region
        .ops
        .iter()
        .any(|op| matches!(op.kind, OpKind::DotGeneral(_)) || op.regions.iter().any(holds_product))
}

/// The sizes of a product, its left side and its result.
fn sizes(
    function: &Function,
    op: &Op,
    dot: &DotGeneral,
) -> anyhow::Result<(Product, ValueId, ValueId)> {
    let shape = |value: ValueId| -> anyhow::Result<Vec<u64>> {
        let sizes = function.ty(value).tensor().and_then(|tensor| tensor.sizes());
        sizes.context("a product of unknown sizes")
    };
    let (&[left, right], &[result]) = (op.operands.as_slice(), op.results.as_slice()) else {
        bail!("a product without two operands and one result");
    };
    let (left_sizes, right_sizes) = (shape(left)?, shape(right)?);
    let of = |sizes: &[u64], places: &[i64]| -> anyhow::Result<u64> {
        let mut total = 1_u64;
        for place in places {
            let size = usize::try_from(*place).ok().and_then(|place| sizes.get(place));
            total = total.saturating_mul(*size.context("a dimension out of range")?);
        }
        Ok(total)
    };
    let rest = |sizes: &[u64], used: [&[i64]; 2]| -> u64 {
        let free = sizes
            .iter()
            .zip(0_i64..)
            .filter(|(_, place)| used.iter().all(|places| !places.contains(place)));
        free.fold(1_u64, |total, (size, _)| total.saturating_mul(*size))
    };
    let product = Product {
        batch: of(&left_sizes, &dot.lhs_batching)?,
        m: rest(&left_sizes, [&dot.lhs_batching, &dot.lhs_contracting]),
        n: rest(&right_sizes, [&dot.rhs_batching, &dot.rhs_contracting]),
        k: of(&left_sizes, &dot.lhs_contracting)?,
        weights: false,
        bias: false,
        activation: None,
        residual: false,
    };
    Ok((product, left, result))
}

/// Who defines and who reads each value of a function.
struct Flow<'a> {
    program: &'a Program,
    function: &'a Function,
    definitions: HashMap<ValueId, &'a Op>,
    users: HashMap<ValueId, Vec<&'a Op>>,
    weights: HashMap<ValueId, bool>,
}

impl<'a> Flow<'a> {
    fn of(program: &'a Program, function: &'a Function, weights: &[bool]) -> Self {
        let mut definitions = HashMap::new();
        let mut users: HashMap<ValueId, Vec<&Op>> = HashMap::new();
        for op in &function.body.ops {
            definitions.extend(op.results.iter().map(|result| (*result, op)));
            for operand in &op.operands {
                users.entry(*operand).or_default().push(op);
            }
        }
        let arguments = function.arguments.iter().zip(weights);
        let weights = arguments.map(|(argument, is)| (argument.value, *is)).collect();
        Self { program, function, definitions, users, weights }
    }

    /// The value behind ops that only change the form.
    fn source(&self, mut value: ValueId) -> ValueId {
        while let Some(op) = self.definitions.get(&value)
            && matches!(
                op.kind,
                OpKind::Reshape
                    | OpKind::Convert
                    | OpKind::Transpose { .. }
                    | OpKind::BroadcastInDim { .. }
            )
            && let Some(before) = op.operands.first()
        {
            value = *before;
        }
        value
    }

    fn is_weight(&self, value: ValueId) -> bool {
        self.weights.get(&self.source(value)).copied().unwrap_or(false)
    }

    fn rank(&self, value: ValueId) -> usize {
        self.function.ty(value).tensor().map_or(0, |tensor| tensor.rank())
    }

    fn only_user(&self, value: ValueId) -> Option<&'a Op> {
        match self.users.get(&value).map(Vec::as_slice) {
            Some([op]) => Some(*op),
            _ => None,
        }
    }

    /// Notes what follows a product.
    fn follow(&self, result: ValueId, product: &mut Product) {
        let mut value = result;
        loop {
            // The form may change in between.
            while let Some(op) = self.only_user(value)
                && matches!(op.kind, OpKind::Reshape | OpKind::Convert)
            {
                value = op.results[0];
            }
            let Some(op) = self.only_user(value) else { break };
            if op.kind != OpKind::Binary(Binary::Add) {
                break;
            }
            let Some(other) = op.operands.iter().find(|operand| **operand != value) else { break };
            let source = self.source(*other);
            if !product.bias && self.is_weight(*other) && self.rank(source) <= 1 {
                product.bias = true;
            } else if !product.residual
                && !self.is_constant(source)
                && source == self.narrow(*other)
            {
                product.residual = true;
            } else {
                break;
            }
            value = op.results[0];
        }
        product.activation = self.activation(value);
    }

    /// The value behind conversions, but not behind broadcasts: what has the shape of the result itself.
    fn narrow(&self, mut value: ValueId) -> ValueId {
        while let Some(op) = self.definitions.get(&value)
            && matches!(op.kind, OpKind::Reshape | OpKind::Convert | OpKind::Transpose { .. })
            && let Some(before) = op.operands.first()
        {
            value = *before;
        }
        value
    }

    fn is_constant(&self, value: ValueId) -> bool {
        self.definitions.get(&value).is_some_and(|op| matches!(op.kind, OpKind::Constant(_)))
    }

    /// The activation that a value is turned into, if any.
    fn activation(&self, value: ValueId) -> Option<Activation> {
        let mut reached = vec![value];
        for _ in 0..ACTIVATION_REACH {
            let mut next = Vec::new();
            for op in reached.iter().filter_map(|value| self.users.get(value)).flatten() {
                if let Some(found) = activation_of(&op.kind) {
                    return Some(found);
                }
                match &op.kind {
                    // Exporters keep activations as functions of one argument.
                    OpKind::Call { callee } if op.operands.len() == 1 => {
                        let inner = self.program.function(callee);
                        let mut ops = inner.into_iter().flat_map(|inner| &inner.body.ops);
                        if let Some(found) = ops.find_map(|op| activation_of(&op.kind)) {
                            return Some(found);
                        }
                    }
                    OpKind::Unary(Unary::Negate)
                    | OpKind::Binary(
                        Binary::Multiply | Binary::Divide | Binary::Add | Binary::Power,
                    )
                    | OpKind::Convert
                    | OpKind::Reshape => next.extend(op.results.iter().copied()),
                    _ => {}
                }
            }
            reached = next;
        }
        None
    }
}

/// The activation that an op is the heart of.
fn activation_of(kind: &OpKind) -> Option<Activation> {
    Some(match kind {
        OpKind::Unary(Unary::ChloErf | Unary::ChloErfc) => Activation::Gelu,
        OpKind::Unary(Unary::Tanh) => Activation::GeluTanh,
        OpKind::Unary(Unary::Logistic) => Activation::Silu,
        OpKind::Binary(Binary::Maximum) => Activation::Relu,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use warpforge_hlo::parse_verified;

    use super::*;

    /// Query, key and value of one input, their product, and a feed-forward layer with GELU and a residual.
    const PROGRAM: &str = r#"module @m {
  func.func public @main(%x: tensor<1x8x16xf32>, %q: tensor<16x16xf32>, %qb: tensor<16xf32>, %k: tensor<16x16xf32>, %kb: tensor<16xf32>, %up: tensor<64x16xf32>, %ub: tensor<64xf32>, %down: tensor<16x64xf32>, %db: tensor<16xf32>) -> (tensor<1x8x16xf32>, tensor<1x8x8xf32>) {
    %0 = stablehlo.dot_general %x, %q, contracting_dims = [2] x [1] : (tensor<1x8x16xf32>, tensor<16x16xf32>) -> tensor<1x8x16xf32>
    %1 = stablehlo.broadcast_in_dim %qb, dims = [2] : (tensor<16xf32>) -> tensor<1x8x16xf32>
    %2 = stablehlo.add %0, %1 : tensor<1x8x16xf32>
    %3 = stablehlo.dot_general %x, %k, contracting_dims = [2] x [1] : (tensor<1x8x16xf32>, tensor<16x16xf32>) -> tensor<1x8x16xf32>
    %4 = stablehlo.broadcast_in_dim %kb, dims = [2] : (tensor<16xf32>) -> tensor<1x8x16xf32>
    %5 = stablehlo.add %3, %4 : tensor<1x8x16xf32>
    %6 = stablehlo.dot_general %2, %5, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<1x8x16xf32>, tensor<1x8x16xf32>) -> tensor<1x8x8xf32>
    %7 = call @up(%x, %up, %ub) : (tensor<1x8x16xf32>, tensor<64x16xf32>, tensor<64xf32>) -> tensor<1x8x64xf32>
    %8 = stablehlo.dot_general %7, %down, contracting_dims = [2] x [1] : (tensor<1x8x64xf32>, tensor<16x64xf32>) -> tensor<1x8x16xf32>
    %9 = stablehlo.broadcast_in_dim %db, dims = [2] : (tensor<16xf32>) -> tensor<1x8x16xf32>
    %10 = stablehlo.add %8, %9 : tensor<1x8x16xf32>
    %11 = stablehlo.add %10, %2 : tensor<1x8x16xf32>
    return %11, %6 : tensor<1x8x16xf32>, tensor<1x8x8xf32>
  }
  func.func private @up(%a: tensor<1x8x16xf32>, %w: tensor<64x16xf32>, %b: tensor<64xf32>) -> tensor<1x8x64xf32> {
    %0 = stablehlo.dot_general %a, %w, contracting_dims = [2] x [1] : (tensor<1x8x16xf32>, tensor<64x16xf32>) -> tensor<1x8x64xf32>
    %1 = stablehlo.broadcast_in_dim %b, dims = [2] : (tensor<64xf32>) -> tensor<1x8x64xf32>
    %2 = stablehlo.add %0, %1 : tensor<1x8x64xf32>
    %3 = stablehlo.negate %2 : tensor<1x8x64xf32>
    %4 = chlo.erfc %3 : tensor<1x8x64xf32> -> tensor<1x8x64xf32>
    %5 = stablehlo.multiply %2, %4 : tensor<1x8x64xf32>
    return %5 : tensor<1x8x64xf32>
  }
}
"#;

    fn product(batch: u64, m: u64, n: u64, k: u64) -> Product {
        let (weights, bias, residual) = (false, false, false);
        Product { batch, m, n, k, weights, bias, activation: None, residual }
    }

    #[test]
    fn products_are_found_with_what_follows_them() {
        let found = derive(&parse_verified(PROGRAM).unwrap()).unwrap();
        let products: Vec<Product> = found.iter().map(|each| each.product).collect();
        let linear = Product { weights: true, bias: true, ..product(1, 8, 16, 16) };
        let up = Product {
            weights: true,
            bias: true,
            activation: Some(Activation::Gelu),
            ..product(1, 8, 64, 16)
        };
        let down = Product { weights: true, bias: true, residual: true, ..product(1, 8, 16, 64) };
        assert_eq!(products, [linear, linear, product(1, 8, 8, 16), up, down]);
        let counts = counted(products);
        assert_eq!(counts.len(), 4);
        assert!(counts.contains(&(linear, 2)) && counts.contains(&(up, 1)), "{counts:?}");
        assert_eq!(up.to_string(), "1 x [8 x 64 x 16], weights, bias, Gelu");
    }

    #[test]
    fn products_of_one_left_side_are_merged() {
        let found = derive(&parse_verified(PROGRAM).unwrap()).unwrap();
        let merged = merged(&found);
        assert_eq!(merged.len(), 4);
        let twice = Product { weights: true, bias: true, ..product(1, 8, 32, 16) };
        assert_eq!(merged[0], twice);
        let flops = |products: &[Product]| products.iter().map(Product::flops).sum::<f64>();
        let all: Vec<Product> = found.iter().map(|each| each.product).collect();
        assert_eq!(flops(&merged), flops(&all));
    }

    #[test]
    fn an_activation_may_be_a_function_of_its_own() {
        let text = r#"module @m {
  func.func public @main(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>) -> tensor<4x2xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    %1 = call @silu(%0) : (tensor<4x2xf32>) -> tensor<4x2xf32>
    return %1 : tensor<4x2xf32>
  }
  func.func private @silu(%a: tensor<4x2xf32>) -> tensor<4x2xf32> {
    %0 = stablehlo.logistic %a : tensor<4x2xf32>
    %1 = stablehlo.multiply %a, %0 : tensor<4x2xf32>
    return %1 : tensor<4x2xf32>
  }
}
"#;
        let found = derive(&parse_verified(text).unwrap()).unwrap();
        assert_eq!(found[0].product.activation, Some(Activation::Silu));
        assert!(found[0].product.weights && !found[0].product.bias);
    }

    #[test]
    fn a_product_in_a_loop_is_refused() {
        let text = r#"func.func public @main(%a: tensor<4x4xf32>, %n: tensor<i32>) -> tensor<4x4xf32> {
  %0:2 = stablehlo.while(%i = %n, %x = %a) : tensor<i32>, tensor<4x4xf32> cond {
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %2 = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    stablehlo.return %i, %2 : tensor<i32>, tensor<4x4xf32>
  }
  return %0#1 : tensor<4x4xf32>
}"#;
        let error = derive(&parse_verified(text).unwrap()).unwrap_err().to_string();
        assert!(error.contains("inside a region"), "{error}");
    }
}
