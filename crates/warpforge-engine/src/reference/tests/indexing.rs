//! Gathers and scatters against the formulas of the specification.

use warpforge_hlo::ir::{Binary, Gather, Scatter};
use warpforge_tensor::{DType, Tensor};

use super::{Region, counted, drawn, flat, indices, tensor, ty, values};
use crate::reference::indexing::{dynamic_gather, gather, scatter, torch_index_select};

/// Random dimension numbers that fit each other, for gathers and scatters alike.
struct Case {
    operand: Vec<usize>,
    indices: Vec<usize>,
    /// What a slice is along each dimension of the operand.
    slices: Vec<usize>,
    collapsed: Vec<i64>,
    batching: Vec<i64>,
    indices_batching: Vec<i64>,
    map: Vec<i64>,
    vector: usize,
    /// Which dimensions of the result are offsets into slices.
    offsets: Vec<i64>,
    result: Vec<usize>,
}

impl Case {
    fn new(dice: &mut fastrand::Rng) -> Self {
        let rank = dice.usize(1..5);
        let operand: Vec<usize> = (0..rank).map(|_| dice.usize(1..5)).collect();
        let roles: Vec<usize> = (0..rank).map(|_| dice.usize(0..4)).collect();
        let with = |role: usize| -> Vec<i64> {
            (0..rank).filter(|axis| roles[*axis] == role).map(|axis| axis as i64).collect()
        };
        let (collapsed, batching) = (with(0), with(1));
        let slices: Vec<usize> = (0..rank)
            .map(|axis| if roles[axis] < 2 { 1 } else { dice.usize(1..operand[axis] + 1) })
            .collect();
        let mut map: Vec<i64> =
            (0..rank as i64).filter(|axis| !batching.contains(axis) && dice.bool()).collect();
        dice.shuffle(&mut map);
        // The batch dimensions of the indices: those paired with the operand's, and others, in any order.
        let mut batch: Vec<(usize, Option<i64>)> =
            batching.iter().map(|axis| (operand[*axis as usize], Some(*axis))).collect();
        batch.extend((0..dice.usize(0..3)).map(|_| (dice.usize(1..4), None)));
        dice.shuffle(&mut batch);
        let mut shape: Vec<(usize, Option<i64>)> = batch.clone();
        // One index component may do without a dimension of its own.
        let vector = if map.len() == 1 && dice.bool() {
            batch.len()
        } else {
            dice.usize(0..batch.len() + 1)
        };
        let implicit = map.len() == 1 && vector == batch.len() && dice.bool();
        if !implicit {
            shape.insert(vector, (map.len(), None));
        }
        let indices_batching = batching
            .iter()
            .map(|axis| shape.iter().position(|(_, own)| *own == Some(*axis)).unwrap() as i64)
            .collect();
        let kept: Vec<usize> =
            (0..rank).filter(|axis| roles[*axis] >= 2).map(|axis| slices[axis]).collect();
        let result_rank = batch.len() + kept.len();
        let mut places: Vec<i64> = (0..result_rank as i64).collect();
        dice.shuffle(&mut places);
        let mut offsets = places[..kept.len()].to_vec();
        offsets.sort_unstable();
        let (mut windows, mut outer) = (kept.iter(), batch.iter());
        let result = (0..result_rank as i64)
            .map(|axis| match offsets.contains(&axis) {
                true => *windows.next().unwrap(),
                false => outer.next().unwrap().0,
            })
            .collect();
        Self {
            operand,
            indices: shape.iter().map(|(size, _)| *size).collect(),
            slices,
            collapsed,
            batching,
            indices_batching,
            map,
            vector,
            offsets,
            result,
        }
    }

    /// Indices that also lie outside.
    fn index_tensor(&self, dice: &mut fastrand::Rng) -> Tensor {
        let count: usize = self.indices.iter().product();
        let values: Vec<f64> = (0..count).map(|_| f64::from(dice.i32(-2..6))).collect();
        tensor(DType::I32, &self.indices, &values)
    }

    /// The place in the operand that a place in the result stands for, by the formulas of the specification; starts are
    /// clamped for a gather.
    fn operand_index(&self, result: &[usize], starts: &[f64], clamp: bool) -> Vec<i64> {
        let offset: Vec<usize> = self.offsets.iter().map(|axis| result[*axis as usize]).collect();
        let batch: Vec<usize> = (0..result.len())
            .filter(|axis| !self.offsets.contains(&(*axis as i64)))
            .map(|axis| result[axis])
            .collect();
        let mut windows = offset.iter();
        (0..self.operand.len())
            .map(|axis| {
                let own = axis as i64;
                let start =
                    self.map.iter().position(|mapped| *mapped == own).map_or(0, |component| {
                        let mut index = batch.clone();
                        if self.vector < self.indices.len() {
                            index.insert(self.vector, component);
                        }
                        let start = starts[flat(&index, &self.indices)] as i64;
                        let last = (self.operand[axis] - self.slices[axis]) as i64;
                        if clamp { start.clamp(0, last) } else { start }
                    });
                let batching =
                    self.batching.iter().position(|batched| *batched == own).map_or(0, |place| {
                        let axis = self.indices_batching[place] as usize;
                        batch[axis - usize::from(axis >= self.vector)] as i64
                    });
                let dropped = self.collapsed.contains(&own) || self.batching.contains(&own);
                let offset = if dropped { 0 } else { *windows.next().unwrap() as i64 };
                start + batching + offset
            })
            .collect()
    }
}

#[test]
fn any_gather_is_as_defined() {
    let mut dice = fastrand::Rng::with_seed(6);
    for _ in 0..500 {
        let case = Case::new(&mut dice);
        let operand = counted(DType::I32, &case.operand);
        let starts = case.index_tensor(&mut dice);
        let (from, at) = (values(&operand), values(&starts));
        let expected: Vec<f64> = indices(&case.result)
            .into_iter()
            .map(|index| {
                let place = case.operand_index(&index, &at, true);
                let place: Vec<usize> = place.into_iter().map(|place| place as usize).collect();
                from[flat(&place, &case.operand)]
            })
            .collect();
        let numbers = Gather {
            offset_dims: case.offsets.clone(),
            collapsed_slice_dims: case.collapsed.clone(),
            operand_batching_dims: case.batching.clone(),
            start_indices_batching_dims: case.indices_batching.clone(),
            start_index_map: case.map.clone(),
            index_vector_dim: case.vector as i64,
            slice_sizes: case.slices.iter().map(|size| *size as i64).collect(),
            indices_are_sorted: false,
        };
        let result = ty(DType::I32, &case.result);
        let found = gather(&numbers, &operand, &starts, &result).unwrap();
        assert_eq!(values(&found), expected, "{numbers:?}");
        let sizes: Vec<f64> = case.slices.iter().map(|size| *size as f64).collect();
        let sizes = tensor(DType::I64, &[sizes.len()], &sizes);
        assert_eq!(dynamic_gather(&numbers, &operand, &starts, &sizes, &result), Ok(found));
    }
}

#[test]
fn any_scatter_is_as_defined() {
    let mut dice = fastrand::Rng::with_seed(7);
    for _ in 0..500 {
        let case = Case::new(&mut dice);
        let input = drawn(DType::F32, &case.operand, &mut dice);
        let starts = case.index_tensor(&mut dice);
        let update = drawn(DType::F32, &case.result, &mut dice);
        let (at, updates) = (values(&starts), values(&update));
        let mut expected = values(&input);
        for index in indices(&case.result) {
            let place = case.operand_index(&index, &at, false);
            let inside =
                place.iter().zip(&case.operand).all(|(own, size)| *own >= 0 && *own < *size as i64);
            if inside {
                let place: Vec<usize> = place.into_iter().map(|place| place as usize).collect();
                expected[flat(&place, &case.operand)] += updates[flat(&index, &case.result)];
            }
        }
        let numbers = Scatter {
            update_window_dims: case.offsets.clone(),
            inserted_window_dims: case.collapsed.clone(),
            input_batching_dims: case.batching.clone(),
            scatter_indices_batching_dims: case.indices_batching.clone(),
            scatter_dims_to_operand_dims: case.map.clone(),
            index_vector_dim: case.vector as i64,
            ..Scatter::default()
        };
        let operands = [input, starts, update];
        let result = ty(DType::F32, &case.operand);
        for mut body in [Region::known(Binary::Add), Region::of(|a| vec![a[0] + a[1]])] {
            let found = scatter(&numbers, &operands, &[&result], &mut body).unwrap();
            assert_eq!(values(&found[0]), expected, "{numbers:?}");
        }
    }
}

#[test]
fn starts_are_moved_inside_whatever_their_type() {
    let numbers = Gather {
        offset_dims: vec![0],
        start_index_map: vec![0],
        slice_sizes: vec![2],
        ..Gather::default()
    };
    let operand = counted(DType::F32, &[5]);
    let result = ty(DType::F32, &[2]);
    let at = |dtype: DType, place: f64| {
        let found = gather(&numbers, &operand, &tensor(dtype, &[1], &[place]), &result).unwrap();
        values(&found)[0]
    };
    assert_eq!([at(DType::I32, -7.0), at(DType::I32, 2.0), at(DType::I64, 9.0)], [0.0, 2.0, 3.0]);
    // The bits of -1 are the largest ui64.
    assert_eq!([at(DType::U64, -1.0), at(DType::U8, 255.0)], [3.0, 3.0]);
}

#[test]
fn updates_come_in_order_and_several_inputs_together() {
    let numbers = Scatter {
        inserted_window_dims: vec![0],
        scatter_dims_to_operand_dims: vec![0],
        index_vector_dim: 1,
        ..Scatter::default()
    };
    let operands = [
        counted(DType::F32, &[3]),
        counted(DType::I32, &[3]),
        tensor(DType::I32, &[4], &[1.0, 1.0, 7.0, -1.0]),
        tensor(DType::F32, &[4], &[10.0, 20.0, 30.0, 40.0]),
        tensor(DType::I32, &[4], &[5.0, 6.0, 7.0, 8.0]),
    ];
    let results = [&ty(DType::F32, &[3]), &ty(DType::I32, &[3])];
    // The second argument of each replaces the first.
    let mut body = Region::of(|a| vec![a[2], a[1] * 10.0 + a[3]]);
    let found = scatter(&numbers, &operands, &results, &mut body).unwrap();
    assert_eq!(
        (values(&found[0]), values(&found[1])),
        (vec![0.0, 20.0, 2.0], vec![0.0, 156.0, 2.0])
    );
}

#[test]
fn rows_are_selected_by_an_index() {
    let operand = counted(DType::F32, &[3, 2]);
    let index = tensor(DType::I32, &[2, 1], &[2.0, 0.0]);
    let found = torch_index_select(0, 0, &operand, &index, &ty(DType::F32, &[2, 1, 2])).unwrap();
    assert_eq!(values(&found), [4.0, 5.0, 0.0, 1.0]);
    let columns = tensor(DType::I32, &[1], &[1.0]);
    let found = torch_index_select(1, 0, &operand, &columns, &ty(DType::F32, &[3, 1])).unwrap();
    assert_eq!(values(&found), [1.0, 3.0, 5.0]);
    // One index for each batch.
    let index = tensor(DType::I32, &[3, 2], &[0.0, 1.0, 1.0, 1.0, 0.0, 0.0]);
    let found = torch_index_select(1, 1, &operand, &index, &ty(DType::F32, &[3, 2])).unwrap();
    assert_eq!(values(&found), [0.0, 1.0, 3.0, 3.0, 4.0, 4.0]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let numbers = Gather {
        offset_dims: vec![0],
        start_index_map: vec![0],
        slice_sizes: vec![2],
        ..Gather::default()
    };
    let (operand, starts) = (counted(DType::F32, &[5]), counted(DType::I32, &[1]));
    assert!(gather(&numbers, &operand, &starts, &ty(DType::F32, &[3])).is_err());
    let large = Gather { slice_sizes: vec![6], ..numbers.clone() };
    assert!(gather(&large, &operand, &starts, &ty(DType::F32, &[6])).is_err());
    let mapped = Gather { start_index_map: vec![1], ..numbers.clone() };
    assert!(gather(&mapped, &operand, &starts, &ty(DType::F32, &[2])).is_err());
    let empty = Gather {
        collapsed_slice_dims: vec![0],
        offset_dims: vec![],
        slice_sizes: vec![0],
        ..numbers
    };
    assert!(gather(&empty, &counted(DType::F32, &[0]), &starts, &ty(DType::F32, &[])).is_err());
    let result = ty(DType::F32, &[5]);
    let operands = [operand, starts];
    assert!(
        scatter(&Scatter::default(), &operands, &[&result], &mut Region::known(Binary::Add))
            .is_err()
    );
}
