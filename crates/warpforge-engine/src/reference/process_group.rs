//! The processes of a program that runs many times at once: their grid, and how ops split it into groups.

use std::fmt;

use super::place::wrong;
use crate::EngineError;

/// How many processes there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// Copies of the program.
    pub replicas: u32,
    /// Parts of each copy.
    pub partitions: u32,
}

impl Grid {
    /// A program that runs once.
    pub const ONE: Self = Self { replicas: 1, partitions: 1 };

    /// All processes: replicas in order, the partitions of each in order.
    pub fn processes(self) -> impl Iterator<Item = Process> {
        let of_replica = move |replica| {
            (0..self.partitions).map(move |partition| Process { replica, partition })
        };
        (0..self.replicas).flat_map(of_replica)
    }
}

/// A process, by its place in the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Process {
    /// Which copy of the program.
    pub replica: u32,
    /// Which part of it.
    pub partition: u32,
}

impl fmt::Display for Process {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "process ({}, {})", self.replica, self.partition)
    }
}

/// What the numbers in the groups of an op mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strategy {
    /// Replicas; each partition has groups of its own.
    CrossReplica,
    /// Partitions; each replica has groups of its own.
    CrossPartition,
    /// Replicas, with all their partitions.
    CrossReplicaAndPartition,
    /// Processes, counted through all partitions of each replica.
    FlattenedIds,
}

/// The groups of processes that rows of numbers stand for; -1 fills shorter rows, and no rows are one group of all.
pub(super) fn process_groups(
    rows: &[Vec<i64>],
    strategy: Strategy,
    grid: Grid,
) -> Result<Vec<Vec<Process>>, EngineError> {
    let Grid { replicas, partitions } = grid;
    let limit = match strategy {
        Strategy::CrossReplica | Strategy::CrossReplicaAndPartition => replicas,
        Strategy::CrossPartition => partitions,
        Strategy::FlattenedIds => {
            replicas.checked_mul(partitions).ok_or_else(|| wrong("there are too many processes"))?
        }
    };
    let mut numbered = Vec::with_capacity(rows.len());
    for row in rows {
        let mut group = Vec::with_capacity(row.len());
        for number in row.iter().filter(|number| **number != -1) {
            let number = u32::try_from(*number).ok().filter(|number| *number < limit);
            group.push(number.ok_or_else(|| {
                wrong(format!("the groups {rows:?} name processes that are none of {limit}"))
            })?);
        }
        numbered.push(group);
    }
    if numbered.iter().all(Vec::is_empty) {
        numbered = vec![(0..limit).collect()];
    }
    let process = |replica: u32, partition: u32| Process { replica, partition };
    let mut groups = Vec::new();
    for group in &numbered {
        match strategy {
            Strategy::CrossReplica => groups.extend((0..partitions).map(|partition| {
                group.iter().map(|replica| process(*replica, partition)).collect::<Vec<_>>()
            })),
            Strategy::CrossPartition => groups.extend((0..replicas).map(|replica| {
                group.iter().map(|partition| process(replica, *partition)).collect::<Vec<_>>()
            })),
            Strategy::CrossReplicaAndPartition => groups.push(
                (0..partitions)
                    .flat_map(|partition| {
                        group.iter().map(move |number| process(*number, partition))
                    })
                    .collect(),
            ),
            Strategy::FlattenedIds => groups
                .push(group.iter().map(|id| process(id / partitions, id % partitions)).collect()),
        }
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The groups as pairs, for comparison with the specification's examples.
    fn groups(rows: &[&[i64]], strategy: Strategy, grid: (u32, u32)) -> Vec<Vec<(u32, u32)>> {
        let rows: Vec<Vec<i64>> = rows.iter().map(|row| row.to_vec()).collect();
        let grid = Grid { replicas: grid.0, partitions: grid.1 };
        let groups = process_groups(&rows, strategy, grid).unwrap();
        let pairs = |group: Vec<Process>| {
            group.into_iter().map(|process| (process.replica, process.partition)).collect()
        };
        groups.into_iter().map(pairs).collect()
    }

    #[test]
    fn groups_are_those_of_the_specification() {
        let rows: &[&[i64]] = &[&[0, 1], &[2, 3]];
        assert_eq!(
            groups(rows, Strategy::CrossReplica, (4, 2)),
            [[(0, 0), (1, 0)], [(0, 1), (1, 1)], [(2, 0), (3, 0)], [(2, 1), (3, 1)]]
        );
        assert_eq!(
            groups(&[&[0, 1]], Strategy::CrossPartition, (4, 2)),
            [[(0, 0), (0, 1)], [(1, 0), (1, 1)], [(2, 0), (2, 1)], [(3, 0), (3, 1)]]
        );
        assert_eq!(
            groups(rows, Strategy::CrossReplicaAndPartition, (4, 2)),
            [[(0, 0), (1, 0), (0, 1), (1, 1)], [(2, 0), (3, 0), (2, 1), (3, 1)]]
        );
        assert_eq!(
            groups(&[&[0, 1, 2, 3], &[4, 5, 6, 7]], Strategy::FlattenedIds, (4, 2)),
            [[(0, 0), (0, 1), (1, 0), (1, 1)], [(2, 0), (2, 1), (3, 0), (3, 1)]]
        );
    }

    #[test]
    fn rows_may_be_shorter_or_missing_but_name_processes() {
        assert_eq!(
            groups(&[&[0, 1], &[2, -1]], Strategy::CrossReplica, (3, 1)),
            [vec![(0, 0), (1, 0)], vec![(2, 0)]]
        );
        assert_eq!(groups(&[], Strategy::CrossReplica, (2, 1)), [[(0, 0), (1, 0)]]);
        let grid = Grid { replicas: 2, partitions: 1 };
        assert!(process_groups(&[vec![2]], Strategy::CrossReplica, grid).is_err());
        assert!(process_groups(&[vec![-2]], Strategy::CrossReplica, grid).is_err());
    }
}
