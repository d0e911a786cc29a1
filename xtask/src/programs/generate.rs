//! Random programs: a few inputs, then ops on what is there already. Shapes include sizes 0, 1 and odd ones; chains that
//! the engine fuses (softmax, layer norm, bias and activation after products and convolutions) come as a whole, so that
//! fusion is met often. Ops that jump (rounding, comparison) are only made on inputs and integers: there a difference in
//! the last bit would be a difference in everything after.

mod chains;
mod regions;

use std::fmt::Write as _;

/// A value of the program.
#[derive(Debug, Clone)]
struct Value {
    name: String,
    sizes: Vec<usize>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Float,
    Integer,
    Truth,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Float => "f32",
            Self::Integer => "i32",
            Self::Truth => "i1",
        }
    }
}

/// Elements of a value at most: larger ones would make a program slow and show nothing more.
const LARGEST: usize = 20_000;

struct Writer {
    random: fastrand::Rng,
    body: String,
    values: Vec<Value>,
    inputs: Vec<Value>,
    next: usize,
}

/// The type of a tensor.
fn tensor(kind: Kind, sizes: &[usize]) -> String {
    let sizes: String = sizes.iter().map(|size| format!("{size}x")).collect();
    format!("tensor<{sizes}{}>", kind.name())
}

fn ty(value: &Value) -> String {
    tensor(value.kind, &value.sizes)
}

fn list<T: std::fmt::Display>(values: &[T]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn elements(sizes: &[usize]) -> usize {
    sizes.iter().product()
}

/// The text of a program.
pub(super) fn program(seed: u64) -> String {
    let mut writer = Writer {
        random: fastrand::Rng::with_seed(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x51ED),
        body: String::new(),
        values: Vec::new(),
        inputs: Vec::new(),
        next: 0,
    };
    writer.arguments();
    let wanted = writer.random.usize(3..14);
    let mut tries = 0;
    let mut made = 0;
    while made < wanted && tries < 200 {
        tries += 1;
        made += usize::from(writer.op().is_some());
    }
    writer.finish()
}

impl Writer {
    fn size(&mut self) -> usize {
        match self.random.u8(0..100) {
            0..2 => 0,
            2..12 => 1,
            12..70 => self.random.usize(2..12),
            70..90 => self.random.usize(12..40),
            _ => self.random.usize(40..150),
        }
    }

    fn shape(&mut self) -> Vec<usize> {
        loop {
            let rank = self.random.usize(0..5);
            let sizes: Vec<usize> = (0..rank).map(|_| self.size()).collect();
            if elements(&sizes) <= LARGEST {
                return sizes;
            }
        }
    }

    fn arguments(&mut self) {
        let count = self.random.usize(1..4);
        for place in 0..count {
            let sizes = self.shape();
            self.inputs.push(Value { name: format!("%arg{place}"), sizes, kind: Kind::Float });
        }
        if self.random.bool() {
            let sizes = self.shape();
            self.inputs.push(Value { name: format!("%arg{count}"), sizes, kind: Kind::Integer });
        }
        self.values = self.inputs.clone();
    }

    fn finish(mut self) -> String {
        let inputs: Vec<String> =
            self.inputs.iter().map(|input| format!("{}: {}", input.name, ty(input))).collect();
        // The last value and some others, so that values inside of what could be fused are needed outside.
        let mut results = vec![self.values.len() - 1];
        for place in self.inputs.len()..self.values.len() {
            if self.random.u8(0..5) == 0 && !results.contains(&place) {
                results.push(place);
            }
        }
        let results: Vec<&Value> = results.iter().map(|place| &self.values[*place]).collect();
        let types: Vec<String> = results.iter().map(|result| ty(result)).collect();
        let names: Vec<&str> = results.iter().map(|result| result.name.as_str()).collect();
        format!(
            "func.func @main({}) -> ({}) {{\n{}  return {} : {}\n}}\n",
            inputs.join(", "),
            types.join(", "),
            self.body,
            names.join(", "),
            types.join(", ")
        )
    }

    fn fresh(&mut self) -> String {
        self.next += 1;
        format!("%{}", self.next)
    }

    /// Adds a line that makes a value.
    fn emit(&mut self, kind: Kind, sizes: Vec<usize>, line: impl FnOnce(&str) -> String) -> Value {
        let name = self.fresh();
        let line = line(&tensor(kind, &sizes));
        let _ = writeln!(self.body, "  {name} = {line}");
        let value = Value { name, sizes, kind };
        self.values.push(value.clone());
        value
    }

    fn pick(&mut self, fits: impl Fn(&Value) -> bool) -> Option<Value> {
        let found: Vec<&Value> = self.values.iter().filter(|value| fits(value)).collect();
        if found.is_empty() {
            return None;
        }
        // Newer values more often: chains are what is of interest.
        let place = self.random.usize(0..found.len()).max(self.random.usize(0..found.len()));
        Some(found[place].clone())
    }

    fn float(&mut self) -> Option<Value> {
        self.pick(|value| value.kind == Kind::Float)
    }

    fn unary(&mut self, op: &str, a: &Value) -> Value {
        let dialect = if op.starts_with("erf") { "chlo" } else { "stablehlo" };
        let (name, from) = (a.name.clone(), ty(a));
        self.emit(a.kind, a.sizes.clone(), |to| match dialect {
            "chlo" => format!("chlo.{op} {name} : {from} -> {to}"),
            _ => format!("stablehlo.{op} {name} : {to}"),
        })
    }

    fn binary(&mut self, op: &str, a: &Value, b: &Value) -> Value {
        let (a_name, b_name) = (a.name.clone(), b.name.clone());
        self.emit(a.kind, a.sizes.clone(), |to| format!("stablehlo.{op} {a_name}, {b_name} : {to}"))
    }

    /// One number everywhere; a multiple of an eighth, which every float type has.
    fn constant(&mut self, eighths: i32, sizes: &[usize]) -> Value {
        let number = f64::from(eighths) / 8.0;
        self.emit(Kind::Float, sizes.to_vec(), |to| {
            format!("stablehlo.constant dense<{number:e}> : {to}")
        })
    }

    fn spread(&mut self, a: &Value, dimensions: &[usize], sizes: &[usize]) -> Value {
        let (name, from) = (a.name.clone(), ty(a));
        self.emit(a.kind, sizes.to_vec(), |to| {
            let dimensions = list(dimensions);
            format!("stablehlo.broadcast_in_dim {name}, dims = [{dimensions}] : ({from}) -> {to}")
        })
    }

    fn reshape(&mut self, a: &Value, sizes: &[usize]) -> Value {
        let (name, from) = (a.name.clone(), ty(a));
        self.emit(a.kind, sizes.to_vec(), |to| {
            format!("stablehlo.reshape {name} : ({from}) -> {to}")
        })
    }

    fn transpose(&mut self, a: &Value, order: &[usize]) -> Value {
        let (name, from) = (a.name.clone(), ty(a));
        let sizes = order.iter().map(|at| a.sizes[*at]).collect();
        self.emit(a.kind, sizes, |to| {
            format!("stablehlo.transpose {name}, dims = [{}] : ({from}) -> {to}", list(order))
        })
    }

    fn reduce(&mut self, op: &str, a: &Value, dimensions: &[usize]) -> Value {
        let initial = match (op, a.kind) {
            ("add", Kind::Float) => "0.0",
            ("maximum", Kind::Float) => "-1000.0",
            _ => "1",
        };
        let scalar = self
            .emit(a.kind, Vec::new(), |to| format!("stablehlo.constant dense<{initial}> : {to}"));
        let sizes: Vec<usize> = (0..a.sizes.len())
            .filter(|at| !dimensions.contains(at))
            .map(|at| a.sizes[at])
            .collect();
        let (name, from) = (a.name.clone(), ty(a));
        self.emit(a.kind, sizes, |to| {
            format!(
                "stablehlo.reduce({name} init: {}) applies stablehlo.{op} across dimensions = [{}] : ({from}, {}) -> {to}",
                scalar.name,
                list(dimensions),
                ty(&scalar)
            )
        })
    }

    fn some_dimensions(&mut self, rank: usize) -> Vec<usize> {
        (0..rank).filter(|_| self.random.bool()).collect()
    }

    fn order(&mut self, rank: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..rank).collect();
        self.random.shuffle(&mut order);
        order
    }

    /// A float value kept within bounds that later ops like.
    fn tame(&mut self, a: &Value) -> Value {
        self.unary("tanh", a)
    }

    /// One op or one chain; nothing where none fits.
    fn op(&mut self) -> Option<()> {
        match self.random.u8(0..28) {
            0..3 => self.smooth(),
            3..6 => self.arithmetic(),
            6 => self.integers(),
            7 => self.choice(),
            8 => self.placed(),
            9 => self.sliced(),
            10 => self.joined(),
            11..13 => self.reduction(),
            13..16 => self.product(),
            16 => self.heads(),
            17 => self.softmax(),
            18 => self.normalized(),
            19..21 => self.convolution(),
            21 => self.window(),
            22 => self.gathered(),
            23 => self.looped(),
            24 => self.branched(),
            25 => self.scattered(),
            26 => self.sorted(),
            _ => self.moved(),
        }
    }

    fn smooth(&mut self) -> Option<()> {
        let a = self.float()?;
        let direct = ["abs", "negate", "tanh", "logistic", "sine", "cosine", "erf"];
        match self.random.usize(0..direct.len() + 3) {
            place if place < direct.len() => {
                self.unary(direct[place], &a);
            }
            place => {
                // Only where they are smooth.
                let a = self.tame(&a);
                let two = self.constant(16, &a.sizes);
                let positive = self.binary("add", &a, &two);
                let op = ["exponential", "sqrt", "log"][place - direct.len()];
                self.unary(op, &positive);
            }
        }
        Some(())
    }

    fn arithmetic(&mut self) -> Option<()> {
        let a = self.float()?;
        let same = a.sizes.clone();
        let b = match self.random.u8(0..4) {
            0 => {
                let eighths = self.random.i32(-20..21);
                self.constant(eighths, &same)
            }
            1 => self.broadcast_to(&same)?,
            _ => self.pick(|value| value.kind == Kind::Float && value.sizes == same)?,
        };
        let op = ["add", "subtract", "multiply", "maximum", "minimum", "divide"]
            [self.random.usize(0..6)];
        match op {
            "divide" => {
                let b = self.unary("logistic", &b);
                let half = self.constant(4, &b.sizes);
                let b = self.binary("add", &b, &half);
                self.binary("divide", &a, &b);
            }
            "multiply" => {
                let a = self.tame(&a);
                self.binary("multiply", &a, &b);
            }
            op => {
                self.binary(op, &a, &b);
            }
        }
        Some(())
    }

    /// Some value spread to these sizes.
    fn broadcast_to(&mut self, sizes: &[usize]) -> Option<Value> {
        let kept = self.some_dimensions(sizes.len());
        let inner: Vec<usize> = kept.iter().map(|at| sizes[*at]).collect();
        let fits = inner.clone();
        let a = match self.pick(|value| value.kind == Kind::Float && value.sizes == fits) {
            Some(value) => value,
            None => {
                let source = self.float()?;
                let all: Vec<usize> = (0..source.sizes.len()).collect();
                let one = self.reduce("maximum", &source, &all);
                self.spread(&one, &[], &inner)
            }
        };
        Some(self.spread(&a, &kept, sizes))
    }

    fn integers(&mut self) -> Option<()> {
        let a = self.pick(|value| value.kind == Kind::Integer)?;
        let same = a.sizes.clone();
        let b = self.pick(|value| value.kind == Kind::Integer && value.sizes == same)?;
        let ops = ["add", "subtract", "multiply", "maximum", "minimum", "and", "or", "xor"];
        let op = ops[self.random.usize(0..ops.len())];
        let c = self.binary(op, &a, &b);
        if self.random.bool() {
            let (name, from) = (c.name.clone(), ty(&c));
            self.emit(Kind::Float, c.sizes, |to| {
                format!("stablehlo.convert {name} : ({from}) -> {to}")
            });
        }
        Some(())
    }

    /// A choice by a comparison of integers, or of inputs as they are.
    fn choice(&mut self) -> Option<()> {
        let inputs: Vec<String> = self.inputs.iter().map(|input| input.name.clone()).collect();
        let a = self.pick(|value| {
            value.kind == Kind::Integer || value.kind == Kind::Float && inputs.contains(&value.name)
        })?;
        let direction = ["EQ", "NE", "LT", "LE", "GT", "GE"][self.random.usize(0..6)];
        let zero = self.emit(a.kind, a.sizes.clone(), |to| {
            let zero = if a.kind == Kind::Float { "0.125" } else { "0" };
            format!("stablehlo.constant dense<{zero}> : {to}")
        });
        let kind = if a.kind == Kind::Float { "FLOAT" } else { "SIGNED" };
        let truth = self.emit(Kind::Truth, a.sizes.clone(), |to| {
            let from = ty(&a);
            format!(
                "stablehlo.compare {direction}, {}, {}, {kind} : ({from}, {from}) -> {to}",
                a.name, zero.name
            )
        });
        let same = a.sizes.clone();
        let x = self.pick(|value| value.kind == Kind::Float && value.sizes == same)?;
        let y = self.pick(|value| value.kind == Kind::Float && value.sizes == same)?;
        self.emit(Kind::Float, same, |to| {
            format!(
                "stablehlo.select {}, {}, {} : ({}, {to}, {to}) -> {to}",
                truth.name,
                x.name,
                y.name,
                ty(&truth)
            )
        });
        Some(())
    }

    fn placed(&mut self) -> Option<()> {
        let a = self.pick(|value| value.kind != Kind::Truth)?;
        match self.random.u8(0..3) {
            0 => {
                let order = self.order(a.sizes.len());
                self.transpose(&a, &order);
            }
            1 => {
                // Two neighbours as one, or one as two.
                let mut sizes = a.sizes.clone();
                if sizes.len() >= 2 && self.random.bool() {
                    let at = self.random.usize(0..sizes.len() - 1);
                    let size = sizes.remove(at);
                    sizes[at] *= size;
                } else {
                    let at = self.random.usize(0..=sizes.len());
                    sizes.insert(at, 1);
                }
                self.reshape(&a, &sizes);
            }
            _ => {
                let dimensions = self.some_dimensions(a.sizes.len());
                let name = a.name.clone();
                self.emit(a.kind, a.sizes.clone(), |to| {
                    format!("stablehlo.reverse {name}, dims = [{}] : {to}", list(&dimensions))
                });
            }
        }
        Some(())
    }

    fn sliced(&mut self) -> Option<()> {
        let a = self.pick(|value| value.kind != Kind::Truth && !value.sizes.is_empty())?;
        let mut ranges = Vec::new();
        let mut sizes = Vec::new();
        for size in &a.sizes {
            let start = self.random.usize(0..=*size);
            let limit = self.random.usize(start..=*size);
            let step = self.random.usize(1..4);
            ranges.push(format!("{start}:{limit}:{step}"));
            sizes.push((limit - start).div_ceil(step));
        }
        let (name, from) = (a.name.clone(), ty(&a));
        self.emit(a.kind, sizes, |to| {
            format!("stablehlo.slice {name} [{}] : ({from}) -> {to}", ranges.join(", "))
        });
        Some(())
    }

    fn joined(&mut self) -> Option<()> {
        let a = self.pick(|value| value.kind != Kind::Truth && !value.sizes.is_empty())?;
        let at = self.random.usize(0..a.sizes.len());
        let b = self.pick(|value| {
            value.kind == a.kind
                && value.sizes.len() == a.sizes.len()
                && (0..a.sizes.len())
                    .all(|other| other == at || value.sizes[other] == a.sizes[other])
        })?;
        let mut sizes = a.sizes.clone();
        sizes[at] += b.sizes[at];
        if elements(&sizes) > LARGEST {
            return None;
        }
        self.emit(a.kind, sizes, |to| {
            format!(
                "stablehlo.concatenate {}, {}, dim = {at} : ({}, {}) -> {to}",
                a.name,
                b.name,
                ty(&a),
                ty(&b)
            )
        });
        Some(())
    }

    fn reduction(&mut self) -> Option<()> {
        let a = self.pick(|value| value.kind != Kind::Truth)?;
        let dimensions = self.some_dimensions(a.sizes.len());
        let op = if self.random.bool() { "add" } else { "maximum" };
        let reduced = self.reduce(op, &a, &dimensions);
        if a.kind == Kind::Float && self.random.bool() {
            let kept: Vec<usize> =
                (0..a.sizes.len()).filter(|at| !dimensions.contains(at)).collect();
            let spread = self.spread(&reduced, &kept, &a.sizes);
            self.binary("subtract", &a, &spread);
        }
        Some(())
    }

    fn window(&mut self) -> Option<()> {
        let a = self.pick(|value| {
            value.kind != Kind::Truth && !value.sizes.is_empty() && !value.sizes.contains(&0)
        })?;
        let rank = a.sizes.len();
        let window: Vec<usize> =
            a.sizes.iter().map(|size| self.random.usize(1..=(*size).min(3))).collect();
        let strides: Vec<usize> = (0..rank).map(|_| self.random.usize(1..3)).collect();
        let pads: Vec<usize> = window.iter().map(|size| self.random.usize(0..*size)).collect();
        let sizes: Vec<usize> = (0..rank)
            .map(|at| (a.sizes[at] + 2 * pads[at] - window[at]) / strides[at] + 1)
            .collect();
        let (op, initial) = match (self.random.bool(), a.kind) {
            (true, Kind::Float) => ("add", "0.0"),
            (false, Kind::Float) => ("maximum", "0xFF800000"),
            _ => ("add", "0"),
        };
        // A pattern of bits is of one type alone.
        let initial = if initial == "0xFF800000" { "-100000.0" } else { initial };
        let scalar = self
            .emit(a.kind, Vec::new(), |to| format!("stablehlo.constant dense<{initial}> : {to}"));
        let pads: Vec<String> = pads.iter().map(|pad| format!("[{pad}, {pad}]")).collect();
        let element = ty(&scalar);
        self.emit(a.kind, sizes, |to| {
            format!(
                "\"stablehlo.reduce_window\"({}, {}) <{{padding = dense<[{}]> : tensor<{rank}x2xi64>, \
                 window_dimensions = array<i64: {}>, window_strides = array<i64: {}>}}> ({{\n    \
                 ^bb0(%l: {element}, %r: {element}):\n      %s = stablehlo.{op} %l, %r : {element}\n      \
                 stablehlo.return %s : {element}\n  }}) : ({}, {element}) -> {to}",
                a.name,
                scalar.name,
                pads.join(", "),
                list(&window),
                list(&strides),
                ty(&a)
            )
        });
        Some(())
    }

    /// Rows of a table by indices, as embeddings are looked up.
    fn gathered(&mut self) -> Option<()> {
        let a = self.pick(|value| {
            value.kind == Kind::Float && value.sizes.len() == 2 && value.sizes[0] > 0
        })?;
        let indices = self.pick(|value| value.kind == Kind::Integer && value.sizes.len() <= 2)?;
        let mut sizes = indices.sizes.clone();
        let at = sizes.len();
        sizes.push(a.sizes[1]);
        if elements(&sizes) > LARGEST {
            return None;
        }
        self.emit(Kind::Float, sizes, |to| {
            format!(
                "\"stablehlo.gather\"({}, {}) <{{dimension_numbers = #stablehlo.gather<offset_dims = [{at}], \
                 collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = {at}>, \
                 indices_are_sorted = false, slice_sizes = array<i64: 1, {}>}}> : ({}, {}) -> {to}",
                a.name,
                indices.name,
                a.sizes[1],
                ty(&a),
                ty(&indices)
            )
        });
        Some(())
    }

    /// Space around a tensor.
    fn moved(&mut self) -> Option<()> {
        let a = self.pick(|value| value.kind != Kind::Truth && !value.sizes.is_empty())?;
        let mut sizes = Vec::new();
        let (mut low, mut high, mut inner) = (Vec::new(), Vec::new(), Vec::new());
        for size in &a.sizes {
            let (l, h, i) =
                (self.random.usize(0..3), self.random.usize(0..3), self.random.usize(0..2));
            sizes.push(l + h + size + i * size.saturating_sub(1));
            low.push(l);
            high.push(h);
            inner.push(i);
        }
        if elements(&sizes) > LARGEST {
            return None;
        }
        let scalar = self.emit(a.kind, Vec::new(), |to| {
            let two = if a.kind == Kind::Float { "2.0" } else { "2" };
            format!("stablehlo.constant dense<{two}> : {to}")
        });
        self.emit(a.kind, sizes, |to| {
            format!(
                "stablehlo.pad {}, {}, low = [{}], high = [{}], interior = [{}] : ({}, {}) -> {to}",
                a.name,
                scalar.name,
                list(&low),
                list(&high),
                list(&inner),
                ty(&a),
                ty(&scalar)
            )
        });
        Some(())
    }
}
