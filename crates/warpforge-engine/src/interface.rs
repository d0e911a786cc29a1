//! What a function takes and gives, by name, and inputs made up for it.

use std::collections::HashSet;

use warpforge_hlo::Attribute;
use warpforge_hlo::attribute::Attributes;
use warpforge_hlo::ir::Function;
use warpforge_hlo::types::{TensorType, Type};
use warpforge_tensor::{Complex64, DType, Elements, Kind, Tensor};

use crate::EngineError;
use crate::reference::Value;

/// An argument or a result of a function.
#[derive(Debug, Clone, PartialEq)]
pub struct Port {
    /// Its name: what the exporter called it, else that of the value in the text; different from all others.
    pub name: String,
    /// Its name by its place: `arg0` or `result0`.
    pub place: String,
    /// Its type.
    pub ty: Type,
}

/// The arguments of a function.
pub fn arguments(function: &Function) -> Vec<Port> {
    let named = function.arguments.iter().map(|argument| {
        let value = &function.values[argument.value.index()];
        let name = stated(&argument.attributes, &["warpforge.name", "jax.arg_info"])
            .unwrap_or_else(|| value.name.to_string());
        (name, value.ty.clone())
    });
    ports("arg", named.collect())
}

/// For each argument the result that takes its place: what exporters write for a donated one. Only where both are of one
/// type, and no other argument gives its place to the same result.
pub fn replaced(function: &Function) -> Vec<Option<usize>> {
    let mut taken = HashSet::new();
    let of = |argument: &warpforge_hlo::ir::Argument| {
        let Some(Attribute::Integer { value, .. }) = argument.attributes.get("tf.aliasing_output")
        else {
            return None;
        };
        let place = usize::try_from(*value).ok()?;
        let same = function.results.get(place)?.ty == *function.ty(argument.value);
        (same && taken.insert(place)).then_some(place)
    };
    function.arguments.iter().map(of).collect()
}

/// What every element of an argument is at first, where the exporter says so: the state of an optimizer, and its rate.
pub fn initial(function: &Function, place: usize) -> Option<Result<Value, EngineError>> {
    let argument = function.arguments.get(place)?;
    let Some(Attribute::Float { value, .. }) = argument.attributes.get("warpforge.initial") else {
        return None;
    };
    let ty = function.ty(argument.value).tensor()?;
    let (shape, dtype) = (ty.shape()?, ty.storage());
    if !dtype.is_float() {
        return None;
    }
    if *value == 0.0 {
        return Some(Ok(Value::Tensor(Tensor::zeros(dtype, shape))));
    }
    let elements = vec![*value; shape.elements()];
    Some(Tensor::from_floats(dtype, shape, elements).map(Value::Tensor).map_err(Into::into))
}

/// The results of a function.
pub fn results(function: &Function) -> Vec<Port> {
    let named = function.results.iter().enumerate().map(|(index, result)| {
        let name = stated(&result.attributes, &["warpforge.name", "jax.result_info"])
            .unwrap_or_else(|| format!("result{index}"));
        (name, result.ty.clone())
    });
    ports("result", named.collect())
}

fn stated(attributes: &Attributes, keys: &[&str]) -> Option<String> {
    keys.iter()
        .filter_map(|key| attributes.get(key).and_then(Attribute::as_text))
        .find(|name| !name.is_empty())
        .map(str::to_owned)
}

/// A name that occurs twice gives way to the place.
fn ports(prefix: &str, named: Vec<(String, Type)>) -> Vec<Port> {
    let mut taken: HashSet<String> =
        (0..named.len()).map(|index| format!("{prefix}{index}")).collect();
    named
        .into_iter()
        .enumerate()
        .map(|(index, (name, ty))| {
            let place = format!("{prefix}{index}");
            let name =
                if name == place || taken.insert(name.clone()) { name } else { place.clone() };
            Port { name, place, ty }
        })
        .collect()
}

/// A value made up for the argument at `index`, the same for the same seed everywhere.
///
/// Element `j` comes from 64 bits: SplitMix64's output function of `stream + (j + 1) * 0x9E3779B97F4A7C15`, where `stream`
/// is that function of `seed + (index + 1) * 0x9E3779B97F4A7C15`. A float is uniform in [-1, 1): its top `p` bits over
/// `2^(p-1)`, minus 1, where `p` is the precision of the type; a complex number takes two such in turn. Integers
/// and booleans are the top bit, 0 or 1: whatever a model takes them for, an index, a mask or a label, they are in range.
pub fn random_value(ty: &Type, seed: u64, index: u64) -> Result<Value, EngineError> {
    let stream = mixed(seed.wrapping_add(step(index)));
    Ok(match ty {
        Type::Token => Value::Token,
        Type::Tuple(parts) => Value::Tuple(
            parts
                .iter()
                .zip(0..)
                .map(|(part, place)| random_value(part, stream, place))
                .collect::<Result<_, _>>()?,
        ),
        Type::Tensor(tensor) => Value::Tensor(random_tensor(tensor, stream)?),
    })
}

/// A value of a type, quickly made: some random numbers again and again.
pub fn repeated_value(ty: &Type, seed: u64, index: u64) -> Result<Value, EngineError> {
    /// A prime, so that no two rows begin alike.
    const SOME: usize = 65_537;
    let Some((tensor, shape)) = ty.tensor().and_then(|tensor| Some((tensor, tensor.shape()?)))
    else {
        return random_value(ty, seed, index);
    };
    let dtype = tensor.storage();
    let some = TensorType::new(dtype, &[SOME.min(shape.elements())]);
    let some = random_tensor(&some, mixed(seed.wrapping_add(step(index))))?;
    let length = shape.elements() * dtype.bytes();
    let bytes = some.bytes().repeat(length.div_ceil(some.bytes().len().max(1)));
    Ok(Value::Tensor(Tensor::new(dtype, shape, &bytes[..length])?))
}

fn step(index: u64) -> u64 {
    index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The output function of SplitMix64.
fn mixed(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

fn random_tensor(ty: &TensorType, stream: u64) -> Result<Tensor, EngineError> {
    let shape = ty.shape().ok_or_else(|| {
        EngineError::Input(format!("no input can be made up for {ty}: its sizes are not known"))
    })?;
    let dtype = ty.storage();
    let count = shape.elements() as u64;
    let bits = |place: u64| mixed(stream.wrapping_add(step(place)));
    let elements = match dtype.kind() {
        // The only type without zero or sign.
        Kind::Float if dtype == DType::F8E8M0FNU => Elements::Floats(vec![1.0; count as usize]),
        Kind::Float => Elements::Floats((0..count).map(|at| unit(bits(at), dtype)).collect()),
        Kind::Complex => {
            let part = |place| unit(bits(place), dtype.part());
            let pair = |at| Complex64::new(part(2 * at), part(2 * at + 1));
            Elements::Complex((0..count).map(pair).collect())
        }
        Kind::Boolean | Kind::Signed | Kind::Unsigned => {
            Elements::Integers((0..count).map(|at| (bits(at) >> 63) as i64).collect())
        }
    };
    Ok(Tensor::from_elements(dtype, shape, &elements)?)
}

/// A number in [-1, 1) that the type holds exactly.
fn unit(bits: u64, dtype: DType) -> f64 {
    let precision = match dtype {
        DType::F64 => 53,
        DType::F32 => 24,
        DType::F16 => 11,
        DType::BF16 => 8,
        DType::F8E3M4 => 5,
        DType::F8E5M2 | DType::F8E5M2FNUZ | DType::F6E3M2FN => 3,
        DType::F4E2M1FN => 2,
        _ => 4,
    };
    (bits >> (64 - precision)) as f64 / (1_u64 << (precision - 1)) as f64 - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_inputs_are_the_same_everywhere_and_within_range() {
        for dtype in DType::ALL {
            let ty = Type::Tensor(TensorType::new(dtype, &[100]));
            let value = random_value(&ty, 1, 0).unwrap();
            assert_eq!(value, random_value(&ty, 1, 0).unwrap());
            let Value::Tensor(tensor) = value else { panic!() };
            match tensor.elements() {
                Elements::Floats(values) => {
                    assert!(values.iter().all(|value| (-1.0..=1.0).contains(value)), "{dtype}");
                }
                Elements::Integers(values) => {
                    assert!(values.iter().all(|value| (0..2).contains(value)), "{dtype}");
                    assert!(values.iter().any(|value| *value != values[0]), "{dtype}");
                }
                Elements::Complex(values) => assert_ne!(values[0], values[1]),
            }
        }
        // The first value of the algorithm, so that a change of it is noticed.
        let ty = Type::Tensor(TensorType::new(DType::F64, &[]));
        let Ok(Value::Tensor(tensor)) = random_value(&ty, 0, 0) else { panic!() };
        let stream = 0xe220_a839_7b1d_cdaf_u64;
        let expected = unit(mixed(stream.wrapping_add(0x9e37_79b9_7f4a_7c15)), DType::F64);
        assert_eq!(tensor.floats().unwrap(), [expected]);
    }

    #[test]
    fn names_come_from_the_exporter_and_are_unique() {
        let text = "func.func public @main(%arg0: tensor<f32> {jax.arg_info = \"x\"}, \
            %arg1: tensor<f32> {jax.arg_info = \"x\"}, %b: tensor<f32>) -> \
            (tensor<f32> {jax.result_info = \"loss\"}, tensor<f32> {jax.result_info = \"\"}) {\n\
            return %arg0, %b : tensor<f32>, tensor<f32>\n}";
        let program = warpforge_hlo::parse_verified(text).unwrap();
        let main = program.main().unwrap();
        let names: Vec<String> = arguments(main).into_iter().map(|port| port.name).collect();
        assert_eq!(names, ["x", "arg1", "b"]);
        let names: Vec<String> = results(main).into_iter().map(|port| port.name).collect();
        assert_eq!(names, ["loss", "result1"]);
    }
}
