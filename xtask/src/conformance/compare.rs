//! How far two tensors are apart, in units in the last place of the type.
//!
//! Integers and booleans have to be equal. NaN equals NaN whatever its bits. An infinity counts as the number that would
//! follow the largest finite one, so rounding to either side of the limit is a matter of ULPs too.

use warpforge_tensor::{Complex64, DType, Elements, Tensor};

/// What is allowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Allowed {
    /// So many units in the last place of the result's type.
    pub(super) ulps: f64,
    /// The last place is that of a number at least this large.
    pub(super) floor: f64,
    /// The last place is at least that of the largest number in the tensor.
    pub(super) norm: bool,
}

impl Allowed {
    /// Not the least difference.
    pub(super) const NOTHING: Self = Self { ulps: 0.0, floor: 0.0, norm: false };
}

/// The largest difference found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Difference {
    pub(super) ulps: f64,
    /// Where, in row-major order.
    pub(super) place: usize,
}

/// The significant bits behind the first, and the smallest and largest exponent of a float type.
fn layout(dtype: DType) -> Option<(i32, i32, i32)> {
    match dtype.part() {
        DType::F64 => Some((52, -1022, 1023)),
        DType::F32 => Some((23, -126, 127)),
        DType::F16 => Some((10, -14, 15)),
        DType::BF16 => Some((7, -126, 127)),
        DType::F8E3M4 => Some((4, -2, 3)),
        DType::F8E4M3 => Some((3, -6, 7)),
        DType::F8E4M3FN => Some((3, -6, 8)),
        DType::F8E4M3FNUZ => Some((3, -7, 7)),
        DType::F8E4M3B11FNUZ => Some((3, -10, 4)),
        DType::F8E5M2 => Some((2, -14, 15)),
        DType::F8E5M2FNUZ => Some((2, -15, 15)),
        _ => None,
    }
}

/// Half the distance between 1 and its neighbour is the relative error of one rounding; this is that whole distance.
pub(super) fn epsilon(dtype: DType) -> Option<f64> {
    layout(dtype).map(|(bits, _, _)| 2_f64.powi(-bits))
}

/// The distance between neighbours of a type around a number.
pub(super) fn ulp(dtype: DType, number: f64) -> Option<f64> {
    let (bits, lowest, _) = layout(dtype)?;
    let exponent = if number.abs() < f64::MIN_POSITIVE {
        -1022
    } else {
        ((number.abs().to_bits() >> 52) as i32) - 1023
    };
    Some(2_f64.powi(exponent.max(lowest) - bits))
}

/// The number that follows the largest finite one.
fn beyond(dtype: DType) -> f64 {
    let largest = layout(dtype).map_or(1023, |(_, _, largest)| largest);
    if largest >= 1023 { f64::INFINITY } else { 2_f64.powi(largest + 1) }
}

/// Compares ours with an oracle's; `theirs` may be of a wider type. An error says how they differ in kind.
pub(super) fn compare(
    ours: &Tensor,
    theirs: &Tensor,
    allowed: Allowed,
) -> Result<Option<Difference>, String> {
    if ours.shape() != theirs.shape() {
        return Err(format!("the shape is [{}], not [{}]", ours.shape(), theirs.shape()));
    }
    let dtype = ours.dtype();
    match (ours.elements(), theirs.elements()) {
        (Elements::Integers(ours), Elements::Integers(theirs)) => {
            let place = ours.iter().zip(&theirs).position(|(ours, theirs)| ours != theirs);
            match place {
                None => Ok(None),
                Some(place) => Err(format!(
                    "element {place} is {}, not {}; the type is exact",
                    ours[place], theirs[place]
                )),
            }
        }
        (Elements::Floats(ours), Elements::Floats(theirs)) => {
            floats(dtype, &ours, &theirs, allowed)
        }
        (Elements::Complex(ours), Elements::Complex(theirs)) => {
            complex(dtype, &ours, &theirs, allowed)
        }
        _ => Err(format!("the type is {dtype}, not {}", theirs.dtype())),
    }
}

/// The size whose last place counts, given that of the element.
fn scale(allowed: Allowed, sizes: impl Iterator<Item = f64>) -> f64 {
    let finite = sizes.filter(|size| size.is_finite());
    if allowed.norm { finite.fold(allowed.floor, f64::max) } else { allowed.floor }
}

fn floats(
    dtype: DType,
    ours: &[f64],
    theirs: &[f64],
    allowed: Allowed,
) -> Result<Option<Difference>, String> {
    let scale = scale(allowed, theirs.iter().map(|number| number.abs()));
    let mut worst: Option<Difference> = None;
    for (place, (&ours, &theirs)) in ours.iter().zip(theirs).enumerate() {
        let ulps = apart(dtype, ours, theirs, scale)
            .ok_or_else(|| format!("element {place} is {ours:e}, not {theirs:e}"))?;
        raise(&mut worst, ulps, place);
    }
    Ok(worst)
}

fn raise(worst: &mut Option<Difference>, ulps: f64, place: usize) {
    if ulps > 0.0 && worst.is_none_or(|worst| ulps > worst.ulps) {
        *worst = Some(Difference { ulps, place });
    }
}

/// How many units two floats are apart; none where no number of units says it.
fn apart(dtype: DType, ours: f64, theirs: f64, scale: f64) -> Option<f64> {
    if ours == theirs || (ours.is_nan() && theirs.is_nan()) {
        return Some(0.0);
    }
    if ours.is_nan() || theirs.is_nan() {
        return None;
    }
    let finite = |number: f64| {
        if number.is_infinite() { beyond(dtype).copysign(number) } else { number }
    };
    let (ours, theirs) = (finite(ours), finite(theirs));
    let unit = ulp(dtype, theirs.abs().max(scale))?;
    let apart = (ours - theirs).abs() / unit;
    apart.is_finite().then_some(apart)
}

fn complex(
    dtype: DType,
    ours: &[Complex64],
    theirs: &[Complex64],
    allowed: Allowed,
) -> Result<Option<Difference>, String> {
    let scale = scale(allowed, theirs.iter().map(|number| number.norm()));
    let mut worst: Option<Difference> = None;
    for (place, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        // What counts is the distance in the plane: a small part beside a large one has the large one's error.
        let scale = if theirs.norm().is_finite() { scale.max(theirs.norm()) } else { scale };
        let parts = [(ours.re, theirs.re), (ours.im, theirs.im)];
        for (ours_part, theirs_part) in parts {
            let ulps = apart(dtype, ours_part, theirs_part, scale);
            match ulps {
                Some(ulps) => raise(&mut worst, ulps, place),
                // All points without a finite place are one where functions have a pole.
                None if allowed.ulps > 0.0 && !finite(ours) && !finite(theirs) => {}
                None => return Err(format!("element {place} is {ours}, not {theirs}")),
            }
        }
    }
    Ok(worst)
}

fn finite(number: &Complex64) -> bool {
    number.re.is_finite() && number.im.is_finite()
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpforge_tensor::Shape;

    fn tensor(dtype: DType, values: &[f64]) -> Tensor {
        Tensor::from_floats(dtype, Shape::new([values.len()]).unwrap(), values.to_vec()).unwrap()
    }

    fn ulps(ours: &Tensor, theirs: &Tensor, allowed: Allowed) -> f64 {
        compare(ours, theirs, allowed).unwrap().map_or(0.0, |difference| difference.ulps)
    }

    #[test]
    fn a_neighbour_is_one_unit_away() {
        let next = f64::from(1_f32.next_up());
        let (one, other) = (tensor(DType::F32, &[1.0]), tensor(DType::F32, &[next]));
        assert_eq!(ulps(&one, &other, Allowed::NOTHING), 1.0);
        assert_eq!(ulps(&one, &one, Allowed::NOTHING), 0.0);
        let small = tensor(DType::F16, &[2_f64.powi(-24)]);
        assert_eq!(ulps(&small, &tensor(DType::F16, &[0.0]), Allowed::NOTHING), 1.0);
        let largest = tensor(DType::F16, &[65504.0]);
        let infinite = tensor(DType::F16, &[f64::INFINITY]);
        assert_eq!(ulps(&largest, &infinite, Allowed::NOTHING), 0.5);
    }

    #[test]
    fn the_largest_number_sets_the_unit_where_asked() {
        let ours = tensor(DType::F32, &[1024.0, 0.0]);
        let theirs = tensor(DType::F32, &[1024.0, 1e-4]);
        let norm = Allowed { ulps: 1.0, floor: 0.0, norm: true };
        assert!(ulps(&ours, &theirs, norm) < 1.0);
        assert!(ulps(&ours, &theirs, Allowed { norm: false, ..norm }) > 1e6);
    }

    #[test]
    fn kinds_of_difference_are_said() {
        let number = tensor(DType::F32, &[1.0]);
        let nan = tensor(DType::F32, &[f64::NAN]);
        assert_eq!(compare(&nan, &nan, Allowed::NOTHING), Ok(None));
        assert!(compare(&number, &nan, Allowed::NOTHING).is_err());
        let integer = Tensor::from_integers(DType::I32, Shape::new([1]).unwrap(), vec![1]).unwrap();
        assert!(compare(&number, &integer, Allowed::NOTHING).is_err());
        assert!(compare(&tensor(DType::F32, &[1.0, 2.0]), &number, Allowed::NOTHING).is_err());
    }
}
