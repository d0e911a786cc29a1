//! Streams through main memory: the STREAM kernels, a pure read and a pure write, on arrays of doubles.
//!
//! Writes bypass the caches where the CPU can (a cached write would first read the line it replaces, traffic that
//! STREAM does not count). Contents are whole numbers, so results are exact and the arrays can be checked.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod x86;

/// What a stream does with the arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StreamKernel {
    /// `c = a`
    Copy,
    /// `b = s * c`
    Scale,
    /// `c = a + b`
    Add,
    /// `a = b + s * c`
    Triad,
    /// The sum of `a`.
    Read,
    /// `a = s`
    Write,
}

impl StreamKernel {
    /// Every kernel, in STREAM's order.
    pub const ALL: [Self; 6] =
        [Self::Copy, Self::Scale, Self::Add, Self::Triad, Self::Read, Self::Write];

    /// The name in tags and parameters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::Scale => "scale",
            Self::Add => "add",
            Self::Triad => "triad",
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    /// Bytes moved per element as STREAM counts them: each array once.
    pub fn bytes_per_element(self) -> usize {
        match self {
            Self::Copy | Self::Scale => 16,
            Self::Add | Self::Triad => 24,
            Self::Read | Self::Write => 8,
        }
    }

    /// What an element of the target becomes, given the two sources.
    pub fn element(self, first: f64, second: f64, scalar: f64) -> f64 {
        match self {
            Self::Copy => first,
            Self::Scale => scalar * first,
            Self::Add => first + second,
            Self::Triad => first + scalar * second,
            Self::Read => 0.0,
            Self::Write => scalar,
        }
    }
}

/// A way to run the streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// 64-byte vectors and non-temporal stores.
    Avx512,
    /// 32-byte vectors and non-temporal stores.
    Avx2,
    /// Plain loops the compiler vectorizes; stores go through the caches.
    Portable,
}

impl Way {
    /// The ways this CPU has, best first.
    pub fn available() -> Vec<Self> {
        let mut ways = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                ways.push(Self::Avx512);
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                ways.push(Self::Avx2);
            }
        }
        ways.push(Self::Portable);
        ways
    }

    /// How it writes, in words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Avx512 => "AVX-512 with non-temporal stores",
            Self::Avx2 => "AVX2 with non-temporal stores",
            Self::Portable => "plain loops, stores through the caches",
        }
    }
}

/// The arrays of one run: a target and up to two sources of the same length.
#[derive(Debug)]
pub struct Arrays<'run> {
    /// Written (not by a read).
    pub target: &'run mut [f64],
    /// Read.
    pub first: &'run [f64],
    /// Read by add and triad.
    pub second: &'run [f64],
}

/// Runs a kernel once over its arrays and returns the sum that a read found (0 for the others).
///
/// # Panics
/// When an array the kernel uses is shorter than the target (for a read: nothing but the first is used).
pub fn run(way: Way, kernel: StreamKernel, arrays: Arrays<'_>, scalar: f64) -> f64 {
    let Arrays { target, first, second } = arrays;
    let count = target.len();
    match kernel {
        StreamKernel::Copy | StreamKernel::Scale => assert!(first.len() >= count),
        StreamKernel::Add | StreamKernel::Triad => {
            assert!(first.len() >= count && second.len() >= count);
        }
        StreamKernel::Read | StreamKernel::Write => {}
    }
    if kernel == StreamKernel::Read {
        return match way {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a way is only available when the CPU has its instructions; the length is the slice's.
            Way::Avx512 => unsafe { x86::sum_avx512(first.as_ptr(), first.len()) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Way::Avx2 => unsafe { x86::sum_avx2(first.as_ptr(), first.len()) },
            _ => portable_sum(first),
        };
    }
    // Non-temporal stores need aligned addresses; the elements before the first aligned one are done one by one.
    let head = target.as_ptr().align_offset(64).min(count);
    let one_by_one = |target: &mut [f64], from: usize, to: usize| {
        for (offset, element) in target[from..to].iter_mut().enumerate() {
            *element = at(kernel, first, second, from + offset, scalar);
        }
    };
    one_by_one(target, 0, head);
    let vectorized = match way {
        #[cfg(target_arch = "x86_64")]
        Way::Avx512 | Way::Avx2 => {
            let (to, from) =
                (&mut target[head..], |array: &[f64]| array.as_ptr().wrapping_add(head));
            let (to, length, first, second) =
                (to.as_mut_ptr(), to.len(), from(first), from(second));
            // SAFETY: the CPU has the instructions; `to` is aligned to 64 bytes (or `length` is 0), all arrays
            // the kernel uses hold `length` more elements (asserted above), and they do not overlap: `target`
            // is borrowed exclusively.
            unsafe {
                if way == Way::Avx512 {
                    x86::stream_avx512(kernel, to, first, second, length, scalar)
                } else {
                    x86::stream_avx2(kernel, to, first, second, length, scalar)
                }
            }
        }
        _ => {
            portable(kernel, target, first, second, scalar);
            return 0.0;
        }
    };
    one_by_one(target, head + vectorized, count);
    0.0
}

/// One element by definition.
fn at(kernel: StreamKernel, first: &[f64], second: &[f64], index: usize, scalar: f64) -> f64 {
    let read = |array: &[f64]| array.get(index).copied().unwrap_or(0.0);
    kernel.element(read(first), read(second), scalar)
}

fn portable(kernel: StreamKernel, target: &mut [f64], first: &[f64], second: &[f64], scalar: f64) {
    match kernel {
        StreamKernel::Copy => target.copy_from_slice(&first[..target.len()]),
        StreamKernel::Scale => {
            target.iter_mut().zip(first).for_each(|(to, from)| *to = scalar * from);
        }
        StreamKernel::Add => {
            target
                .iter_mut()
                .zip(first)
                .zip(second)
                .for_each(|((to, first), second)| *to = first + second);
        }
        StreamKernel::Triad => target
            .iter_mut()
            .zip(first)
            .zip(second)
            .for_each(|((to, first), second)| *to = first + scalar * second),
        StreamKernel::Read => {}
        StreamKernel::Write => target.fill(scalar),
    }
}

/// A sum in eight parts, so that additions overlap.
fn portable_sum(array: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let chunks = array.chunks_exact(8);
    let rest: f64 = chunks.remainder().iter().sum();
    for chunk in chunks {
        for (sum, value) in sums.iter_mut().zip(chunk) {
            *sum += value;
        }
    }
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_does_every_kernel_by_definition_at_odd_sizes_and_offsets() {
        for (count, offset) in
            [(0, 0), (1, 0), (7, 1), (8, 0), (63, 3), (64, 0), (1000, 5), (4099, 7)]
        {
            let first: Vec<f64> = (0..count).map(|index| (index % 97) as f64).collect();
            let second: Vec<f64> = (0..count).map(|index| (index % 89) as f64 - 40.0).collect();
            for way in Way::available() {
                for kernel in StreamKernel::ALL {
                    let mut memory = vec![-1.0; count + offset + 8];
                    let target = &mut memory[offset..offset + count];
                    let arrays = Arrays { target, first: &first, second: &second };
                    let sum = run(way, kernel, arrays, 3.0);
                    let label = format!("{way:?} {kernel:?} {count}+{offset}");
                    if kernel == StreamKernel::Read {
                        assert_eq!(sum, first.iter().sum::<f64>(), "{label}");
                        assert!(memory.iter().all(|value| *value == -1.0), "{label}");
                        continue;
                    }
                    for index in 0..count {
                        let expected = kernel.element(first[index], second[index], 3.0);
                        assert_eq!(memory[offset + index], expected, "{label} at {index}");
                    }
                    assert!(memory[..offset].iter().all(|value| *value == -1.0), "{label} before");
                    assert!(
                        memory[offset + count..].iter().all(|value| *value == -1.0),
                        "{label} after"
                    );
                }
            }
        }
    }

    #[test]
    fn bytes_are_counted_as_stream_does() {
        let bytes = StreamKernel::ALL.map(StreamKernel::bytes_per_element);
        assert_eq!(bytes, [16, 16, 24, 24, 8, 8]);
    }
}
