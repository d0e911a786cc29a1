//! Micro-kernels against products by definition, with B packed where the machine wants it.

use crate::matmul::product;
use crate::support::*;
use warpforge_onednn::ukernel::{
    Brgemm, BrgemmPostOps, BrgemmShape, Pack, Transform, is_available, pack_of_b,
    release_hw_context,
};
use warpforge_onednn::{BinaryKind, DataType, Eltwise, MemoryDesc, OnednnError};

const M: usize = 20;
const N: usize = 32;
const K: usize = 64;
const BATCH: usize = 3;

fn shape(data_type: DataType) -> BrgemmShape {
    BrgemmShape {
        m: M,
        n: N,
        k: K,
        batch: BATCH,
        lda: K * BATCH,
        ldb: N,
        ldc: N,
        a: data_type,
        b: data_type,
        c: DataType::F32,
        add_c: false,
    }
}

/// A of `M x (K * BATCH)`, B of `(K * BATCH) x N` as the kernel wants it, and their product.
fn operands(data_type: DataType) -> (Buffer, Buffer, Vec<[i64; 2]>, Vec<f64>) {
    let mut source = fastrand::Rng::with_seed(41);
    let a_desc = MemoryDesc::row_major(data_type, &[M, K * BATCH]).unwrap();
    let b_desc = MemoryDesc::row_major(data_type, &[K * BATCH, N]).unwrap();
    let a = random(&mut source, data_type, M * K * BATCH);
    let b = random(&mut source, data_type, K * BATCH * N);
    let plain = place(&b_desc, &b);
    let size = data_type.size();
    let mut offsets = Vec::new();
    let b_buffer = match pack_of_b(data_type, data_type).unwrap() {
        Pack::Plain => {
            offsets.extend(
                (0..BATCH).map(|part| [(part * K * size) as i64, (part * K * N * size) as i64]),
            );
            plain
        }
        Pack::Interleaved => {
            let transform = Transform::create(K, N, N, false, N, data_type).unwrap();
            let mut packed = Buffer::new(transform.bytes() * BATCH);
            for part in 0..BATCH {
                // SAFETY: each part reads K x N elements and writes its own bytes.
                unsafe {
                    let from = plain.bytes().as_ptr().add(part * K * N * size);
                    let to = packed.pointer().add(part * transform.bytes());
                    transform.execute(from, to).unwrap();
                }
                offsets.push([(part * K * size) as i64, (part * transform.bytes()) as i64]);
            }
            packed
        }
    };
    let expected = product(&a, &[M, K * BATCH], &b, &[K * BATCH, N]);
    (place(&a_desc, &a), b_buffer, offsets, expected)
}

/// Whether the machine has kernels for the type.
fn has(data_type: DataType) -> bool {
    match pack_of_b(data_type, data_type) {
        Ok(_) => true,
        Err(OnednnError::Refused { .. }) => false,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn batch_of_products() {
    if !is_available() {
        let error = Brgemm::create(&shape(DataType::F32), None).unwrap_err();
        assert!(matches!(error, OnednnError::Missing { .. }), "{error}");
        return;
    }
    for data_type in [DataType::F32, DataType::Bf16] {
        if !has(data_type) {
            continue;
        }
        let (mut a, mut b, offsets, expected) = operands(data_type);
        let c_desc = MemoryDesc::row_major(DataType::F32, &[M, N]).unwrap();
        for add_c in [false, true] {
            let kernel = Brgemm::create(&BrgemmShape { add_c, ..shape(data_type) }, None).unwrap();
            let mut scratchpad = Buffer::new(kernel.scratchpad_bytes());
            let mut c = place(&c_desc, &vec![1.0; M * N]);
            kernel.set_hw_context().unwrap();
            // SAFETY: the context is set, and every buffer has the kernel's sizes.
            unsafe {
                kernel.execute(
                    a.pointer(),
                    b.pointer(),
                    &offsets,
                    c.pointer(),
                    scratchpad.pointer(),
                )
            }
            .unwrap();
            release_hw_context().unwrap();
            let before = if add_c { 1.0 } else { 0.0 };
            let expected: Vec<f64> = expected.iter().map(|x| x + before).collect();
            assert_close(&values(&c_desc, &c), &expected, 2e-6, &format!("{kernel:?}"));
        }
    }
}

#[test]
fn product_with_bias_and_activation() {
    if !is_available() {
        return;
    }
    for (data_type, out) in [(DataType::F32, DataType::F32), (DataType::Bf16, DataType::Bf16)] {
        if !has(data_type) {
            continue;
        }
        let (mut a, mut b, offsets, expected) = operands(data_type);
        let bias_desc = MemoryDesc::row_major(DataType::F32, &[1, N]).unwrap();
        let bias = random(&mut fastrand::Rng::with_seed(43), DataType::F32, N);
        let bias_buffer = place(&bias_desc, &bias);
        let attributes =
            attributes().binary(BinaryKind::Add, bias_desc).eltwise(Eltwise::GeluErf, 0.0, 0.0);
        let post_ops = BrgemmPostOps::new(N, out, attributes);
        let kernel = Brgemm::create(&shape(data_type), Some(&post_ops)).unwrap();
        assert!(kernel.has_post_ops());
        let d_desc = MemoryDesc::row_major(out, &[M, N]).unwrap();
        let (mut c, mut d) = (Buffer::new(M * N * 4), Buffer::new(d_desc.bytes()));
        let mut scratchpad = Buffer::new(kernel.scratchpad_bytes());
        kernel.set_hw_context().unwrap();
        let operands = [bias_buffer.bytes().as_ptr()];
        // SAFETY: the context is set, and every buffer has the kernel's sizes.
        unsafe {
            kernel.execute_post_ops(
                a.pointer(),
                b.pointer(),
                &offsets,
                c.pointer(),
                d.pointer(),
                scratchpad.pointer(),
                &operands,
                [std::ptr::null(); 3],
            )
        }
        .unwrap();
        release_hw_context().unwrap();
        let expected: Vec<f64> =
            expected.iter().enumerate().map(|(at, x)| gelu(x + bias[at % N])).collect();
        let what = format!("{kernel:?}");
        assert_close(&values(&d_desc, &d), &expected, tolerance(out).max(4e-6), &what);
        // SAFETY: refused before anything is followed.
        let refused = unsafe {
            kernel.execute_post_ops(
                a.pointer(),
                b.pointer(),
                &offsets,
                c.pointer(),
                d.pointer(),
                scratchpad.pointer(),
                &[],
                [std::ptr::null(); 3],
            )
        };
        assert!(refused.is_err());
    }
}

#[test]
fn packing_of_a_transposed_matrix() {
    if !is_available() || !has(DataType::Bf16) {
        return;
    }
    let (k, n) = (37, 19);
    let mut source = fastrand::Rng::with_seed(47);
    let values = random(&mut source, DataType::Bf16, k * n);
    let plain = MemoryDesc::row_major(DataType::Bf16, &[k, n]).unwrap();
    let turned = MemoryDesc::strided(DataType::Bf16, &[k, n], &[1, k]).unwrap();
    let pack = |leading: usize, transposed: bool, buffer: &mut Buffer| {
        let transform = Transform::create(k, n, leading, transposed, 32, DataType::Bf16).unwrap();
        let mut packed = Buffer::new(transform.bytes());
        packed.bytes_mut().fill(0);
        // SAFETY: the matrix is there, and the target has the transform's bytes.
        unsafe { transform.execute(buffer.pointer(), packed.pointer()) }.unwrap();
        packed.bytes()[..k.next_multiple_of(2) * 32 * 2].to_vec()
    };
    let rows = pack(n, false, &mut place(&plain, &values));
    let columns = pack(k, true, &mut place(&turned, &values));
    // Two rows interleaved, then the next column.
    for (row, column) in [(0, 0), (1, 0), (5, 7), (36, 18)] {
        let at = ((row / 2) * 32 + column) * 4 + row % 2 * 2;
        let expected = bf16(values[row * n + column]).to_le_bytes();
        assert_eq!(rows[at..at + 2], expected);
        assert_eq!(columns[at..at + 2], expected);
    }
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    if !is_available() {
        return;
    }
    let good = shape(DataType::F32);
    for wrong in [
        BrgemmShape { m: 0, ..good },
        BrgemmShape { k: 0, ..good },
        BrgemmShape { batch: 0, ..good },
        BrgemmShape { n: usize::MAX, ..good },
        BrgemmShape { lda: K - 1, ..good },
        BrgemmShape { ldc: N - 1, ..good },
    ] {
        assert!(Brgemm::create(&wrong, None).is_err(), "{wrong:?}");
    }
    assert!(Transform::create(8, 33, 33, false, 32, DataType::F32).is_err());
    assert!(Transform::create(8, 8, 8, false, 24, DataType::F32).is_err());
    assert!(Transform::create(8, 8, 4, false, 32, DataType::F32).is_err());
    assert!(Transform::create(0, 8, 8, false, 32, DataType::F32).is_err());
    let kernel = Brgemm::create(&good, None).unwrap();
    // SAFETY: refused before anything is followed.
    let refused = unsafe {
        let null = std::ptr::null_mut();
        kernel.execute(null, null, &[[0, 0]], null, null)
    };
    assert!(refused.is_err());
}
