//! `disk_io`: sequential and random access to a scratch file, at several queue depths.

mod access;
mod buffers;
mod engine;
mod pattern;
mod ring;
mod scratch;
mod threads;
mod verify;
