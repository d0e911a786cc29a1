//! A kernel as a function of C, called as machine code is: the same passes, programs and functions, with registers, order and
//! instructions left to a compiler. It shows what a compiler would make of them (`cargo xtask loops --clang`).

use std::fmt::Write as _;

use crate::Unsupported;
use crate::ir::LoopKernel;
use crate::lower::{Format, Lowered, Pass, Reduced, lower};
use crate::vector::{Comparison, Effect, Fold, Logic, Node, One, Program, Table, Two, Value};
use crate::x86::narrows;

/// The name of the function.
pub const FUNCTION: &str = "kernel";

/// A kernel as C for processors with AVX-512; a turn of a loop takes so many vectors.
pub fn printed(kernel: &LoopKernel, vectors: usize) -> Result<String, Unsupported> {
    let lowered = lower(kernel)?;
    let formats = lowered.streams.iter().map(|(_, format, _)| *format).collect();
    let mut printer = Printer { text: String::new(), formats };
    printer.function(&lowered, vectors.max(1))?;
    Ok(printer.text)
}

struct Printer {
    text: String,
    formats: Vec<Format>,
}

/// Where in a row a program is printed for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// Before the elements.
    Once,
    /// At the `usize`-th vector of a turn, which has so many.
    Vector(usize, usize),
    /// At what is left of a row.
    Tail,
}

impl At {
    /// The place of the first element.
    fn index(self) -> String {
        match self {
            Self::Vector(at, _) if at > 0 => format!("i + {}", 16 * at),
            _ => "i".to_owned(),
        }
    }
}

/// A value's name; those of one vector of a turn are not those of another.
fn name(value: Value) -> String {
    format!("v{}", value.0)
}

/// The same bits as integers.
fn integer(value: Value) -> String {
    format!("_mm512_castps_si512({})", name(value))
}

/// Integers as what a vector is kept as.
fn vector(integers: &str) -> String {
    format!("_mm512_castsi512_ps({integers})")
}

impl Printer {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn function(&mut self, lowered: &Lowered, vectors: usize) -> Result<(), Unsupported> {
        self.line("#include <immintrin.h>\n#include <stdint.h>\n#include <math.h>\n");
        self.line(NARROW);
        self.line(&format!("void {FUNCTION}(uint64_t *frame) {{"));
        self.line("  uint64_t rows = frame[0];\n  const uint64_t length = frame[1];");
        self.line("  float *const slots = (float *)frame[3];");
        self.line("  const __mmask16 tail = (__mmask16)((1u << (length % 16)) - 1u);");
        let streams = self.formats.len();
        for stream in 0..streams {
            let at = 5 + 2 * stream;
            self.line(&format!("  char *s{stream} = (char *)frame[{at}];"));
        }
        for spill in 0..lowered.spills {
            let at = 5 + 2 * (streams + spill);
            self.line(&format!("  float *const spill{spill} = (float *)frame[{at}];"));
        }
        self.line("  do {");
        for pass in &lowered.passes {
            self.pass(pass, vectors)?;
        }
        for stream in 0..streams {
            self.line(&format!("    s{stream} += (int64_t)frame[{}];", 6 + 2 * stream));
        }
        self.line("  } while (--rows);\n}");
        Ok(())
    }

    fn pass(&mut self, pass: &Pass, vectors: usize) -> Result<(), Unsupported> {
        self.line("    {");
        self.program(&pass.before, At::Once)?;
        self.line("    }\n    {");
        for (place, reduced) in pass.reduced.iter().enumerate() {
            self.begin(place, reduced);
        }
        self.line("    uint64_t i = 0;");
        for turn in [vectors, 1].into_iter().take(if vectors > 1 { 2 } else { 1 }) {
            let step = 16 * turn;
            self.line(&format!("    for (; i + {step} <= length; i += {step}) {{"));
            for place in 0..pass.reduced.len() {
                if turn > 1 && pass.reduced[place].fold == Fold::SumOfPositives {
                    self.line(&format!("    __m512 t{place};"));
                }
            }
            for at in 0..turn {
                self.line("    {");
                self.program(&pass.body, At::Vector(at, turn))?;
                self.line("    }");
            }
            self.line("    }");
        }
        self.line("    if (i < length) {");
        self.program(&pass.body, At::Tail)?;
        self.line("    }");
        for (place, reduced) in pass.reduced.iter().enumerate() {
            self.end(place, reduced);
        }
        self.line("    }");
        Ok(())
    }

    fn begin(&mut self, place: usize, reduced: &Reduced) {
        let initial = format!("_mm512_set1_ps({})", number(reduced.initial));
        let text = match reduced.fold {
            Fold::Sum | Fold::SumOfPositives => format!(
                "    __m512d a{place} = _mm512_setzero_pd(), b{place} = _mm512_setzero_pd();"
            ),
            Fold::ShortSum => format!("    __m512 a{place} = _mm512_setzero_ps();"),
            Fold::GreatestNumber => format!("    __m512 a{place} = {initial};"),
            Fold::Greatest | Fold::Least => {
                format!("    __m512 a{place} = {initial};\n    __mmask16 none{place} = 0;")
            }
        };
        self.line(&text);
    }

    fn end(&mut self, place: usize, reduced: &Reduced) {
        let (slot, initial) = (reduced.slot, number(reduced.initial));
        let text = match reduced.fold {
            Fold::Sum | Fold::SumOfPositives => format!(
                "(float)(_mm512_reduce_add_pd(_mm512_add_pd(a{place}, b{place})) + (double){initial})"
            ),
            Fold::ShortSum => format!("_mm512_reduce_add_ps(a{place}) + {initial}"),
            Fold::GreatestNumber => format!("_mm512_reduce_max_ps(a{place})"),
            Fold::Greatest => format!("none{place} ? NAN : _mm512_reduce_max_ps(a{place})"),
            Fold::Least => format!("none{place} ? NAN : _mm512_reduce_min_ps(a{place})"),
        };
        self.line(&format!("    slots[{slot}] = {text};"));
    }

    fn program(&mut self, program: &Program, at: At) -> Result<(), Unsupported> {
        for (value, node) in program.nodes.iter().enumerate() {
            let text = self.node(node, at)?;
            let ty = if node.is_truth() { "__mmask16" } else { "__m512" };
            self.line(&format!("      const {ty} {} = {text};", name(Value(value))));
        }
        for effect in &program.effects {
            let text = self.effect(*effect, at);
            self.line(&format!("      {text}"));
        }
        Ok(())
    }

    /// Where elements of a stream are.
    fn place(&self, stream: usize, at: At) -> String {
        match (self.formats[stream], at) {
            (_, At::Once) => format!("s{stream}"),
            (Format::Word, _) => format!("(float *)s{stream} + {}", at.index()),
            (Format::Half, _) => format!("(uint16_t *)s{stream} + {}", at.index()),
            (Format::Truth, _) => format!("(uint8_t *)s{stream} + {}", at.index()),
        }
    }

    fn load(&self, stream: usize, at: At) -> String {
        let place = self.place(stream, at);
        match (self.formats[stream], at) {
            (Format::Word, At::Tail) => format!("_mm512_maskz_loadu_ps(tail, {place})"),
            (Format::Word, _) => format!("_mm512_loadu_ps({place})"),
            (Format::Half, At::Tail) => {
                vector(&format!("_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(tail, {place}))"))
            }
            (Format::Half, _) => {
                let load = format!("_mm256_loadu_si256((const __m256i *)({place}))");
                vector(&format!("_mm512_cvtepu16_epi32({load})"))
            }
            (Format::Truth, At::Tail) => format!("_mm_maskz_loadu_epi8(tail, {place})"),
            (Format::Truth, _) => format!("_mm_loadu_si128((const __m128i *)({place}))"),
        }
    }

    fn node(&self, node: &Node, at: At) -> Result<String, Unsupported> {
        Ok(match *node {
            Node::Load { stream } => self.load(stream, at),
            Node::LoadTruth { stream } => {
                let load = self.load(stream, at);
                format!("_mm_test_epi8_mask({load}, {load})")
            }
            Node::Splat { stream } => match self.formats[stream] {
                Format::Word => format!("_mm512_set1_ps(*(const float *)s{stream})"),
                Format::Half => vector(&format!("_mm512_set1_epi32(*(const uint16_t *)s{stream})")),
                Format::Truth => vector(&format!("_mm512_set1_epi32(*(const uint8_t *)s{stream})")),
            },
            Node::Reload { slot } => format!("_mm512_loadu_ps(spill{slot} + {})", at.index()),
            Node::Row { slot } => format!("_mm512_set1_ps(slots[{slot}])"),
            Node::Constant(bits) => vector(&format!("_mm512_set1_epi32((int){bits:#x}u)")),
            Node::Two(op, a, b) => two(op, a, b),
            Node::One(op, a) => one(op, a)?,
            Node::Fused { a, b, c, negative } => {
                let op = if negative { "_mm512_fnmadd_ps" } else { "_mm512_fmadd_ps" };
                format!("{op}({}, {}, {})", name(a), name(b), name(c))
            }
            Node::Pick { table, index } => {
                format!("_mm512_permutexvar_ps({}, {})", integer(index), numbers(table))
            }
            Node::Signed { size, sign, mask } => vector(&format!(
                "_mm512_ternarylogic_epi32({}, {}, {}, 0xd8)",
                integer(size),
                integer(sign),
                integer(mask)
            )),
            Node::Compare(comparison, a, b) => {
                let predicate = match comparison {
                    Comparison::Equal => "_CMP_EQ_OQ",
                    Comparison::Less => "_CMP_LT_OQ",
                    Comparison::LessOrEqual => "_CMP_LE_OQ",
                    Comparison::Unordered => "_CMP_UNORD_Q",
                    Comparison::NotEqual => "_CMP_NEQ_UQ",
                    Comparison::GreaterOrEqual => "_CMP_GE_OQ",
                    Comparison::NotLess => "_CMP_NLT_UQ",
                    Comparison::Greater => "_CMP_GT_OQ",
                };
                format!("_mm512_cmp_ps_mask({}, {}, {predicate})", name(a), name(b))
            }
            Node::CompareIntegers(comparison, a, b) => {
                let predicate = match comparison {
                    Comparison::Equal => "_MM_CMPINT_EQ",
                    Comparison::Less => "_MM_CMPINT_LT",
                    Comparison::LessOrEqual => "_MM_CMPINT_LE",
                    Comparison::Unordered => return Ok("0".to_owned()),
                    Comparison::NotEqual => "_MM_CMPINT_NE",
                    Comparison::GreaterOrEqual | Comparison::NotLess => "_MM_CMPINT_NLT",
                    Comparison::Greater => "_MM_CMPINT_NLE",
                };
                format!("_mm512_cmp_epi32_mask({}, {}, {predicate})", integer(a), integer(b))
            }
            Node::Select { truth, yes, no } => {
                format!("_mm512_mask_blend_ps({}, {}, {})", name(truth), name(no), name(yes))
            }
            Node::Logic(logic, a, b) => {
                let op = match logic {
                    Logic::And => '&',
                    Logic::Or => '|',
                    Logic::Xor => '^',
                };
                format!("(__mmask16)({} {op} {})", name(a), name(b))
            }
            Node::Not(a) => format!("(__mmask16)~{}", name(a)),
            Node::ScaleWhere { truth, value, exponent } => format!(
                "_mm512_maskz_scalef_ps({}, {}, {})",
                name(truth),
                name(value),
                name(exponent)
            ),
            Node::LoadHalf { .. } | Node::Pair { .. } => {
                return Err(Unsupported("two vectors of bf16 at once".into()));
            }
        })
    }

    fn effect(&self, effect: Effect, at: At) -> String {
        let value = name(effect.value());
        match effect {
            Effect::Store { stream, value } => self.store(stream, value, at),
            Effect::Spill { slot, .. } => {
                format!("_mm512_storeu_ps(spill{slot} + {}, {value});", at.index())
            }
            Effect::Keep { slot, .. } => format!("slots[{slot}] = _mm512_cvtss_f32({value});"),
            Effect::Accumulate { fold, place, .. } => accumulate(fold, place, &value, at),
        }
    }

    fn store(&self, stream: usize, value: Value, at: At) -> String {
        let place = self.place(stream, at);
        let narrow = format!("_mm512_cvtepi32_epi16({})", integer(value));
        let value = name(value);
        match (self.formats[stream], at) {
            (Format::Word, At::Once) => {
                format!("*(float *)({place}) = _mm512_cvtss_f32({value});")
            }
            (Format::Half, At::Once) => {
                format!("*(uint16_t *)({place}) = (uint16_t)_mm256_extract_epi16({narrow}, 0);")
            }
            (Format::Truth, At::Once) => format!("*(uint8_t *)({place}) = {value} & 1;"),
            (Format::Word, At::Tail) => {
                format!("_mm512_mask_storeu_ps({place}, tail, {value});")
            }
            (Format::Word, At::Vector(..)) => format!("_mm512_storeu_ps({place}, {value});"),
            (Format::Half, At::Tail) => {
                format!("_mm256_mask_storeu_epi16({place}, tail, {narrow});")
            }
            (Format::Half, At::Vector(..)) => {
                format!("_mm256_storeu_si256((__m256i *)({place}), {narrow});")
            }
            (Format::Truth, At::Tail) => {
                format!("_mm_mask_storeu_epi8({place}, tail, _mm_maskz_set1_epi8({value}, 1));")
            }
            (Format::Truth, At::Vector(..)) => {
                format!("_mm_storeu_si128((__m128i *)({place}), _mm_maskz_set1_epi8({value}, 1));")
            }
        }
    }
}

fn accumulate(fold: Fold, place: usize, value: &str, at: At) -> String {
    let there = match at {
        At::Tail => format!("_mm512_maskz_mov_ps(tail, {value})"),
        _ => value.to_owned(),
    };
    let widened = |from: &str| {
        let upper = format!("_mm512_extractf32x8_ps({from}, 1)");
        format!(
            "a{place} = _mm512_add_pd(a{place}, _mm512_cvtps_pd(_mm512_castps512_ps256({from}))); \
             b{place} = _mm512_add_pd(b{place}, _mm512_cvtps_pd({upper}));"
        )
    };
    match (fold, at) {
        (Fold::SumOfPositives, At::Vector(vector, turn)) if turn > 1 => {
            let sum = match vector {
                0 => format!("t{place} = {value};"),
                _ => format!("t{place} = _mm512_add_ps(t{place}, {value});"),
            };
            let last =
                if vector + 1 == turn { widened(&format!("t{place}")) } else { String::new() };
            sum + &last
        }
        (Fold::Sum | Fold::SumOfPositives, _) => widened(&there),
        (Fold::ShortSum, _) => format!("a{place} = _mm512_add_ps(a{place}, {there});"),
        (Fold::Greatest | Fold::Least | Fold::GreatestNumber, _) => {
            let op = if fold == Fold::Least { "min" } else { "max" };
            let mut text = match at {
                At::Tail => {
                    format!("a{place} = _mm512_mask_{op}_ps(a{place}, tail, a{place}, {value});")
                }
                _ => format!("a{place} = _mm512_{op}_ps(a{place}, {value});"),
            };
            if fold != Fold::GreatestNumber {
                let among = if at == At::Tail { "tail" } else { "0xffff" };
                let _ = write!(
                    text,
                    " none{place} |= _mm512_mask_cmp_ps_mask({among}, {value}, {value}, _CMP_UNORD_Q);"
                );
            }
            text
        }
    }
}

fn two(op: Two, a: Value, b: Value) -> String {
    let floats = |op: &str| format!("_mm512_{op}_ps({}, {})", name(a), name(b));
    let integers = |op: &str| vector(&format!("_mm512_{op}({}, {})", integer(a), integer(b)));
    match op {
        Two::Add => floats("add"),
        Two::Subtract => floats("sub"),
        Two::Multiply => floats("mul"),
        Two::Divide => floats("div"),
        Two::Scale => floats("scalef"),
        Two::Greater => format!("_mm512_range_ps({}, {}, 5)", name(a), name(b)),
        Two::Less => format!("_mm512_range_ps({}, {}, 4)", name(a), name(b)),
        Two::GreaterOrSecond => floats("max"),
        Two::LessOrSecond => floats("min"),
        Two::And => integers("and_si512"),
        Two::Or => integers("or_si512"),
        Two::Xor => integers("xor_si512"),
        Two::AddIntegers => integers("add_epi32"),
        Two::SubtractIntegers => integers("sub_epi32"),
        Two::MultiplyIntegers => integers("mullo_epi32"),
        Two::GreaterInteger => integers("max_epi32"),
        Two::LessInteger => integers("min_epi32"),
    }
}

fn one(op: One, a: Value) -> Result<String, Unsupported> {
    let rounded = |how: u8| format!("_mm512_roundscale_ps({}, {how})", name(a));
    let shifted =
        |op: &str, bits: u8| vector(&format!("_mm512_{op}_epi32({}, {bits})", integer(a)));
    Ok(match op {
        One::Sqrt => format!("_mm512_sqrt_ps({})", name(a)),
        One::ShiftLeft(bits) => shifted("slli", bits),
        One::ShiftRight(bits) => shifted("srli", bits),
        One::ShiftSigned(bits) => shifted("srai", bits),
        One::NearestEven => rounded(8),
        One::Floor => rounded(9),
        One::Ceil => rounded(10),
        One::FromInteger => format!("_mm512_cvtepi32_ps({})", integer(a)),
        One::FromHalf => format!("_mm512_cvtph_ps(_mm512_cvtepi32_epi16({}))", integer(a)),
        One::ToHalf => vector(&format!("_mm512_cvtepu16_epi32(_mm512_cvtps_ph({}, 0))", name(a))),
        One::Narrow | One::NarrowNormal if narrows() => {
            return Err(Unsupported("bf16 by the processor's own rounding".into()));
        }
        One::Narrow | One::NarrowNormal => format!("narrow({})", name(a)),
    })
}

/// Numbers as bf16, by their bits; what is no number stays none.
const NARROW: &str = "static inline __m512 narrow(__m512 x) {
  const __m512i bits = _mm512_castps_si512(x), high = _mm512_srli_epi32(bits, 16);
  const __m512i odd = _mm512_and_si512(high, _mm512_set1_epi32(1));
  const __m512i half = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
  const __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, half), 16);
  const __mmask16 none = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  const __m512i quiet = _mm512_or_si512(high, _mm512_set1_epi32(0x40));
  return _mm512_castsi512_ps(_mm512_mask_blend_epi32(none, rounded, quiet));
}
";

/// A number as C writes it, by its bits.
fn number(number: f32) -> String {
    match number {
        f32::INFINITY => "INFINITY".to_owned(),
        f32::NEG_INFINITY => "(-INFINITY)".to_owned(),
        number if number.is_nan() => "NAN".to_owned(),
        number => format!("{number:e}f"),
    }
}

/// A table as a vector.
fn numbers(table: Table) -> String {
    let bits: Vec<String> = table.bits().iter().map(|bits| format!("(int){bits:#x}u")).collect();
    vector(&format!("_mm512_setr_epi32({})", bits.join(", ")))
}
