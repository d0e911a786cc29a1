//! Programs that give out what lies inside of them.

use std::collections::HashMap;

use warpforge_hlo::Attributes;
use warpforge_hlo::ir::{FunctionResult, Program, ValueId};

/// The same program with `entry` giving these values of its own, by their names in the text with `%`, in place of its results.
/// What only the results needed is computed no more. Names that are not values of the function itself come back.
pub fn observed(program: &Program, entry: &str, names: &[&str]) -> Result<Program, Vec<String>> {
    let mut program = program.clone();
    let Some(function) = program.functions.iter_mut().find(|function| function.name == entry)
    else {
        return Err(names.iter().map(|name| (*name).to_owned()).collect());
    };
    // Values of regions inside of ops are not at hand where the function returns.
    let own = function.body.ops.iter().flat_map(|op| &op.results).chain(&function.body.arguments);
    let by_name: HashMap<&str, ValueId> =
        own.map(|value| (&*function.values[value.index()].name, *value)).collect();
    let found: Vec<Option<ValueId>> =
        names.iter().map(|name| by_name.get(name.trim_start_matches('%')).copied()).collect();
    let missing: Vec<String> = names
        .iter()
        .zip(&found)
        .filter(|(_, found)| found.is_none())
        .map(|(name, _)| (*name).to_owned())
        .collect();
    if !missing.is_empty() {
        return Err(missing);
    }
    let values: Vec<ValueId> = found.into_iter().flatten().collect();
    function.results = values
        .iter()
        .map(|value| FunctionResult {
            ty: function.ty(*value).clone(),
            attributes: Attributes::default(),
        })
        .collect();
    if let Some(end) = function.body.ops.last_mut() {
        end.operands = values;
    }
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "func.func public @main(%x: tensor<2xf32>) -> (tensor<2xf32>) {\n\
        %0 = stablehlo.add %x, %x : tensor<2xf32>\n\
        %1 = stablehlo.multiply %0, %x : tensor<2xf32>\n\
        return %1 : tensor<2xf32>\n}";

    #[test]
    fn values_take_the_place_of_results() {
        let program = warpforge_hlo::parse_verified(TEXT).unwrap();
        let seen = observed(&program, "main", &["%0", "%x", "%0"]).unwrap();
        assert!(warpforge_hlo::verify(&seen).is_ok());
        let main = seen.main().unwrap();
        assert_eq!(main.results.len(), 3);
        assert!(seen.to_string().contains("return %0, %x, %0"), "{seen}");
        assert_eq!(observed(&program, "main", &["%7", "%1"]), Err(vec!["%7".to_owned()]));
        assert_eq!(observed(&program, "other", &["%1"]), Err(vec!["%1".to_owned()]));
    }
}
