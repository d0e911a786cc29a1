//! Inputs of a program: from files by name, made up where asked.

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use warpforge_engine::interface::{self, Port};
use warpforge_engine::reference::Value;
use warpforge_hlo::ir::Function;
use warpforge_hlo::types::Type;
use warpforge_tensor::Tensor;
use warpforge_tensor::safetensors::{File, TensorInfo};

use crate::arguments::run::RunArguments;

/// The value of an argument.
pub(super) struct Gathered {
    pub(super) value: Value,
    /// It came from a file of weights: the same in every run.
    pub(super) fixed: bool,
}

/// Where inputs come from.
#[derive(Clone, Copy)]
pub(super) struct Files<'a> {
    pub(super) weights: &'a [PathBuf],
    pub(super) inputs: &'a [PathBuf],
    /// Makes up what no file has.
    pub(super) seed: Option<u64>,
}

impl<'a> Files<'a> {
    /// As the command says.
    pub(super) fn of(arguments: &'a RunArguments) -> Self {
        let RunArguments { weights, inputs, random_inputs: seed, .. } = arguments;
        Self { weights, inputs, seed: *seed }
    }
}

/// A value for each argument: from the files of inputs, else from those of weights, else what the program says it is at
/// first, else made up.
/// `process` stands before the names of tensors that are for one process alone; it is empty where there is one.
pub(super) fn gather(entry: &Function, files: Files<'_>, process: &str) -> Result<Vec<Gathered>> {
    let Files { weights, inputs, seed } = files;
    let files = weights.iter().chain(inputs).map(File::open).collect::<Result<Vec<_>, _>>()?;
    let ports = interface::arguments(entry);
    let mut missing: Vec<&Port> = Vec::new();
    let mut values = Vec::with_capacity(ports.len());
    let mut add = |value, fixed| values.push(Gathered { value, fixed });
    for (index, port) in ports.iter().enumerate() {
        let held = found(entry, (index, port), &files, weights.len(), process)?;
        if held.is_none()
            && let Some(initial) = interface::initial(entry, index)
        {
            add(initial?, false);
            continue;
        }
        match (held, &port.ty, seed) {
            (Some((value, file)), ..) => add(value, file < weights.len()),
            (None, Type::Token, _) => add(Value::Token, false),
            (None, ty, Some(seed)) => {
                add(interface::random_value(ty, seed, index as u64)?, false);
            }
            (None, ..) => missing.push(port),
        }
    }
    if missing.is_empty() {
        return Ok(values);
    }
    bail!("{}", absent(&missing, &files))
}

/// The arguments that files of weights have, by their place.
pub(super) fn weights(entry: &Function, weights: &[PathBuf]) -> Result<HashMap<usize, Tensor>> {
    let files = weights.iter().map(File::open).collect::<Result<Vec<_>, _>>()?;
    let mut values = HashMap::new();
    for (index, port) in interface::arguments(entry).iter().enumerate() {
        if let Some((Value::Tensor(tensor), _)) =
            found(entry, (index, port), &files, files.len(), "")?
        {
            values.insert(index, tensor);
        }
    }
    Ok(values)
}

/// The value of an argument in the last file that has it, and which file that is; the first `mapped` files are not read but
/// mapped.
fn found(
    entry: &Function,
    (index, port): (usize, &Port),
    files: &[File],
    mapped: usize,
    process: &str,
) -> Result<Option<(Value, usize)>> {
    let in_text = entry
        .arguments
        .get(index)
        .map(|argument| entry.values[argument.value.index()].name.to_string());
    let names = [Some(port.name.clone()), in_text, Some(port.place.clone())];
    let names: Vec<String> = names.into_iter().flatten().collect();
    for (place, file) in files.iter().enumerate().rev() {
        let Some(info) = held(file, &names, process) else { continue };
        let Type::Tensor(ty) = &port.ty else {
            bail!("{}: {:?} must be a {}", file.path().display(), info.name, port.ty);
        };
        let same_shape =
            ty.rank() == info.shape.rank()
                && ty.dimensions.iter().zip(info.shape.sizes()).all(|(stated, size)| {
                    stated.size().is_none_or(|stated| stated == *size as u64)
                });
        if !same_shape || info.dtype != ty.storage() {
            bail!(
                "{}: {:?} is {} of shape [{}], but input {index} of @{} must be a {ty}",
                file.path().display(),
                info.name,
                info.dtype,
                info.shape,
                entry.name
            );
        }
        // Weights stay where they are: what is packed is read once, and the rest is the file's.
        let tensor =
            if place < mapped { file.mapped(&info.name)? } else { file.tensor(&info.name)? };
        return Ok(Some((Value::Tensor(tensor), place)));
    }
    Ok(None)
}

/// The tensor a file has for this process, else that for all.
fn held<'f>(file: &'f File, names: &[String], process: &str) -> Option<&'f TensorInfo> {
    let own = names.iter().find_map(|name| file.info(&format!("{process}{name}")));
    own.or_else(|| names.iter().find_map(|name| file.info(name)))
}

fn absent(missing: &[&Port], files: &[File]) -> anyhow::Error {
    const SHOWN: usize = 8;
    let list: Vec<String> = missing.iter().take(SHOWN).map(|port| described(port)).collect();
    let more = match missing.len().saturating_sub(SHOWN) {
        0 => String::new(),
        count => format!("\n  and {count} more"),
    };
    let held: Vec<&str> = files.iter().flat_map(File::names).take(SHOWN).collect();
    let held = if held.is_empty() {
        "give them with --inputs FILE.safetensors, or make them up with --random-inputs SEED"
            .to_owned()
    } else {
        format!(
            "the files hold {}{}",
            held.join(", "),
            if held.len() == SHOWN { ", ..." } else { "" }
        )
    };
    let plural = if missing.len() == 1 { "input is" } else { "inputs are" };
    anyhow!("{} {plural} missing:\n  {}{more}\n{held}", missing.len(), list.join("\n  "))
}

fn described(port: &Port) -> String {
    let place = if port.name == port.place { String::new() } else { format!(" ({})", port.place) };
    format!("{}{place}: {}", warpt_report::text::clean(&port.name), port.ty)
}
