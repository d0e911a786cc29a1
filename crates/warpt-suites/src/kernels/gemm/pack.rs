//! Packing: copies a block of a column-major matrix into panels in the order the register tile reads it. Panels
//! that reach past the matrix are filled up with zeros.

use crate::kernels::gemm::Element;

/// Packs `high` rows by `deep` columns into panels of `panel` rows: step by step of depth, `panel` numbers each.
pub(super) fn rows<T: Element>(
    from: &[T],
    stride: usize,
    (high, deep): (usize, usize),
    panel: usize,
    to: &mut [T],
) {
    for (index, to) in to.chunks_exact_mut(panel * deep).take(high.div_ceil(panel)).enumerate() {
        let row = index * panel;
        let tall = panel.min(high - row);
        for (step, to) in to.chunks_exact_mut(panel).enumerate() {
            to[..tall].copy_from_slice(&from[step * stride + row..][..tall]);
            to[tall..].fill(T::default());
        }
    }
}

/// Packs `deep` rows by `width` columns into panels of `panel` columns: step by step of depth, `panel` numbers each.
pub(super) fn columns<T: Element>(
    from: &[T],
    stride: usize,
    (deep, width): (usize, usize),
    panel: usize,
    to: &mut [T],
) {
    match panel {
        8 => columns_of::<T, 8>(from, stride, (deep, width), to),
        6 => columns_of::<T, 6>(from, stride, (deep, width), to),
        _ => unreachable!("every tile is 6 or 8 columns wide"),
    }
}

fn columns_of<T: Element, const PANEL: usize>(
    from: &[T],
    stride: usize,
    (deep, width): (usize, usize),
    to: &mut [T],
) {
    for (index, to) in to.chunks_exact_mut(PANEL * deep).take(width.div_ceil(PANEL)).enumerate() {
        let column = index * PANEL;
        let wide = PANEL.min(width - column);
        if wide == PANEL {
            let sources: [&[T]; PANEL] =
                std::array::from_fn(|offset| &from[(column + offset) * stride..][..deep]);
            for (step, to) in to.chunks_exact_mut(PANEL).enumerate() {
                for offset in 0..PANEL {
                    to[offset] = sources[offset][step];
                }
            }
        } else {
            for (step, to) in to.chunks_exact_mut(PANEL).enumerate() {
                for (offset, to) in to.iter_mut().enumerate() {
                    *to = if offset < wide {
                        from[(column + offset) * stride + step]
                    } else {
                        T::default()
                    };
                }
            }
        }
    }
}
