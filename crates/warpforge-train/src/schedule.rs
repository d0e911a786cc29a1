//! The learning rate over time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::TrainError;

/// How the learning rate goes after the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleKind {
    /// It stays.
    Constant,
    /// It falls in a straight line, to zero after the last step.
    Linear,
}

/// The learning rate of each step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Schedule {
    /// The rate after the warm-up.
    pub learning_rate: f64,
    /// What follows the warm-up.
    pub kind: ScheduleKind,
    /// Steps over which it rises at first.
    pub warmup_steps: u64,
}

impl Schedule {
    /// Refuses what makes no sense for so many steps.
    pub fn check(&self, steps: u64) -> Result<(), TrainError> {
        if !(self.learning_rate.is_finite() && self.learning_rate >= 0.0) {
            let rate = self.learning_rate;
            return Err(TrainError::Settings(format!("{rate} cannot be a learning rate")));
        }
        if self.warmup_steps >= steps {
            let warmup = self.warmup_steps;
            return Err(TrainError::Settings(format!(
                "a warm-up of {warmup} steps leaves nothing of {steps}"
            )));
        }
        Ok(())
    }

    /// The rate of a step, from 0, of so many.
    pub fn rate(&self, step: u64, steps: u64) -> f64 {
        if step < self.warmup_steps {
            return self.learning_rate * (step + 1) as f64 / (self.warmup_steps + 1) as f64;
        }
        match self.kind {
            ScheduleKind::Constant => self.learning_rate,
            ScheduleKind::Linear => {
                let left = steps.saturating_sub(step) as f64;
                self.learning_rate * left / steps.saturating_sub(self.warmup_steps).max(1) as f64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_rises_and_falls() {
        let linear = Schedule { learning_rate: 1.0, kind: ScheduleKind::Linear, warmup_steps: 3 };
        let rates: Vec<f64> = (0..8).map(|step| linear.rate(step, 8)).collect();
        assert_eq!(rates, [0.25, 0.5, 0.75, 1.0, 0.8, 0.6, 0.4, 0.2]);
        let constant = Schedule { kind: ScheduleKind::Constant, ..linear };
        assert_eq!(constant.rate(7, 8), 1.0);
        assert!(linear.check(3).unwrap_err().to_string().contains("leaves nothing of 3"));
        assert!(linear.check(4).is_ok());
    }
}
