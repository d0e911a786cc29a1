//! Processes that are threads of this one, and where they meet.
//!
//! Invariants: the nth meeting of a group on a channel is the same for all its members; nobody waits for a process that
//! has ended, nor longer than the time limit.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use warpforge_tensor::Tensor;

use super::collective::Exchange;
use super::place::wrong;
use super::process_group::{Grid, Process};
use crate::EngineError;

/// The most processes one machine is asked to be.
const LARGEST_GRID: u32 = 4096;

/// A channel and a group: what tells meetings apart, besides their number.
type Place = (i64, Vec<Process>);

/// What members have brought, and how many have taken it.
#[derive(Default)]
struct Meeting {
    brought: BTreeMap<Process, Vec<Tensor>>,
    served: usize,
}

#[derive(Default)]
struct State {
    meetings: BTreeMap<(Place, u64), Meeting>,
    /// What was left, by its channel, from whom, for whom.
    mail: BTreeMap<(i64, Process, Process), VecDeque<Vec<Tensor>>>,
    ended: BTreeSet<Process>,
}

struct Hall {
    grid: Grid,
    patience: Duration,
    state: Mutex<State>,
    changed: Condvar,
}

impl Hall {
    /// A thread that panicked leaves nothing half done here.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A process that is a thread; when dropped, nobody waits for it any more.
pub(super) struct Member {
    process: Process,
    hall: Arc<Hall>,
    /// How often this process has been at each place.
    visits: BTreeMap<Place, u64>,
}

/// All processes of a grid, in the order of their replicas, then partitions; each is for a thread of its own.
pub(super) fn members(grid: Grid, patience: Duration) -> Result<Vec<Member>, EngineError> {
    let count = grid.replicas.checked_mul(grid.partitions);
    if count.is_none_or(|count| !(1..=LARGEST_GRID).contains(&count)) {
        return Err(wrong(format!(
            "{} replicas of {} partitions cannot run here",
            grid.replicas, grid.partitions
        )));
    }
    let hall = Arc::new(Hall { grid, patience, state: Mutex::default(), changed: Condvar::new() });
    let member = |process| Member { process, hall: Arc::clone(&hall), visits: BTreeMap::new() };
    Ok(grid.processes().map(member).collect())
}

impl Member {
    fn has_ended(&self, other: Process) -> EngineError {
        EngineError::Left(format!("{} waits for {other}, which has ended", self.process))
    }

    /// Waits for a change, until the deadline at most.
    fn wait<'h>(
        &'h self,
        state: MutexGuard<'h, State>,
        deadline: Instant,
        missing: &str,
    ) -> Result<MutexGuard<'h, State>, EngineError> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let (own, seconds) = (self.process, self.hall.patience.as_secs_f64());
            return Err(EngineError::Left(format!("{own} waited {seconds} seconds for {missing}")));
        }
        let waited = self.hall.changed.wait_timeout(state, left);
        Ok(waited.unwrap_or_else(PoisonError::into_inner).0)
    }
}

impl Exchange for Member {
    fn grid(&self) -> Grid {
        self.hall.grid
    }

    fn process(&self) -> Process {
        self.process
    }

    fn share(
        &mut self,
        channel: i64,
        group: &[Process],
        tensors: &[Tensor],
    ) -> Result<Vec<Vec<Tensor>>, EngineError> {
        if !group.contains(&self.process) {
            return Err(wrong(format!("{} is not in its group", self.process)));
        }
        let place: Place = (channel, group.to_vec());
        let visits = self.visits.entry(place.clone()).or_default();
        let key = (place, *visits);
        *visits += 1;
        let deadline = Instant::now() + self.hall.patience;
        let mut state = self.hall.state();
        let meeting = state.meetings.entry(key.clone()).or_default();
        meeting.brought.insert(self.process, tensors.to_vec());
        self.hall.changed.notify_all();
        loop {
            let State { meetings, ended, .. } = &mut *state;
            let Some(meeting) = meetings.get_mut(&key) else {
                return Err(wrong(format!("{} came to a meeting that is over", self.process)));
            };
            let brought: Option<Vec<Vec<Tensor>>> =
                group.iter().map(|member| meeting.brought.get(member).cloned()).collect();
            if let Some(brought) = brought {
                meeting.served += 1;
                if meeting.served == meeting.brought.len() {
                    meetings.remove(&key);
                }
                return Ok(brought);
            }
            let missing = || group.iter().filter(|member| !meeting.brought.contains_key(*member));
            if let Some(member) = missing().find(|member| ended.contains(*member)) {
                return Err(self.has_ended(*member));
            }
            let names: Vec<String> = missing().map(Process::to_string).collect();
            state = self.wait(state, deadline, &names.join(", "))?;
        }
    }

    fn post(&mut self, channel: i64, to: Process, tensors: Vec<Tensor>) -> Result<(), EngineError> {
        let key = (channel, self.process, to);
        self.hall.state().mail.entry(key).or_default().push_back(tensors);
        self.hall.changed.notify_all();
        Ok(())
    }

    fn fetch(&mut self, channel: i64, from: Process) -> Result<Vec<Tensor>, EngineError> {
        let key = (channel, from, self.process);
        let deadline = Instant::now() + self.hall.patience;
        let mut state = self.hall.state();
        loop {
            if let Some(tensors) = state.mail.get_mut(&key).and_then(VecDeque::pop_front) {
                return Ok(tensors);
            }
            if from == self.process {
                return Err(wrong(format!("{from} has sent itself nothing on channel {channel}")));
            }
            if state.ended.contains(&from) {
                return Err(self.has_ended(from));
            }
            state = self.wait(state, deadline, &from.to_string())?;
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.hall.state().ended.insert(self.process);
        self.hall.changed.notify_all();
    }
}
