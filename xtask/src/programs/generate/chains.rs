//! Chains of ops that the engine fuses, each as a whole: products and convolutions with what follows them, heads of attention,
//! softmax, layer norm.

use super::{Kind, LARGEST, Value, Writer, elements, ty};

impl Writer {
    /// A product, with what often follows one.
    pub(super) fn product(&mut self) -> Option<()> {
        let a = self.pick(|value| value.kind == Kind::Float && !value.sizes.is_empty())?;
        let a = self.tame(&a);
        let depth_at = self.random.usize(0..a.sizes.len());
        let depth = a.sizes[depth_at];
        let columns = self.size().min(60);
        let b = self.weights(&[depth, columns])?;
        let turned = self.random.bool();
        let b = if turned { self.transpose(&b, &[1, 0]) } else { b };
        let mut sizes: Vec<usize> = a
            .sizes
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != depth_at)
            .map(|(_, size)| *size)
            .collect();
        sizes.push(columns);
        if elements(&sizes) > LARGEST {
            return None;
        }
        let result = self.emit(Kind::Float, sizes, |to| {
            format!(
                "stablehlo.dot_general {}, {}, contracting_dims = [{depth_at}] x [{}] : ({}, {}) -> {to}",
                a.name,
                b.name,
                usize::from(turned),
                ty(&a),
                ty(&b)
            )
        });
        self.followed(result)
    }

    /// A tensor of these sizes, made of what is there.
    pub(super) fn weights(&mut self, sizes: &[usize]) -> Option<Value> {
        let wanted = sizes.to_vec();
        if let Some(value) = self.pick(|value| value.kind == Kind::Float && value.sizes == wanted) {
            return Some(value);
        }
        let at = self.random.usize(0..sizes.len().max(1)).min(sizes.len().saturating_sub(1));
        let iota = self
            .emit(Kind::Float, sizes.to_vec(), |to| format!("stablehlo.iota dim = {at} : {to}"));
        let eighths = self.random.i32(1..30);
        let factor = self.constant(eighths, sizes);
        let scaled = self.binary("multiply", &iota, &factor);
        let waves = self.unary("sine", &scaled);
        let one = self.broadcast_to(sizes)?;
        let one = self.tame(&one);
        Some(self.binary("add", &waves, &one))
    }

    /// Bias, activation, residual: some of them.
    fn followed(&mut self, result: Value) -> Option<()> {
        let mut value = result;
        let last = value.sizes.len() - 1;
        if self.random.bool() {
            let bias = self.weights(&[value.sizes[last]])?;
            let sizes = value.sizes.clone();
            let bias = self.spread(&bias, &[last], &sizes);
            value = self.binary("add", &value, &bias);
        }
        match self.random.u8(0..6) {
            0 => {
                let zero = self.constant(0, &value.sizes.clone());
                value = self.binary("maximum", &value, &zero);
            }
            1 => value = self.unary("tanh", &value),
            2 => {
                let gate = self.unary("logistic", &value);
                value = self.binary("multiply", &value, &gate);
            }
            3 => {
                let sizes = value.sizes.clone();
                let half = self.constant(4, &sizes);
                let scaled = self.binary("multiply", &value, &half);
                let root = self.emit(Kind::Float, sizes.clone(), |to| {
                    format!("stablehlo.constant dense<0.70710678118654757> : {to}")
                });
                let negative = self.unary("negate", &value);
                let inside = self.binary("multiply", &negative, &root);
                let erfc = self.unary("erfc", &inside);
                value = self.binary("multiply", &scaled, &erfc);
            }
            _ => {}
        }
        if self.random.bool() {
            let same = value.sizes.clone();
            let other = self.pick(|other| other.kind == Kind::Float && other.sizes == same)?;
            self.binary("add", &value, &other);
        }
        Some(())
    }

    /// Products of heads, as attention has them.
    pub(super) fn heads(&mut self) -> Option<()> {
        let (rows, heads, width) =
            (self.random.usize(1..20), self.random.usize(1..5), self.random.usize(1..9));
        let x = self.weights(&[rows, heads * width])?;
        let x = self.tame(&x);
        let split = self.reshape(&x, &[rows, heads, width]);
        let q = self.transpose(&split, &[1, 0, 2]);
        let scores = self.emit(Kind::Float, vec![heads, rows, rows], |to| {
            format!(
                "stablehlo.dot_general {}, {}, batching_dims = [0] x [0], contracting_dims = [2] x [2] : ({}, {}) -> {to}",
                q.name,
                q.name,
                ty(&q),
                ty(&q)
            )
        });
        let shares = self.softmax_of(&scores);
        let mixed = self.emit(Kind::Float, vec![heads, rows, width], |to| {
            format!(
                "stablehlo.dot_general {}, {}, batching_dims = [0] x [0], contracting_dims = [2] x [1] : ({}, {}) -> {to}",
                shares.name,
                q.name,
                ty(&shares),
                ty(&q)
            )
        });
        let back = self.transpose(&mixed, &[1, 0, 2]);
        self.reshape(&back, &[rows, heads * width]);
        Some(())
    }

    pub(super) fn softmax(&mut self) -> Option<()> {
        let a = self.pick(|value| value.kind == Kind::Float && !value.sizes.is_empty())?;
        self.softmax_of(&a);
        Some(())
    }

    fn softmax_of(&mut self, a: &Value) -> Value {
        let last = a.sizes.len() - 1;
        let outer: Vec<usize> = (0..last).collect();
        let max = self.reduce("maximum", a, &[last]);
        let max = self.spread(&max, &outer, &a.sizes);
        let less = self.binary("subtract", a, &max);
        let powers = self.unary("exponential", &less);
        let sum = self.reduce("add", &powers, &[last]);
        let sum = self.spread(&sum, &outer, &a.sizes);
        self.binary("divide", &powers, &sum)
    }

    pub(super) fn normalized(&mut self) -> Option<()> {
        let a = self.pick(|value| value.kind == Kind::Float && !value.sizes.is_empty())?;
        let last = a.sizes.len() - 1;
        if a.sizes[last] < 2 {
            return None;
        }
        let outer: Vec<usize> = (0..last).collect();
        let count = self.constant(8 * a.sizes[last] as i32, &a.sizes[..last]);
        let sum = self.reduce("add", &a, &[last]);
        let mean = self.binary("divide", &sum, &count);
        let mean = self.spread(&mean, &outer, &a.sizes);
        let less = self.binary("subtract", &a, &mean);
        let square = self.binary("multiply", &less, &less);
        let sum = self.reduce("add", &square, &[last]);
        let variance = self.binary("divide", &sum, &count);
        let eighth = self.constant(1, &variance.sizes.clone());
        let variance = self.binary("add", &variance, &eighth);
        let root = self.unary("rsqrt", &variance);
        let root = self.spread(&root, &outer, &a.sizes);
        let whole = self.binary("multiply", &less, &root);
        let scale = self.weights(&[a.sizes[last]])?;
        let scale = self.spread(&scale, &[last], &a.sizes);
        self.binary("multiply", &whole, &scale);
        Some(())
    }

    /// A convolution with features first or last, and what often follows one.
    pub(super) fn convolution(&mut self) -> Option<()> {
        let (batch, groups) =
            (self.random.usize(1..3), if self.random.u8(0..4) == 0 { 2 } else { 1 });
        let (from, to) = (groups * self.random.usize(1..6), groups * self.random.usize(1..9));
        let (height, width) = (self.random.usize(3..10), self.random.usize(3..10));
        let (kernel, stride, pad) =
            (self.random.usize(1..4), self.random.usize(1..3), self.random.usize(0..2));
        let first = self.random.bool();
        let x_sizes =
            if first { [batch, from, height, width] } else { [batch, height, width, from] };
        let x = self.weights(&x_sizes)?;
        let x = self.tame(&x);
        let w_sizes = if first {
            [to, from / groups, kernel, kernel]
        } else {
            [kernel, kernel, from / groups, to]
        };
        let w = self.weights(&w_sizes)?;
        let w = self.tame(&w);
        let out = |size: usize| (size + 2 * pad - kernel) / stride + 1;
        let sizes = if first {
            vec![batch, to, out(height), out(width)]
        } else {
            vec![batch, out(height), out(width), to]
        };
        let numbers = if first {
            "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]"
        } else {
            "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"
        };
        let mut value = self.emit(Kind::Float, sizes.clone(), |ty_to| {
            format!(
                "stablehlo.convolution({}, {}) dim_numbers = {numbers}, window = {{stride = [{stride}, {stride}], \
                 pad = [[{pad}, {pad}], [{pad}, {pad}]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], \
                 reverse = [false, false]}} {{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}} : \
                 ({}, {}) -> {ty_to}",
                x.name,
                w.name,
                ty(&x),
                ty(&w)
            )
        });
        let feature = if first { 1 } else { 3 };
        for op in ["subtract", "multiply", "add"] {
            if self.random.bool() {
                let vector = self.weights(&[to])?;
                let vector = self.tame(&vector);
                let vector = self.spread(&vector, &[feature], &sizes);
                value = self.binary(op, &value, &vector);
            }
        }
        if self.random.bool() {
            let same = sizes.clone();
            let other = self.pick(|other| other.kind == Kind::Float && other.sizes == same)?;
            value = self.binary("add", &value, &other);
        }
        if self.random.bool() {
            let zero = self.constant(0, &sizes);
            self.binary("maximum", &value, &zero);
        }
        Some(())
    }
}
