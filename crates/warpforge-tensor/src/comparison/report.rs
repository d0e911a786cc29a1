//! A comparison as a few lines that a person reads.

use std::fmt;

use super::{Comparison, Histogram, Worst};

/// The most buckets shown of a histogram; small errors are summed up first.
const SHOWN: usize = 8;

impl fmt::Display for Comparison {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        let verdict = if self.passed() { "match" } else { "MISMATCH" };
        write!(formatter, "{verdict}: {} [{}], ", self.dtype, sizes.join("x"))?;
        if self.passed() {
            write!(formatter, "{} elements", self.elements)?;
        } else {
            let percent = 100.0 * self.mismatches as f64 / self.elements as f64;
            write!(formatter, "{} of {} elements ({percent:.3}%)", self.mismatches, self.elements)?;
            formatter.write_str(" beyond tolerance")?;
        }
        write!(formatter, " ({})", self.tolerance)?;
        let Some(worst) = &self.worst else {
            return formatter.write_str("\n  every element is equal");
        };
        write!(formatter, "\n  {worst}")?;
        write!(
            formatter,
            "\n  errors: mean {:.3e}, largest {:.3e}, largest relative {:.3e}, largest {} ULP",
            self.mean_absolute_error,
            self.max_absolute_error,
            self.max_relative_error,
            self.max_ulps
        )?;
        if let Some(cosine) = self.cosine_similarity {
            write!(formatter, "; cosine similarity {cosine:.9}")?;
        }
        write!(formatter, "\n  relative errors: {}", self.relative_errors)?;
        for (name, counts) in [("NaN", self.nan), ("infinite", self.infinite)] {
            if counts.actual + counts.expected > 0 {
                let (actual, expected) = (counts.actual, counts.expected);
                write!(formatter, "\n  {name}: {actual} found, {expected} expected")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Worst {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (actual, expected) = (&self.actual, &self.expected);
        write!(formatter, "worst at {:?}: found {actual}, expected {expected}", self.index)?;
        if let Some(ulps) = self.ulps {
            let (absolute, relative) = (self.absolute_error, self.relative_error);
            write!(formatter, "; error {absolute:.3e}, relative {relative:.3e}, {ulps} ULP")?;
        }
        if self.share.is_finite() {
            write!(formatter, ", {:.3} of what is allowed", self.share)?;
        }
        Ok(())
    }
}

impl fmt::Display for Histogram {
    /// `exact 90, 1e-8 and below 5, 1e-7 3`: each bucket by its smallest error.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "exact {}", self.exact())?;
        let buckets: Vec<_> = self.buckets().collect();
        let (below, shown) = buckets.split_at(buckets.len().saturating_sub(SHOWN));
        if let Some(last) = below.last() {
            let count: u64 = below.iter().map(|bucket| bucket.count).sum();
            write!(formatter, ", {:e} and below {count}", last.from)?;
        }
        shown
            .iter()
            .try_for_each(|bucket| write!(formatter, ", {:e} {}", bucket.from, bucket.count))
    }
}
