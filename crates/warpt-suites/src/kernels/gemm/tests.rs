//! Every tile of this CPU against the product by definition, at sizes around block and tile borders.

use super::*;

/// Small whole numbers: every sum is exact in f32, so results must be equal, not close.
fn matrix<T: Element>(count: usize, random: &mut fastrand::Rng) -> Vec<T> {
    (0..count).map(|_| T::from_f64(f64::from(random.i8(-8..=8)))).collect()
}

fn by_definition<T: Element>(shape: Shape, a: &[T], b: &[T]) -> Vec<T> {
    let Shape { rows, columns, depth } = shape;
    let mut c = vec![T::default(); rows * columns];
    for column in 0..columns {
        for k in 0..depth {
            let factor = b[column * depth + k].to_f64();
            for row in 0..rows {
                let sum = c[column * rows + row].to_f64() + a[k * rows + row].to_f64() * factor;
                c[column * rows + row] = T::from_f64(sum);
            }
        }
    }
    c
}

fn check_all<T: Element>() {
    let mut random = fastrand::Rng::with_seed(3);
    let sizes = [
        (1, 1, 1),
        (48, 8, 384),
        (47, 9, 385),
        (50, 17, 3),
        (131, 35, 400),
        (5, 3100, 2),
        (700, 13, 70),
        (3, 2, 0),
    ];
    for (rows, columns, depth) in sizes {
        let shape = Shape { rows, columns, depth };
        let a = matrix::<T>(rows * depth, &mut random);
        let b = matrix::<T>(depth * columns, &mut random);
        let expected = by_definition(shape, &a, &b);
        for tile in T::tiles() {
            for second_cache_bytes in [0, 2 << 20] {
                let mut c = vec![T::from_f64(99.0); rows * columns];
                Gemm::new(tile, second_cache_bytes).unwrap().multiply(shape, &a, &b, &mut c);
                assert!(c == expected, "{} {} {shape:?}", T::NAME, tile.isa);
            }
        }
    }
}

#[test]
fn f32_products_are_exact_on_whole_numbers() {
    check_all::<f32>();
}

#[test]
fn f64_products_are_exact_on_whole_numbers() {
    check_all::<f64>();
}

#[test]
#[should_panic(expected = "assertion failed")]
fn a_short_slice_is_refused() {
    let shape = Shape { rows: 4, columns: 4, depth: 4 };
    Gemm::new(f32::tile(), 0).unwrap().multiply(shape, &[0.0; 16], &[0.0; 15], &mut [0.0; 16]);
}
