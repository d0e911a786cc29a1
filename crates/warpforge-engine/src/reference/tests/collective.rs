//! Ops across processes that are threads.

use std::slice::from_ref;
use std::time::{Duration, Instant};

use warpforge_hlo::ir::{Binary, Channel, Group};
use warpforge_hlo::types::TensorType;
use warpforge_tensor::{DType, Tensor};

use super::{Region, tensor, ty, values};
use crate::EngineError;
use crate::reference::collective::{
    Exchange, Splits, all_gather, all_reduce, all_to_all, collective_broadcast, collective_permute,
    partition_id, reduce_scatter, replica_id,
};
use crate::reference::process_group::Grid;
use crate::reference::rendezvous::{Member, members};

/// What each process of a grid computes, in the order of the processes.
fn run<T: Send>(
    (replicas, partitions): (u32, u32),
    program: impl Fn(usize, &mut Member) -> T + Sync,
) -> Vec<T> {
    let members = members(Grid { replicas, partitions }, Duration::from_secs(20)).unwrap();
    std::thread::scope(|scope| {
        let program = &program;
        let threads: Vec<_> = members
            .into_iter()
            .enumerate()
            .map(|(number, mut member)| scope.spawn(move || program(number, &mut member)))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn group(rows: &[&[i64]], channel: i64, global: bool) -> Group {
    Group {
        replica_groups: rows.iter().map(|row| row.to_vec()).collect(),
        channel: Some(Channel { handle: channel, kind: 0 }),
        use_global_device_ids: global,
    }
}

/// The values of the first result of each process.
fn firsts(results: Vec<Result<Vec<Tensor>, EngineError>>) -> Vec<Vec<f64>> {
    results.into_iter().map(|result| values(&result.unwrap()[0])).collect()
}

/// A row of as many numbers, ten times the process's own and counted up.
fn own(number: usize, sizes: &[usize]) -> Tensor {
    let count = sizes.iter().product::<usize>();
    tensor(
        DType::I64,
        sizes,
        &(0..count).map(|place| (10 * number + place) as f64).collect::<Vec<_>>(),
    )
}

fn to(sizes: &[usize]) -> TensorType {
    ty(DType::I64, sizes)
}

#[test]
fn gathering_joins_in_the_order_of_the_group() {
    let group = group(&[&[1, 0]], 0, false);
    let found = run((2, 1), |number, member| {
        all_gather(1, &group, &[own(number, &[2, 2])], &[&to(&[2, 4])], member)
    });
    let expected = [10.0, 11.0, 0.0, 1.0, 12.0, 13.0, 2.0, 3.0];
    assert_eq!(firsts(found), [expected, expected]);
}

#[test]
fn reductions_reach_what_their_strategy_says() {
    let reduce = |group: &Group| {
        firsts(run((2, 2), |number, member| {
            let power = tensor(DType::I64, &[1], &[(1 << number) as f64]);
            let mut body = Region::known(Binary::Add);
            all_reduce(group, &[power], &[&to(&[1])], &mut body, member)
        }))
        .concat()
    };
    // Processes count through the partitions of each replica.
    assert_eq!(reduce(&group(&[&[0, 1]], 0, false)), [5.0, 10.0, 5.0, 10.0]);
    assert_eq!(reduce(&group(&[&[0], &[1]], 1, false)), [3.0, 3.0, 12.0, 12.0]);
    assert_eq!(reduce(&group(&[&[0, 3], &[1, 2]], 1, true)), [9.0, 6.0, 6.0, 9.0]);
    assert_eq!(reduce(&group(&[], 1, true)), [15.0; 4]);
}

#[test]
fn any_region_reduces_in_the_order_of_the_group() {
    let group = group(&[&[2, 0, 1]], 0, false);
    let found = run((3, 1), |number, member| {
        let operand = tensor(DType::I64, &[1], &[number as f64 + 1.0]);
        let mut body = Region::of(|a| vec![10.0 * a[0] + a[1]]);
        all_reduce(&group, &[operand], &[&to(&[1])], &mut body, member)
    });
    assert_eq!(firsts(found), [[312.0]; 3]);
}

#[test]
fn the_specifications_examples_of_moving() {
    let rows = group(&[&[0, 1]], 0, false);
    let found = run((2, 1), |number, member| {
        let first = 1.0 + 8.0 * number as f64;
        let list: Vec<f64> = (0..8).map(|place| first + f64::from(place)).collect();
        let operand = tensor(DType::I64, &[2, 4], &list);
        let mut body = Region::known(Binary::Add);
        let part = reduce_scatter(1, &rows, &operand, &to(&[2, 2]), &mut body, member).unwrap();
        let splits = Splits { split_dimension: 1, concat_dimension: 0, split_count: 2 };
        let moved = all_to_all(splits, &rows, &[operand], &[&to(&[4, 2])], member).unwrap();
        (values(&part), values(&moved[0]))
    });
    assert_eq!(found[0].0, [10.0, 12.0, 18.0, 20.0]);
    assert_eq!(found[1].0, [14.0, 16.0, 22.0, 24.0]);
    assert_eq!(found[0].1, [1.0, 2.0, 5.0, 6.0, 9.0, 10.0, 13.0, 14.0]);
    assert_eq!(found[1].1, [3.0, 4.0, 7.0, 8.0, 11.0, 12.0, 15.0, 16.0]);
    let some = group(&[&[2, 1]], 0, false);
    let found = run((4, 1), |number, member| {
        collective_broadcast(&some, &[own(number, &[2])], &[&to(&[2])], member)
    });
    assert_eq!(firsts(found), [[0.0, 0.0], [20.0, 21.0], [20.0, 21.0], [0.0, 0.0]]);
    let found = run((3, 1), |number, member| {
        collective_permute(&[(0, 1), (1, 2)], None, &[own(number, &[2])], &[&to(&[2])], member)
    });
    assert_eq!(firsts(found), [[0.0, 0.0], [0.0, 1.0], [10.0, 11.0]]);
}

#[test]
fn permutations_stay_within_their_partition_or_replica() {
    let pairs = [(0, 1), (1, 0)];
    let move_over = |channel: i64| {
        firsts(run((2, 2), |number, member| {
            let channel = Some(Channel { handle: channel, kind: 0 });
            collective_permute(&pairs, channel, &[own(number, &[1])], &[&to(&[1])], member)
        }))
        .concat()
    };
    assert_eq!(move_over(0), [20.0, 30.0, 0.0, 10.0]);
    assert_eq!(move_over(1), [10.0, 0.0, 30.0, 20.0]);
    let none = run((2, 1), |number, member| {
        collective_permute(&[], None, &[own(number, &[1])], &[&to(&[1])], member)
    });
    assert_eq!(firsts(none), [[0.0], [0.0]]);
}

#[test]
fn each_process_knows_its_place() {
    let found = run((2, 3), |_, member| {
        (values(&replica_id(member).unwrap())[0], values(&partition_id(member).unwrap())[0])
    });
    assert_eq!(found, [(0.0, 0.0), (0.0, 1.0), (0.0, 2.0), (1.0, 0.0), (1.0, 1.0), (1.0, 2.0)]);
}

#[test]
fn many_meetings_of_many_groups_do_not_mix() {
    let (all, pairs) = (group(&[&[0, 1, 2, 3]], 0, false), group(&[&[0, 1], &[2, 3]], 0, false));
    let found = run((4, 1), |number, member| {
        let mut sum = tensor(DType::I64, &[1], &[number as f64]);
        for round in 0..50 {
            let group = if round % 3 == 0 { &all } else { &pairs };
            let mut body = Region::known(Binary::Maximum);
            sum = all_reduce(group, &[sum], &[&to(&[1])], &mut body, member).unwrap().remove(0);
        }
        values(&sum)
    });
    assert_eq!(found, [[3.0]; 4]);
}

#[test]
fn nobody_waits_for_ever() {
    // The second process ends without meeting the first.
    let started = Instant::now();
    let group = group(&[&[0, 1]], 0, false);
    let found = run((2, 1), |number, member| {
        if number == 1 {
            return Ok(vec![]);
        }
        all_gather(0, &group, &[own(0, &[1])], &[&to(&[2])], member)
    });
    let error = found[0].clone().unwrap_err().to_string();
    assert_eq!(error, "process (0, 0) waits for process (1, 0), which has ended");
    assert!(started.elapsed() < Duration::from_secs(15));
    // Both wait, each for another meeting.
    let mut both = members(Grid { replicas: 2, partitions: 1 }, Duration::from_millis(50)).unwrap();
    let places = [both[0].process(), both[1].process()];
    let error = both[0].share(7, &places, &[]).unwrap_err().to_string();
    assert_eq!(error, "process (0, 0) waited 0.05 seconds for process (1, 0)");
    assert!(members(Grid { replicas: 0, partitions: 1 }, Duration::ZERO).is_err());
    assert!(members(Grid { replicas: 1 << 16, partitions: 1 << 16 }, Duration::ZERO).is_err());
}

#[test]
fn groups_that_do_not_fit_are_refused() {
    let errors = run((2, 1), |number, member| {
        let operand = own(number, &[1]);
        let mut body = Region::known(Binary::Add);
        let far = group(&[&[0, 5]], 0, false);
        assert!(all_reduce(&far, from_ref(&operand), &[&to(&[1])], &mut body, member).is_err());
        let unsaid = group(&[&[0, 1]], 0, true);
        assert!(all_reduce(&unsaid, from_ref(&operand), &[&to(&[1])], &mut body, member).is_err());
        // Each brings another shape.
        let both = group(&[&[0, 1]], 0, false);
        let operand = own(0, &[number + 1]);
        all_reduce(&both, &[operand], &[&to(&[1])], &mut body, member)
    });
    assert!(errors.iter().all(Result::is_err));
}
