//! The first kernel that does not compute what its ops say.

use warpforge_engine::{Audited, EngineError, rounding, rounding_of};
use warpforge_tensor::Comparison;

use super::{Case, Origin, Reproducer, Searching};
use crate::ValidateError;

/// It, with what it read and wrote; none where all of them are right, or there are none.
pub(super) fn first_wrong(
    case: &Case<'_>,
    progress: &mut dyn FnMut(Searching),
) -> Result<Option<(Origin, Reproducer)>, ValidateError> {
    let program = case.runner.program(case.bundle, case.entry)?;
    let mut ready = case.runner.ready_to(case.bundle, case.entry, program, true)?;
    let mut found = None;
    let mut look = |seen: &Audited<'_>| -> Result<bool, EngineError> {
        case.runner.proceed().map_err(|_| EngineError::Cancelled)?;
        progress(Searching::Kernels(seen.step));
        for (number, (own, wanted)) in seen.found.iter().zip(seen.wanted).enumerate() {
            let tolerance = rounding(wanted, rounding_of(wanted.dtype()));
            let compared = Comparison::new(own, wanted, &tolerance)?;
            if compared.passed() {
                continue;
            }
            let origin = Origin::Kernel {
                number: seen.step,
                backend: seen.backend.to_owned(),
                ops: seen.ops.to_vec(),
                what: super::ops::described(number, &compared),
            };
            found = Some((origin, Reproducer::of_kernel(seen)));
            return Ok(false);
        }
        Ok(true)
    };
    ready.audit(case.inputs.clone(), &mut look)?;
    Ok(found)
}
