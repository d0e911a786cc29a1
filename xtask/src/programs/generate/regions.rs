//! Ops with regions: loops, choices, scatters, sorts, gradients of maxima over windows. What jumps where numbers are close
//! (sorting, choosing the greatest) is only made on inputs.

use super::{Kind, LARGEST, Value, Writer, list, tensor, ty};

impl Writer {
    fn input(&mut self, fits: impl Fn(&Value) -> bool) -> Option<Value> {
        let found: Vec<&Value> = self.inputs.iter().filter(|value| fits(value)).collect();
        if found.is_empty() {
            return None;
        }
        let place = self.random.usize(0..found.len());
        Some(found[place].clone())
    }

    /// A loop that carries a value, reads another one, and writes a row of a third in every iteration.
    pub(super) fn looped(&mut self) -> Option<()> {
        let a = self.float()?;
        let a = self.tame(&a);
        let captured = self.broadcast_to(&a.sizes)?;
        let count = self.random.usize(0..4);
        let mut rows = vec![4];
        rows.extend(&a.sizes);
        if rows.iter().product::<usize>() > LARGEST {
            return None;
        }
        let kept = self.constant(4, &rows);
        let (one, all, whole) = (ty(&a), ty(&kept), list(&a.sizes));
        let sizes = if whole.is_empty() { "1".to_owned() } else { format!("1, {whole}") };
        let mut row = vec![1];
        row.extend(&a.sizes);
        let row = tensor(Kind::Float, &row);
        let starts = |name: &str| {
            let zeros = vec!["%z"; a.sizes.len()];
            let mut starts = vec![name];
            starts.extend(zeros);
            (starts.join(", "), vec!["tensor<i32>"; a.sizes.len() + 1].join(", "))
        };
        let (at, at_types) = starts("%i");
        let zero = self
            .emit(Kind::Integer, Vec::new(), |to| format!("stablehlo.constant dense<0> : {to}"));
        let name = self.fresh();
        let reads = self.random.bool();
        let read = if reads {
            format!(
                "    %s = stablehlo.dynamic_slice %k, {at}, sizes = [{sizes}] : ({all}, {at_types}) -> {row}\n    \
                 %t = stablehlo.reshape %s : ({row}) -> {one}\n    %u = stablehlo.add %y, %t : {one}\n"
            )
        } else {
            format!("    %u = stablehlo.negate %y : {one}\n")
        };
        self.body.push_str(&format!(
            "  {name}:3 = stablehlo.while(%i = {zero}, %x = {a_name}, %k = {kept}) : tensor<i32>, {one}, {all}\n   cond {{\n    \
             %n = stablehlo.constant dense<{count}> : tensor<i32>\n    \
             %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n    \
             stablehlo.return %c : tensor<i1>\n  }} do {{\n    \
             %z = stablehlo.constant dense<0> : tensor<i32>\n    %o = stablehlo.constant dense<1> : tensor<i32>\n    \
             %h = stablehlo.constant dense<5.000000e-01> : {one}\n    %m = stablehlo.multiply %x, %h : {one}\n    \
             %y = stablehlo.add %m, {captured} : {one}\n{read}    %v = stablehlo.tanh %u : {one}\n    \
             %r = stablehlo.reshape %v : ({one}) -> {row}\n    \
             %w = stablehlo.dynamic_update_slice %k, %r, {at} : ({all}, {row}, {at_types}) -> {all}\n    \
             %j = stablehlo.add %i, %o : tensor<i32>\n    \
             stablehlo.return %j, %v, %w : tensor<i32>, {one}, {all}\n  }}\n",
            zero = zero.name,
            a_name = a.name,
            kept = kept.name,
            captured = captured.name,
        ));
        let named =
            |place: usize, of: &Value| Value { name: format!("{name}#{place}"), ..of.clone() };
        self.values.extend([named(1, &a), named(2, &kept)]);
        Some(())
    }

    /// A choice between two ways to compute a value.
    pub(super) fn branched(&mut self) -> Option<()> {
        let a = self.float()?;
        let b = self.broadcast_to(&a.sizes)?;
        let chosen = self.random.bool();
        let truth = self.emit(Kind::Truth, Vec::new(), |to| {
            format!("stablehlo.constant dense<{chosen}> : {to}")
        });
        let (a_name, b_name) = (a.name.clone(), b.name);
        self.emit(Kind::Float, a.sizes.clone(), |to| {
            format!(
                "\"stablehlo.if\"({}) ({{\n    %p = stablehlo.add {a_name}, {b_name} : {to}\n    \
                 %q = stablehlo.tanh %p : {to}\n    stablehlo.return %q : {to}\n  }}, {{\n    \
                 stablehlo.return {b_name} : {to}\n  }}) : (tensor<i1>) -> {to}",
                truth.name
            )
        });
        Some(())
    }

    /// Updates added to, or put in place of, rows that indices say.
    pub(super) fn scattered(&mut self) -> Option<()> {
        let a = self.pick(|value| value.kind == Kind::Float && value.sizes.len() == 2)?;
        let indices = self.pick(|value| value.kind == Kind::Integer && value.sizes.len() == 1)?;
        let sizes = [indices.sizes[0], a.sizes[1]];
        if sizes.iter().product::<usize>() > LARGEST {
            return None;
        }
        let updates = self.broadcast_to(&sizes)?;
        let op = ["add", "maximum", "multiply"][self.random.usize(0..3)];
        let body = if self.random.u8(0..4) == 0 {
            "stablehlo.return %v : tensor<f32>".to_owned()
        } else {
            format!(
                "%s = stablehlo.{op} %u, %v : tensor<f32>\n    stablehlo.return %s : tensor<f32>"
            )
        };
        let types = [&a, &indices, &updates].map(ty).join(", ");
        self.emit(Kind::Float, a.sizes.clone(), |to| {
            format!(
                "\"stablehlo.scatter\"({}, {}, {}) <{{scatter_dimension_numbers = #stablehlo.scatter<\
                 update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], \
                 index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}}> ({{\n   \
                 ^bb0(%u: tensor<f32>, %v: tensor<f32>):\n    {body}\n  }}) : ({types}) -> {to}",
                a.name, indices.name, updates.name
            )
        });
        Some(())
    }

    /// An input sorted, and something else with it.
    pub(super) fn sorted(&mut self) -> Option<()> {
        let a = self.input(|value| !value.sizes.is_empty())?;
        let other = self.broadcast_to(&a.sizes)?;
        let along = self.random.usize(0..a.sizes.len());
        let direction = ["LT", "GT"][self.random.usize(0..2)];
        let kind = if a.kind == Kind::Float { "TOTALORDER" } else { "SIGNED" };
        let name = self.fresh();
        let (first, second, element) = (ty(&a), ty(&other), a.kind.name());
        self.body.push_str(&format!(
            "  {name}:2 = \"stablehlo.sort\"({}, {}) <{{dimension = {along} : i64, is_stable = true}}> ({{\n   \
             ^bb0(%a: tensor<{element}>, %b: tensor<{element}>, %c: tensor<f32>, %d: tensor<f32>):\n    \
             %p = stablehlo.compare {direction}, %a, %b, {kind} : (tensor<{element}>, tensor<{element}>) -> tensor<i1>\n    \
             stablehlo.return %p : tensor<i1>\n  }}) : ({first}, {second}) -> ({first}, {second})\n",
            a.name, other.name
        ));
        let named =
            |place: usize, of: &Value| Value { name: format!("{name}#{place}"), ..of.clone() };
        self.values.extend([named(0, &a), named(1, &other)]);
        Some(())
    }
}
