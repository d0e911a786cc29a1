//! The form every part of the inventory has: optional fields, the reason for each one that is absent, and the
//! unknown fields of records written by other versions. `facts!` defines such a struct together with its
//! readings, in which every field is a `Result`; settling the readings is the only way sections are built, so
//! a null field without a reason cannot come out of a collection.

pub use crate::absent::Absent;

use crate::source::Reason;

/// Defines a struct of optional facts and its readings (see the module documentation).
macro_rules! facts {
    (
        $(#[$meta:meta])*
        pub struct $name:ident, read as $readings:ident {
            $($(#[$field_meta:meta])* $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(default)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: Option<$type>,)*
            /// The reason for each null field.
            #[serde(skip_serializing_if = "crate::inventory::Absent::is_empty")]
            pub absent: crate::inventory::Absent,
            /// Fields this version does not know, kept as they were read.
            #[serde(flatten)]
            pub extra: serde_json::Map<String, serde_json::Value>,
        }

        #[doc = concat!("The readings a `", stringify!($name), "` is settled from.")]
        pub(crate) struct $readings {
            $(pub(crate) $field: Result<$type, crate::source::Reason>,)*
        }

        impl $readings {
            /// Values where there are any, reasons where there are none.
            pub(crate) fn settle(self) -> $name {
                let mut absent = crate::inventory::Absent::default();
                $(let $field = absent.take(stringify!($field), self.$field);)*
                $name { $($field,)* absent, extra: serde_json::Map::new() }
            }
        }
    };
}
pub(crate) use facts;

/// A reading that has a value or does not, with the sentence for the second case.
pub(crate) fn or_reason<T>(value: Option<T>, reason: impl Into<Reason>) -> Result<T, Reason> {
    value.ok_or_else(|| reason.into())
}

/// A list that must hold something to count as read.
pub(crate) fn non_empty<T>(list: Vec<T>, reason: impl Into<Reason>) -> Result<Vec<T>, Reason> {
    if list.is_empty() { Err(reason.into()) } else { Ok(list) }
}

/// Text that must hold something other than white space or firmware filler to count as read.
pub(crate) fn meaningful(text: Result<String, Reason>, source: &str) -> Result<String, Reason> {
    const FILLER: [&str; 9] = [
        "to be filled by o.e.m.",
        "not specified",
        "default string",
        "system serial number",
        "none",
        "unknown",
        "not provided",
        "no dimm",
        "no module installed",
    ];
    let text = text?;
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err(format!("{source} is empty"));
    }
    if FILLER.contains(&trimmed.to_ascii_lowercase().as_str()) {
        return Err(format!("{source} holds only filler ({trimmed:?})"));
    }
    Ok(trimmed.to_owned())
}
