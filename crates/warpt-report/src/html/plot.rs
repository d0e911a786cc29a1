//! What the plots are drawn with: scales from values to pixels, and paths with short numbers. Values that are not finite
//! never reach a path.

use std::fmt::Write;

/// A linear or logarithmic scale from values to pixels.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    logarithmic: bool,
}

impl Scale {
    /// `low` to `high` onto the pixels `from` to `to`; a range without width is widened.
    pub fn linear(low: f64, high: f64, from: f64, to: f64) -> Self {
        let (low, high) = if high > low {
            (low, high)
        } else {
            let margin = (low.abs() * 0.01).max(f64::MIN_POSITIVE * 1e10);
            (low - margin, high + margin)
        };
        Self { low, high, from, to, logarithmic: false }
    }

    /// The same on the scale of logarithms; both ends are above zero.
    pub fn logarithmic(low: f64, high: f64, from: f64, to: f64) -> Self {
        Self { low: low.ln(), high: high.ln(), from, to, logarithmic: true }
    }

    /// The pixel of a value, kept within the scale.
    pub fn at(&self, value: f64) -> f64 {
        let value = if self.logarithmic { value.max(f64::MIN_POSITIVE).ln() } else { value };
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        let share = if share.is_finite() { share } else { 0.0 };
        self.from + share * (self.to - self.from)
    }
}

/// A path under construction.
#[derive(Debug, Default)]
pub struct Path {
    text: String,
}

impl Path {
    /// Goes on to a point: `M` without a line, `L` with one.
    pub fn push(&mut self, command: char, x: f64, y: f64) {
        write!(self.text, "{command}{} {}", short(x), short(y)).expect("text grows");
    }

    /// A bar standing on `bottom`.
    pub fn bar(&mut self, x: f64, bottom: f64, width: f64, height: f64) {
        write!(
            self.text,
            "M{} {}v-{}h{}v{}z",
            short(x),
            short(bottom),
            short(height),
            short(width),
            short(height)
        )
        .expect("text grows");
    }

    /// A line through points; a gap where one is missing.
    pub fn polyline(points: impl IntoIterator<Item = Option<(f64, f64)>>) -> Self {
        let mut path = Self::default();
        let mut drawing = false;
        for point in points {
            match point {
                Some((x, y)) => {
                    path.push(if drawing { 'L' } else { 'M' }, x, y);
                    drawing = true;
                }
                None => drawing = false,
            }
        }
        path
    }

    /// Whether nothing was drawn yet.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The path as markup; nothing where it is empty.
    pub fn draw(&self, class: &str) -> String {
        if self.is_empty() {
            return String::new();
        }
        format!("<path class=\"{class}\" d=\"{}\"/>", self.text)
    }
}

/// The two axes of a chart between these pixels.
pub fn axes(left: f64, right: f64, top: f64, bottom: f64) -> String {
    Path::polyline([Some((left, top)), Some((left, bottom)), Some((right, bottom))]).draw("axis")
}

/// One decimal, without it where it is zero.
pub fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// A drawing with a description for those who do not see it; `label` is escaped by the caller.
pub fn svg(width: f64, height: f64, class: &str, label: &str, content: &str) -> String {
    let (width, height) = (short(width), short(height));
    format!(
        "<svg class=\"{class}\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" aria-label=\"{label}\">{content}</svg>"
    )
}

/// Text in a drawing; `anchor` is start, middle or end.
pub fn text(x: f64, y: f64, anchor: &str, content: &str) -> String {
    format!("<text x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\">{content}</text>", short(x), short(y))
}
