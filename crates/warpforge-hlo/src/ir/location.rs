//! Where ops come from in the user's model, as the exporter wrote it down.

/// A location, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LocationId(pub u32);

/// A place in the user's model.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Location {
    Unknown,
    /// A name, and where that name stands.
    Name {
        name: String,
        child: Option<LocationId>,
    },
    /// A place in a file; with an end when it is a range.
    File {
        file: String,
        line: u64,
        column: u64,
        end: Option<(u64, u64)>,
    },
    /// A place that was called from another.
    CallSite {
        callee: LocationId,
        caller: LocationId,
    },
    /// Several places at once, with what the exporter said of them.
    Fused {
        metadata: Option<String>,
        parts: Vec<LocationId>,
    },
}

/// All locations of a program. Invariant: a location refers only to ones with a smaller number, so following them ends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Locations(pub Vec<Location>);

impl Locations {
    /// The location of this number.
    pub fn get(&self, id: LocationId) -> Option<&Location> {
        self.0.get(id.0 as usize)
    }

    /// Adds a location; the caller has made sure that its parts come before it.
    pub fn add(&mut self, location: Location) -> LocationId {
        self.0.push(location);
        LocationId((self.0.len() - 1) as u32)
    }

    /// The name nearest to an op: its own, that of the call, or that of the first part that has one.
    pub fn name(&self, id: LocationId) -> Option<&str> {
        // Chains of calls can be as long as a stranger likes, so this is a loop.
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            match self.get(id)? {
                Location::Name { name, .. } => return Some(name),
                Location::CallSite { callee, caller } => open.extend([*caller, *callee]),
                Location::Fused { parts, .. } => open.extend(parts.iter().rev()),
                Location::Unknown | Location::File { .. } => {}
            }
        }
        None
    }
}
