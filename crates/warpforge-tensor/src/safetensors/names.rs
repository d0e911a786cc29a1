//! The names of element types in files of the safetensors format.

use crate::DType;

/// Every type that both sides know. Plain `F8_E4M3` is the finite variant: it is what the format's writers store there.
const NAMES: [(&str, DType); 19] = [
    ("BOOL", DType::I1),
    ("I8", DType::I8),
    ("I16", DType::I16),
    ("I32", DType::I32),
    ("I64", DType::I64),
    ("U8", DType::U8),
    ("U16", DType::U16),
    ("U32", DType::U32),
    ("U64", DType::U64),
    ("F8_E4M3", DType::F8E4M3FN),
    ("F8_E4M3FNUZ", DType::F8E4M3FNUZ),
    ("F8_E5M2", DType::F8E5M2),
    ("F8_E5M2FNUZ", DType::F8E5M2FNUZ),
    ("F8_E8M0", DType::F8E8M0FNU),
    ("BF16", DType::BF16),
    ("F16", DType::F16),
    ("F32", DType::F32),
    ("F64", DType::F64),
    ("C64", DType::C64),
];

/// The name of a type in a file; the reason where the format has none.
pub fn dtype_name(dtype: DType) -> Result<&'static str, String> {
    let known = NAMES.into_iter().find(|(_, other)| *other == dtype);
    known.map(|(name, _)| name).ok_or_else(|| {
        let instead = match dtype {
            DType::I2 | DType::I4 => "convert it to i8 first",
            DType::U2 | DType::U4 => "convert it to ui8 first",
            DType::C128 => "store its parts as two tensors of f64",
            _ => "convert it to bf16 or f32 first, which hold it exactly",
        };
        format!("the safetensors format has no type for {dtype}; {instead}")
    })
}

/// The type of a name in a file; the reason where it cannot be read.
pub fn dtype_of(name: &str) -> Result<DType, String> {
    if let Some((_, dtype)) = NAMES.into_iter().find(|(known, _)| *known == name) {
        return Ok(dtype);
    }
    Err(match name {
        "F4" | "F6_E2M3" | "F6_E3M2" => {
            format!("elements of {name} lie packed across bytes, which is not supported")
        }
        _ => format!("unknown element type {name:?}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_a_name_or_a_reason() {
        for dtype in DType::ALL {
            match dtype_name(dtype) {
                Ok(name) => assert_eq!(dtype_of(name), Ok(dtype)),
                Err(reason) => assert!(reason.contains(dtype.name()), "{reason}"),
            }
        }
        assert!(dtype_of("F6_E2M3").unwrap_err().contains("packed"));
        assert_eq!(dtype_of("F31"), Err("unknown element type \"F31\"".to_owned()));
    }
}
