//! Two records side by side: aligned by benchmark, parameters and metric, with what differs between their machines.
