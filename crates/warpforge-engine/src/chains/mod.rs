//! Products, a loop over the rows they make, and products with what that makes: attention is such a chain, and so is the way
//! back through it. Done for a block of rows at a time, what lies between them never leaves the cache.

#[cfg(feature = "onednn")]
mod library;
mod tiled;

#[cfg(feature = "onednn")]
pub(crate) use library::LibraryChain;
pub(crate) use tiled::TiledChain;

use crate::loops::{Extent, Lowering};
use crate::products::{Index, Product};

/// Where an operand of a part comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// An input of the cluster.
    Input(usize),
    /// What a first product makes.
    First(usize),
    /// What the loop makes, as one of its results.
    Rows(usize),
}

/// A product of a chain.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    pub(crate) product: Product,
    /// Where its operands come from.
    pub(crate) sources: Vec<Source>,
}

/// How a product reads the rows that the loop makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// As the rows of its left operand: it makes a row of each.
    Rows,
    /// As what is summed over, on the left: each adds something to all of the result.
    SummedLeft,
    /// The same on the right.
    SummedRight,
}

impl Taken {
    /// Whether the result is a sum over all rows.
    pub(crate) fn is_summed(self) -> bool {
        self != Self::Rows
    }
}

/// A product with what the loop makes.
#[derive(Debug, Clone)]
pub(crate) struct Second {
    pub(crate) link: Link,
    pub(crate) taken: Taken,
    /// Which result of the loop it reads.
    pub(crate) reads: usize,
    /// Which result of the cluster it makes.
    pub(crate) output: usize,
}

/// A chain.
#[derive(Debug, Clone)]
pub(crate) struct Chain {
    /// They make rows of one length, as many.
    pub(crate) firsts: Vec<Link>,
    pub(crate) rows: Lowering,
    /// Where the operands of the loop come from.
    pub(crate) row_sources: Vec<Source>,
    pub(crate) seconds: Vec<Second>,
    /// Rows worked on at a time.
    pub(crate) block: usize,
}

/// Below so many elements between the parts, they stay in the cache anyway.
const LEAST_ELEMENTS: usize = 1 << 18;
/// The same where results are sums over rows: what is computed again for them has to be saved first.
const LEAST_SUMMED_ELEMENTS: usize = 1 << 21;
/// A right operand that is larger is read from memory anew for every block of rows: weights are such, keys and values are not.
/// A sum over rows that is larger would be, too.
const LARGEST_RIGHT_BYTES: usize = 4 << 20;
/// Blocks of fewer rows keep the library from its best, more leave the cache.
const BLOCKS: std::ops::RangeInclusive<usize> = 32..=128;
/// Where results are sums over rows, one thread goes through a matrix of the batch; of fewer there would not be some for each.
const LEAST_MATRICES: usize = 8;

/// The matrices that lie between the parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Between {
    pub(crate) count: usize,
    pub(crate) height: usize,
    pub(crate) width: usize,
}

impl Between {
    /// Those that a product makes.
    pub(crate) fn made_by(product: &Product) -> Self {
        let (height, width) = (product.rows.size, product.columns.size);
        Self { count: product.count(), height, width }
    }

    fn elements(self) -> Option<usize> {
        self.count.checked_mul(self.height)?.checked_mul(self.width)
    }

    /// Whether an operand or a result lies as these matrices, one after the other, row by row.
    fn lies(self, rows: isize, columns: isize, batch: &[Index], step: fn(&Index) -> isize) -> bool {
        let mut dense = (self.height * self.width) as isize;
        let in_order = batch.iter().rev().all(|index| {
            let is = index.size == 1 || step(index) == dense;
            dense *= index.size as isize;
            is
        });
        in_order && columns == 1 && rows == self.width as isize
    }

    /// How a product reads these matrices, as one of its operands.
    pub(crate) fn taken(self, product: &Product, operand: usize) -> Option<Taken> {
        let Product { rows, columns, depth, batch, offsets, .. } = product;
        let (is_left, is_right) = (product.operands[0] == operand, product.operands[1] == operand);
        if product.count() != self.count || is_left == is_right || product.reads_in_tails(operand) {
            return None;
        }
        if is_right {
            let lies = self.lies(depth.rhs, columns.rhs, batch, |index| index.rhs);
            let fits = offsets[1] == 0 && (depth.size, columns.size) == (self.height, self.width);
            return (lies && fits).then_some(Taken::SummedRight);
        }
        if offsets[0] != 0 {
            return None;
        }
        let by_rows = self.lies(rows.lhs, depth.lhs, batch, |index| index.lhs)
            && (rows.size, depth.size) == (self.height, self.width);
        let summed = self.lies(depth.lhs, rows.lhs, batch, |index| index.lhs)
            && (depth.size, rows.size) == (self.height, self.width);
        match (by_rows, summed) {
            (true, _) => Some(Taken::Rows),
            (_, true) => Some(Taken::SummedLeft),
            _ => None,
        }
    }
}

impl Chain {
    /// The chain that these parts are, if they are one: products, a loop that reads what they make, and products that read
    /// what it makes, each with the result of the cluster that it is.
    pub(crate) fn new(
        firsts: Vec<Link>,
        rows: Lowering,
        row_sources: Vec<Source>,
        seconds: Vec<(Link, usize)>,
    ) -> Option<Self> {
        let between = Between::made_by(&firsts.first()?.product);
        let elements = between.elements()?;
        let kernel = &rows.kernel;
        let whole_rows = kernel.width.is_none()
            && kernel.row.is_none_or(|row| row == between.width)
            && kernel.elements == elements
            && kernel.outputs.iter().all(|output| output.extent == Extent::Element);
        let is_first = |(at, Link { product, .. }): (usize, &Link)| {
            let laid_out =
                between
                    .lies(product.rows.out, product.columns.out, &product.batch, |index| index.out);
            // Element by element what the product makes, nothing else of it.
            let made = |operand: usize| row_sources.get(operand) == Some(&Source::First(at));
            let mut accesses = kernel.inputs.iter().filter(|access| made(access.operand));
            let mut any = false;
            let in_order = accesses.all(|access| {
                any = true;
                access.is_in_order(elements) && access.dtype == product.dtypes[2]
            });
            Between::made_by(product) == between && laid_out && any && in_order && is_near(product)
        };
        let is_whole = whole_rows && firsts.iter().enumerate().all(is_first);
        let second = |(link, output): (Link, usize)| {
            let read = |source: &Source| match source {
                Source::Rows(result) => Some(*result),
                _ => None,
            };
            let mut found =
                link.sources.iter().enumerate().filter(|(_, source)| read(source).is_some());
            let ((operand, source), None) = (found.next()?, found.next()) else { return None };
            let reads = read(source)?;
            let taken = between.taken(&link.product, operand)?;
            let side = usize::from(taken == Taken::SummedRight);
            let fits = kernel.outputs.get(reads)?.dtype == link.product.dtypes[side];
            let near = match taken {
                Taken::Rows => is_near(&link.product),
                _ => is_small(link.product.rows.size, link.product.columns.size, 4),
            };
            (fits && near).then_some(Second { link, taken, reads, output })
        };
        let seconds: Vec<Second> = seconds.into_iter().map(second).collect::<Option<_>>()?;
        let all_read = (0..kernel.outputs.len())
            .all(|output| seconds.iter().any(|second| second.reads == output));
        let summed = seconds.iter().any(|second| second.taken.is_summed());
        let least = if summed { LEAST_SUMMED_ELEMENTS } else { LEAST_ELEMENTS };
        let too_few = elements < least || (summed && between.count < LEAST_MATRICES);
        if !is_whole || !all_read || too_few {
            return None;
        }
        let block = BLOCKS.rev().find(|block| between.height.is_multiple_of(*block))?;
        Some(Self { firsts, rows, row_sources, seconds, block })
    }

    /// The matrices between the parts.
    pub(crate) fn between(&self) -> Between {
        Between::made_by(&self.firsts[0].product)
    }

    /// Whether some of the results are sums over all rows.
    pub(crate) fn is_summed(&self) -> bool {
        self.seconds.iter().any(|second| second.taken.is_summed())
    }

    /// Its products.
    pub(crate) fn products(&self) -> impl Iterator<Item = &Product> {
        let seconds = self.seconds.iter().map(|second| &second.link.product);
        self.firsts.iter().map(|first| &first.product).chain(seconds)
    }
}

/// Whether the right operand of a product stays in a cache while rows pass.
fn is_near(product: &Product) -> bool {
    is_small(product.depth.size, product.columns.size, product.dtypes[1].bytes())
}

fn is_small(rows: usize, columns: usize, bytes: usize) -> bool {
    rows.saturating_mul(columns).saturating_mul(bytes) <= LARGEST_RIGHT_BYTES
}
