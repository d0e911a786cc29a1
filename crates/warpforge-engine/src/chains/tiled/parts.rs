//! What a chain by tiles consists of, and where a thread keeps what: its products with what multiplies them, how rows between
//! them lie, and how many are worked on at a time.

use warpforge_codegen::ir::LoopKernel;
use warpforge_tensor::DType;

use super::super::{Between, Chain, Second, Source, Taken};
use crate::EngineError;
use crate::products::tiles::{Multiplier, spread};
use crate::products::{Arithmetic, Product, is_for_library};

/// Numbers between the parts that are worked on at a time: with what they are multiplied with they fit a second-level cache, and
/// of a few hundred columns there are so many rows that columns come to the nearest cache for several strips.
const BETWEEN: usize = 80 << 10;
/// The same where results are sums: there is more beside them.
const BETWEEN_SUMMED: usize = 160 << 10;
/// Rows of a sum that are packed at a time.
pub(super) const TOGETHER: usize = 384;

/// Where a thread keeps what, in bytes from the beginning of its room.
#[derive(Debug, Clone, Default)]
pub(super) struct Room {
    /// The strips of the left operand at hand.
    pub(super) strips: usize,
    /// The panels of the right operand of a sum at hand.
    pub(super) panels: usize,
    /// Sums that are not finished, of a product of one block.
    pub(super) sums: usize,
    pub(super) bytes: usize,
}

impl Room {
    fn take(&mut self, bytes: usize) -> usize {
        let start = self.bytes;
        self.bytes += bytes.next_multiple_of(64);
        start
    }
}

/// A matrix between the parts, of which a block is there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kept {
    /// Where in the room.
    pub(super) at: usize,
    /// Bytes of a number.
    pub(super) bytes: usize,
}

/// A product that makes a row of each.
pub(super) struct RowPart {
    pub(super) multiplier: Multiplier,
    pub(super) sources: Vec<Source>,
    /// Where its panels are in the room.
    pub(super) panels: usize,
}

/// A product that sums over rows.
pub(super) struct SummedPart {
    /// Of the first block, of those between, of the last one; the same where there is only one.
    pub(super) multipliers: [Multiplier; 3],
    pub(super) sources: Vec<Source>,
    pub(super) taken: Taken,
    pub(super) reads: usize,
    pub(super) output: usize,
    /// Where the sums of the blocks before are in the room.
    pub(super) sums: usize,
}

/// What a kernel consists of, and where a thread keeps what.
pub(super) struct Parts {
    pub(super) firsts: Vec<RowPart>,
    /// Products with what the loop makes, and the result of the cluster that each is.
    pub(super) by_rows: Vec<(RowPart, usize)>,
    pub(super) summed: Vec<SummedPart>,
    /// The loop, which reads what products make before it is rounded.
    pub(super) kernel: LoopKernel,
    /// What the first products make, and what the loop makes of that.
    pub(super) made: Vec<Kept>,
    pub(super) results: Vec<Kept>,
    /// How far apart rows between the parts are kept.
    pub(super) distance: usize,
    /// Rows worked on at a time.
    pub(super) block: usize,
    /// Rows that are multiplied together.
    pub(super) strip: usize,
    pub(super) room: Room,
}

impl Parts {
    /// Of a chain, where tiles take it.
    pub(super) fn new(chain: &Chain, arithmetic: Arithmetic) -> Result<Self, EngineError> {
        let (chain, distance) = &spread_out(&widened(chain), arithmetic)?;
        let of = |product: &Product| multiplier(product, arithmetic);
        let firsts = chain.firsts.iter().map(|link| of(&link.product));
        let firsts: Vec<Multiplier> = firsts.collect::<Result<_, _>>()?;
        let by_rows = chain.seconds.iter().filter(|second| !second.taken.is_summed());
        let by_rows = by_rows.map(|second| Ok((of(&second.link.product)?, second)));
        let by_rows: Vec<(Multiplier, _)> = by_rows.collect::<Result<_, EngineError>>()?;
        let row_parts = || firsts.iter().chain(by_rows.iter().map(|(multiplier, _)| multiplier));
        let strip = row_parts().map(Multiplier::strip_rows).max().unwrap_or(1);
        let block = block(chain, strip);
        let summed = chain.seconds.iter().filter(|second| second.taken.is_summed());
        let blocks = chain.between().height / block;
        let summed = summed.map(|second| {
            let product = &second.link.product;
            let sums = second.link.sources.len();
            let made = |begins: bool, ends: bool| {
                let made = Multiplier::summed(product, arithmetic, block, sums, begins, ends)?;
                // As good as the whole product.
                of(product).map(|_| made)
            };
            Ok(([made(true, false)?, made(false, false)?, made(blocks == 1, true)?], second))
        });
        let summed: Vec<([Multiplier; 3], _)> = summed.collect::<Result<_, EngineError>>()?;

        let mut room = Room::default();
        let (mut strips, mut panels, mut sums) = (0, 0, 0);
        for multiplier in row_parts() {
            strips = strips.max(multiplier.strip_bytes(block));
            sums = sums.max(multiplier.sum_bytes(block, multiplier.panel_count()));
        }
        for multiplier in summed.iter().flat_map(|(multipliers, _)| multipliers) {
            let rows = multiplier.product().rows.size.min(TOGETHER);
            strips = strips.max(multiplier.strip_bytes(rows));
            panels = panels.max(multiplier.panel_bytes());
            sums = sums.max(multiplier.sum_bytes(rows, multiplier.panel_count()));
        }
        room.strips = room.take(strips);
        room.panels = room.take(panels);
        room.sums = room.take(sums);
        let elements = block * distance;
        let mut keep = |dtype: DType| {
            let bytes = dtype.bytes();
            Kept { at: room.take(elements * bytes), bytes }
        };
        let made: Vec<Kept> =
            chain.firsts.iter().map(|first| keep(first.product.dtypes[2])).collect();
        let kernel = chain.rows.kernel.clone();
        let mut over: Vec<usize> = Vec::new();
        let mut results = Vec::with_capacity(kernel.outputs.len());
        for (output, info) in kernel.outputs.iter().enumerate() {
            // In the place of what it is made of, where it may be.
            let place = chain.row_sources.iter().enumerate().find_map(|(operand, source)| {
                let Source::First(first) = *source else { return None };
                let fits = kernel.may_overwrite(output, operand) && !over.contains(&first);
                fits.then_some(first)
            });
            over.extend(place);
            results.push(place.map_or_else(|| keep(info.dtype), |first| made[first]));
        }
        let mut part = |multiplier: Multiplier, sources: &[Source]| {
            let panels = room.take(multiplier.panel_bytes());
            RowPart { multiplier, sources: sources.to_vec(), panels }
        };
        let firsts = firsts.into_iter().zip(&chain.firsts);
        let firsts = firsts.map(|(multiplier, link)| part(multiplier, &link.sources)).collect();
        let by_rows = by_rows
            .into_iter()
            .map(|(multiplier, second)| (part(multiplier, &second.link.sources), second.output));
        let by_rows = by_rows.collect();
        let summed = summed.into_iter().map(|(multipliers, second)| {
            let product = &second.link.product;
            let numbers = product.rows.size * product.columns.size;
            SummedPart {
                multipliers,
                sources: second.link.sources.clone(),
                taken: second.taken,
                reads: second.reads,
                output: second.output,
                sums: room.take(if blocks > 1 { numbers * size_of::<f32>() } else { 0 }),
            }
        });
        let summed = summed.collect();
        let distance = *distance;
        Ok(Self { firsts, by_rows, summed, kernel, made, results, distance, block, strip, room })
    }

    /// The products that make a row of each.
    pub(super) fn of_rows(&self) -> impl Iterator<Item = &RowPart> {
        self.firsts.iter().chain(self.by_rows.iter().map(|(part, _)| part))
    }

    /// What multiplies, everywhere.
    pub(super) fn multipliers(&self) -> impl Iterator<Item = &Multiplier> {
        let summed = self.summed.iter().flat_map(|part| &part.multipliers);
        self.of_rows().map(|part| &part.multiplier).chain(summed)
    }
}

/// The same product with matrices between the parts whose rows lie at another distance, as its left or right operand or its
/// result.
fn at_distance(product: &Product, between: Between, distance: usize, of: Operand) -> Product {
    let mut product = product.clone();
    let step = distance as isize;
    match of {
        Operand::Result => product.rows.out = step,
        Operand::Taken(Taken::Rows) => product.rows.lhs = step,
        Operand::Taken(Taken::SummedLeft) => product.depth.lhs = step,
        Operand::Taken(Taken::SummedRight) => product.depth.rhs = step,
    }
    let mut dense = (between.height * distance) as isize;
    for index in product.batch.iter_mut().rev() {
        match of {
            Operand::Result => index.out = dense,
            Operand::Taken(Taken::SummedRight) => index.rhs = dense,
            Operand::Taken(_) => index.lhs = dense,
        }
        dense *= index.size as isize;
    }
    product
}

/// What lies between the parts, to a product.
#[derive(Debug, Clone, Copy)]
enum Operand {
    Result,
    Taken(Taken),
}

/// The chain with rows between the parts at a distance at which they can be multiplied as they lie, where vectors of f32 do
/// that, and that distance.
fn spread_out(chain: &Chain, arithmetic: Arithmetic) -> Result<(Chain, usize), EngineError> {
    let between = chain.between();
    let mut by_vectors = chain.rows.kernel.outputs.iter().all(|output| output.dtype == DType::F32);
    for product in chain.products() {
        by_vectors &= !multiplier(product, arithmetic)?.is_by_matrices();
    }
    if !by_vectors {
        return Ok((chain.clone(), between.width));
    }
    let distance = spread(between.width);
    let mut chain = chain.clone();
    for first in &mut chain.firsts {
        first.product = at_distance(&first.product, between, distance, Operand::Result);
    }
    for Second { link, taken, .. } in &mut chain.seconds {
        link.product = at_distance(&link.product, between, distance, Operand::Taken(*taken));
    }
    Ok((chain, distance))
}

/// Rows worked on at a time.
fn block(chain: &Chain, strip: usize) -> usize {
    let between = chain.between();
    let most = |numbers: usize| numbers / between.width.max(1);
    if !chain.is_summed() {
        return ((most(BETWEEN) / strip).max(1) * strip).min(between.height);
    }
    let matrices = chain.firsts.len() + chain.rows.kernel.outputs.len();
    let most = most(BETWEEN_SUMMED / matrices).max(chain.block);
    let whole = |rows: &usize| between.height.is_multiple_of(*rows);
    (chain.block..=most.min(between.height)).rev().find(whole).unwrap_or(chain.block)
}

/// A product that tiles take in a chain: of f32, or of narrower numbers by the matrix unit or where no library has instructions
/// for them.
fn multiplier(product: &Product, arithmetic: Arithmetic) -> Result<Multiplier, EngineError> {
    let multiplier = Multiplier::new(product, arithmetic)?;
    let best = multiplier.is_by_matrices() || product.dtypes == [DType::F32; 3];
    if is_for_library(product) && !best {
        return Err(EngineError::Unsupported("a chain of narrow numbers by tiles".into()));
    }
    Ok(multiplier)
}

/// The same chain, but what the first products make stays f32 until the loop has read it.
fn widened(chain: &Chain) -> Chain {
    let mut chain = chain.clone();
    for first in &mut chain.firsts {
        first.product.dtypes[2] = DType::F32;
    }
    for access in &mut chain.rows.kernel.inputs {
        if matches!(chain.row_sources.get(access.operand), Some(Source::First(_))) {
            access.dtype = DType::F32;
        }
    }
    chain
}
