//! The edges: the library itself, sizes of 0 and 1, sizes beyond memory, operands that do not belong, tasks that fail.

use crate::support::*;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use warpforge_onednn::{
    Argument, Attributes, ConvolutionShape, DataType, Execution, MAX_RANK, MemoryDesc, NOTICES,
    OnednnError, Primitive, ReductionKind, Status, Threadpool, convolution_backward_weights,
    convolution_forward, cpu_isa, matmul, reduction, reorder, version,
};

fn f32(dims: &[usize]) -> MemoryDesc {
    MemoryDesc::row_major(DataType::F32, dims).unwrap()
}

fn square(size: usize) -> Arc<Primitive> {
    let desc = f32(&[size, size]);
    Arc::new(matmul(&desc, &desc, None, &desc, &attributes()).unwrap())
}

/// Binds the three operands of a product, and its scratch memory.
fn bind(primitive: &Arc<Primitive>) -> (Execution, Buffer) {
    let names = [Argument::Src, Argument::Weights, Argument::Dst, Argument::Scratchpad];
    let operands: Vec<_> =
        names.into_iter().filter_map(|name| Some((name, primitive.descriptor(name)?))).collect();
    (Execution::new(primitive, &operands).unwrap(), Buffer::new(primitive.scratchpad_bytes()))
}

#[test]
fn the_library_says_what_it_is() {
    assert!(version() >= (3, 5, 0), "{:?}", version());
    assert!(!cpu_isa().is_empty());
    assert!(NOTICES.contains("oneDNN") && NOTICES.contains("LICENSE"));
}

#[test]
fn descriptors_say_what_they_are() {
    let desc = MemoryDesc::strided(DataType::Bf16, &[2, 3], &[8, 1]).unwrap();
    assert_eq!((desc.dims(), desc.data_type(), desc.bytes()), (&[2, 3][..], DataType::Bf16, 22));
    assert_eq!(desc.is_strided(), Some(vec![8, 1]));
    assert_eq!(format!("{desc:?}"), "bf16[2, 3]{8, 1}");
    assert_eq!(desc, MemoryDesc::strided(DataType::Bf16, &[2, 3], &[8, 1]).unwrap());
    assert_ne!(desc, MemoryDesc::row_major(DataType::Bf16, &[2, 3]).unwrap());
    let any = MemoryDesc::any(DataType::F32, &[4]).unwrap();
    assert!(any.is_any() && any.is_strided().is_none());
    assert_eq!(format!("{any:?}"), "f32[4]{any}");
}

#[test]
fn sizes_beyond_memory_are_refused() {
    let huge = usize::MAX / 2;
    assert!(MemoryDesc::row_major(DataType::F32, &[huge, huge]).is_err());
    assert!(MemoryDesc::row_major(DataType::F32, &[huge]).is_err());
    assert!(MemoryDesc::strided(DataType::F32, &[3, 3], &[huge, 1]).is_err());
    assert!(MemoryDesc::any(DataType::F32, &[1 << 40, 1 << 40]).is_err());
    assert!(MemoryDesc::any(DataType::F32, &[0, usize::MAX]).is_err());
    assert!(MemoryDesc::row_major(DataType::F32, &[0, usize::MAX, 2]).is_err());
    assert!(MemoryDesc::row_major(DataType::F32, &[]).is_err());
    assert!(MemoryDesc::row_major(DataType::F32, &[1; MAX_RANK + 1]).is_err());
    assert!(MemoryDesc::strided(DataType::F32, &[2, 2], &[1]).is_err());
    // Elements that overlap.
    assert!(MemoryDesc::strided(DataType::F32, &[2, 4], &[1, 1]).is_err());
}

#[test]
fn sizes_of_one_are_computed() {
    let primitive = square(1);
    let (mut execution, mut scratch) = bind(&primitive);
    let desc = f32(&[1, 1]);
    let (mut a, mut b, mut c) = (place(&desc, &[3.0]), place(&desc, &[4.0]), Buffer::new(4));
    let mut pointers = vec![a.pointer(), b.pointer(), c.pointer(), scratch.pointer()];
    pointers.truncate(execution.operands().count());
    // SAFETY: buffers of the operands' sizes that do not overlap.
    unsafe { execution.run(&pool(), &pointers) }.unwrap();
    assert_eq!(values(&desc, &c), [12.0]);
}

#[test]
fn sizes_of_zero() {
    // No rows or no columns: there is nothing to compute, and nothing is.
    for (m, n) in [(0, 3), (3, 0), (0, 0)] {
        let (src, weights, dst) = (f32(&[m, 2]), f32(&[2, n]), f32(&[m, n]));
        assert_eq!(dst.bytes(), 0);
        let primitive = Arc::new(matmul(&src, &weights, None, &dst, &attributes()).unwrap());
        let mut empty = Buffer::new(0);
        run(
            &primitive,
            &mut [
                (Argument::Src, src, &mut Buffer::new(64)),
                (Argument::Weights, weights, &mut Buffer::new(64)),
                (Argument::Dst, dst, &mut empty),
            ],
        );
        assert!(empty.bytes().iter().all(|byte| *byte == 0xc3), "nothing was written");
    }
    // An empty copy.
    let desc = f32(&[0, 4]);
    let primitive = Arc::new(reorder(&desc, &desc, &attributes()).unwrap());
    run(
        &primitive,
        &mut [
            (Argument::Src, desc.clone(), &mut Buffer::new(0)),
            (Argument::Dst, desc, &mut Buffer::new(0)),
        ],
    );
}

#[test]
fn sums_of_nothing_are_refused() {
    let (src, weights, dst) = (f32(&[2, 0]), f32(&[0, 3]), f32(&[2, 3]));
    let error = matmul(&src, &weights, None, &dst, &attributes()).unwrap_err();
    assert!(matches!(error, OnednnError::Invalid { .. }), "{error}");
    let (src, dst) = (f32(&[2, 0]), f32(&[2, 1]));
    assert!(reduction(ReductionKind::Sum, &src, &dst, 0.0, 0.0, &attributes()).is_err());
    let (src, weights, dst) = (f32(&[0, 1, 3, 3]), f32(&[1, 1, 3, 3]), f32(&[0, 1, 1, 1]));
    let shape = ConvolutionShape::dense(2);
    convolution_forward(&src, &weights, None, &dst, &shape, &attributes()).unwrap();
    let gradient = convolution_backward_weights(&src, &weights, None, &dst, &shape, &attributes());
    assert!(gradient.is_err());
}

#[test]
fn what_does_not_fit_is_refused_with_what_was_asked() {
    let error =
        matmul(&f32(&[2, 3]), &f32(&[4, 5]), None, &f32(&[2, 5]), &attributes()).unwrap_err();
    let OnednnError::Refused { call, status, request } = &error else { panic!("{error}") };
    assert_eq!((*call, *status), ("dnnl_matmul_primitive_desc_create", Status::InvalidArguments));
    assert!(request.contains("f32[2, 3]{3, 1} * f32[4, 5]{5, 1}"), "{request}");
    let many = (0..40).fold(Attributes::new(), |all, _| all.sum(1.0));
    assert!(matmul(&f32(&[2, 2]), &f32(&[2, 2]), None, &f32(&[2, 2]), &many).is_err());
}

#[test]
fn operands_must_be_those_of_the_primitive() {
    let primitive = square(4);
    let desc = f32(&[4, 4]);
    let bind = |operands: &[(Argument, MemoryDesc)]| {
        Execution::new(&primitive, operands).unwrap_err().to_string()
    };
    let (src, weights) = ((Argument::Src, desc.clone()), (Argument::Weights, desc));
    assert!(bind(&[src.clone(), weights.clone()]).contains("Dst is missing"));
    assert!(bind(&[src.clone(), src.clone()]).contains("twice"));
    let other = (Argument::Dst, f32(&[2, 8]));
    assert!(bind(&[src.clone(), weights.clone(), other]).contains("made for"));
    let any = (Argument::Dst, MemoryDesc::any(DataType::F32, &[4, 4]).unwrap());
    assert!(bind(&[src, weights, any]).contains("not chosen"));
}

#[test]
fn pointers_must_be_there() {
    let primitive = square(4);
    let (mut execution, _scratch) = bind(&primitive);
    let count = execution.operands().count();
    // SAFETY: refused before any pointer is followed.
    unsafe {
        assert!(execution.run(&pool(), &[]).is_err());
        let nulls = vec![std::ptr::null_mut(); count];
        let error = execution.run(&pool(), &nulls).unwrap_err().to_string();
        assert!(error.contains("null"), "{error}");
    }
}

#[test]
fn a_pool_larger_than_the_primitive_was_made_for_is_refused() {
    let primitive = square(4);
    let (mut execution, mut scratch) = bind(&primitive);
    let mut buffers = [Buffer::new(64), Buffer::new(64), Buffer::new(64)];
    let mut pointers: Vec<*mut u8> = buffers.iter_mut().map(Buffer::pointer).collect();
    pointers.push(scratch.pointer());
    pointers.truncate(execution.operands().count());
    let large = Threadpool::new(Scoped::new(THREADS + 1)).unwrap();
    // SAFETY: refused before any pointer is followed.
    let error = unsafe { execution.run(&large, &pointers) }.unwrap_err().to_string();
    assert!(error.contains("3 threads"), "{error}");
}

#[test]
fn a_task_that_panics_is_an_error_and_the_next_run_is_none() {
    if !Threadpool::is_used() {
        return;
    }
    // Large enough to be shared among threads.
    let primitive = square(256);
    let (mut execution, mut scratch) = bind(&primitive);
    let desc = f32(&[256, 256]);
    let ones = vec![1.0; 256 * 256];
    let (mut a, mut b, mut c) =
        (place(&desc, &ones), place(&desc, &ones), Buffer::new(desc.bytes()));
    let mut pointers = vec![a.pointer(), b.pointer(), c.pointer(), scratch.pointer()];
    pointers.truncate(execution.operands().count());
    let failing = Scoped { count: THREADS, runs: AtomicUsize::new(0), panics_at: Some(1) };
    let failing = Threadpool::new(Arc::new(failing)).unwrap();
    let good = Scoped::new(THREADS);
    let good_pool = Threadpool::new(good.clone()).unwrap();
    // SAFETY: buffers of the operands' sizes that do not overlap.
    unsafe {
        let error = execution.run(&failing, &pointers).unwrap_err();
        assert!(matches!(error, OnednnError::Task { .. }), "{error}");
        execution.run(&good_pool, &pointers).unwrap();
    }
    assert!(good.runs.load(std::sync::atomic::Ordering::Relaxed) > 0, "our threads did the work");
    assert_eq!(values(&desc, &c), vec![256.0; 256 * 256]);
}

#[test]
fn one_primitive_runs_on_several_threads_at_once() {
    let primitive = square(64);
    let desc = f32(&[64, 64]);
    std::thread::scope(|scope| {
        for seed in 1..4 {
            let (primitive, desc) = (&primitive, &desc);
            scope.spawn(move || {
                let factor = f64::from(seed);
                let pool = pool();
                let (mut execution, mut scratch) = bind(primitive);
                let (mut a, mut b) =
                    (place(desc, &vec![factor; 4096]), place(desc, &vec![1.0; 4096]));
                let mut c = Buffer::new(desc.bytes());
                let mut pointers = vec![a.pointer(), b.pointer(), c.pointer(), scratch.pointer()];
                pointers.truncate(execution.operands().count());
                for _ in 0..20 {
                    // SAFETY: buffers of this thread alone.
                    unsafe { execution.run(&pool, &pointers) }.unwrap();
                    assert_eq!(values(desc, &c), vec![64.0 * factor; 4096]);
                }
            });
        }
    });
}
