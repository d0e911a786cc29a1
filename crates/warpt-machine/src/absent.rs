//! The reason for every field that has no value. A record keeps these beside its optional fields, so that a null
//! always says why; the last reason given for a field is the one kept.

use crate::source::Reason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The reason for each field that is null, by field name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Absent(BTreeMap<String, Reason>);

impl Absent {
    /// The value, or null with its reason noted under `field`.
    pub fn take<T>(&mut self, field: &str, result: Result<T, Reason>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(reason) => {
                self.note(field, reason);
                None
            }
        }
    }

    /// Note why `field` is null.
    pub fn note(&mut self, field: &str, reason: impl Into<Reason>) {
        self.0.insert(field.to_owned(), reason.into());
    }

    /// Forget the reason for `field`, which has a value now.
    pub fn clear(&mut self, field: &str) {
        self.0.remove(field);
    }

    /// Why `field` is null, where that is known.
    pub fn reason(&self, field: &str) -> Option<&str> {
        self.0.get(field).map(String::as_str)
    }

    /// Whether no field is absent.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every absent field with its reason, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(field, reason)| (field.as_str(), reason.as_str()))
    }
}
