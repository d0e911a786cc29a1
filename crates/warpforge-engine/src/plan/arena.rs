//! One piece of memory for all values between kernels: values whose lives do not meet share places.

/// When and how large a value is: from the step that makes it to the last that reads it, both included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Life {
    pub(crate) bytes: usize,
    pub(crate) first: usize,
    pub(crate) last: usize,
}

/// Where each value begins, and the size of the whole.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Layout {
    pub(crate) offsets: Vec<usize>,
    pub(crate) bytes: usize,
    /// The most that lives at once: what no arrangement can go below.
    pub(crate) live_bytes: usize,
}

/// Values begin at multiples of this: a cache line, and what every vector load likes.
pub(crate) const ALIGNMENT: usize = 64;

/// Places the largest values first, each at the lowest place where it meets no other that lives at the same time.
pub(crate) fn arrange(lives: &[Life]) -> Layout {
    let mut order: Vec<usize> = (0..lives.len()).collect();
    order.sort_by_key(|at| (std::cmp::Reverse(lives[*at].bytes), *at));
    let mut layout =
        Layout { offsets: vec![0; lives.len()], bytes: 0, live_bytes: live_bytes(lives) };
    // Already placed, by their place.
    let mut placed: Vec<usize> = Vec::with_capacity(lives.len());
    for at in order {
        let life = &lives[at];
        let mut offset = 0;
        for other in &placed {
            let (theirs, begins) = (&lives[*other], layout.offsets[*other]);
            let meet = life.first <= theirs.last && theirs.first <= life.last;
            if !meet {
                continue;
            }
            if offset + life.bytes <= begins {
                break;
            }
            offset = offset.max((begins + theirs.bytes).next_multiple_of(ALIGNMENT));
        }
        layout.offsets[at] = offset;
        layout.bytes = layout.bytes.max(offset + life.bytes);
        let place = placed.partition_point(|other| layout.offsets[*other] <= offset);
        placed.insert(place, at);
    }
    layout.bytes = layout.bytes.next_multiple_of(ALIGNMENT);
    layout
}

/// The largest sum of values that live at the same step.
fn live_bytes(lives: &[Life]) -> usize {
    let steps = lives.iter().map(|life| life.last + 1).max().unwrap_or(0);
    let (mut begun, mut ended) = (vec![0; steps + 1], vec![0; steps + 1]);
    for life in lives {
        begun[life.first] += life.bytes;
        ended[life.last + 1] += life.bytes;
    }
    let mut live = 0;
    let at = |step: usize| {
        live = live + begun[step] - ended[step];
        live
    };
    (0..steps).map(at).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lives_that_meet_never_overlap_and_others_share() {
        let mut state = 7_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let lives: Vec<Life> = (0..200)
            .map(|_| {
                let first = draw(100) as usize;
                Life { bytes: draw(5000) as usize, first, last: first + draw(10) as usize }
            })
            .collect();
        let layout = arrange(&lives);
        for (a, x) in lives.iter().enumerate() {
            assert_eq!(layout.offsets[a] % ALIGNMENT, 0);
            for (b, y) in lives.iter().enumerate().skip(a + 1) {
                let meet = x.first <= y.last && y.first <= x.last;
                let (left, right) = (layout.offsets[a], layout.offsets[b]);
                let apart = left + x.bytes <= right || right + y.bytes <= left;
                assert!(!meet || apart || x.bytes == 0 || y.bytes == 0, "{a} {b}");
            }
        }
        // The most that lives at once is a lower bound.
        let live = |step: usize| -> usize {
            lives.iter().filter(|l| l.first <= step && step <= l.last).map(|l| l.bytes).sum()
        };
        let most = (0..120).map(live).max().unwrap_or_default();
        assert!(layout.bytes >= most && layout.bytes < most * 3 / 2, "{} for {most}", layout.bytes);
    }
}
