//! Ops that move elements, add them up or repeat others: their text and their naive meaning.

use super::Builder;
use super::arithmetic::{truth, two};
use super::naive::{Kind, Naive, Number, indices};

/// No value grows beyond so many elements.
const ELEMENTS: usize = 256;

impl Builder<'_> {
    /// Adds an op that looks at more than one element.
    pub(super) fn structure(&mut self) {
        let op: fn(&mut Self) = *self.choices.one_of(&[
            Self::new_constant,
            Self::iota,
            Self::reshape,
            Self::transpose,
            Self::reverse,
            Self::slice,
            Self::broadcast,
            Self::concatenate,
            Self::pad,
            Self::reduce,
            Self::product,
            Self::dynamic_slice,
            Self::dynamic_update_slice,
            Self::gather,
            Self::sort,
            Self::branch,
            Self::repeat,
        ] as &[fn(&mut Self)]);
        op(self);
    }

    fn new_constant(&mut self) {
        self.constant();
    }

    fn iota(&mut self) {
        let rank = 1 + self.choices.below(3);
        let sizes: Vec<usize> = (0..rank).map(|_| self.choices.below(4)).collect();
        let dimension = self.choices.below(rank);
        let result =
            Naive::of(Kind::Integer, sizes, |index| Number::Integer(index[dimension] as i32));
        self.push(&format!("stablehlo.iota dim = {dimension} : {}", result.ty()), result);
    }

    fn reshape(&mut self) {
        let Some(place) = self.any(|_| true) else { return };
        let value = self.values[place].clone();
        let mut sizes = match self.choices.below(3) {
            0 => vec![value.numbers.len()],
            1 => value.sizes.iter().rev().copied().collect(),
            _ => value.sizes.clone(),
        };
        let at = self.choices.below(sizes.len() + 1);
        sizes.insert(at, 1);
        let result = Naive { sizes, ..value.clone() };
        let line = format!("stablehlo.reshape %v{place} : ({}) -> {}", value.ty(), result.ty());
        self.push(&line, result);
    }

    fn transpose(&mut self) {
        let Some(place) = self.any(|_| true) else { return };
        let value = self.values[place].clone();
        let mut left: Vec<usize> = (0..value.sizes.len()).collect();
        let mut order = Vec::new();
        while !left.is_empty() {
            let at = self.choices.below(left.len());
            order.push(left.remove(at));
        }
        let sizes = order.iter().map(|dimension| value.sizes[*dimension]).collect();
        let result = Naive::of(value.kind, sizes, |index| {
            let mut from = vec![0; index.len()];
            for (to, dimension) in order.iter().enumerate() {
                from[*dimension] = index[to];
            }
            value.at(&from)
        });
        let line = format!(
            "stablehlo.transpose %v{place}, dims = {order:?} : ({}) -> {}",
            value.ty(),
            result.ty()
        );
        self.push(&line, result);
    }

    fn reverse(&mut self) {
        let Some(place) = self.any(|_| true) else { return };
        let value = self.values[place].clone();
        let dimensions: Vec<usize> =
            (0..value.sizes.len()).filter(|_| self.choices.below(2) == 1).collect();
        let result = Naive::of(value.kind, value.sizes.clone(), |index| {
            let mut from = index.to_vec();
            for dimension in &dimensions {
                from[*dimension] = value.sizes[*dimension] - 1 - index[*dimension];
            }
            value.at(&from)
        });
        let line = format!("stablehlo.reverse %v{place}, dims = {dimensions:?} : {}", value.ty());
        self.push(&line, result);
    }

    fn slice(&mut self) {
        let Some(place) = self.any(|value| !value.sizes.is_empty()) else { return };
        let value = self.values[place].clone();
        let mut ranges = Vec::new();
        for size in &value.sizes {
            let start = self.choices.below(size + 1);
            let limit = start + self.choices.below(size - start + 1);
            ranges.push((start, limit, 1 + self.choices.below(3)));
        }
        let sizes = ranges.iter().map(|(start, limit, step)| (limit - start).div_ceil(*step));
        let result = Naive::of(value.kind, sizes.collect(), |index| {
            let from = index.iter().zip(&ranges).map(|(index, (start, _, step))| start + index * step);
            value.at(&from.collect::<Vec<_>>())
        });
        let text: Vec<String> =
            ranges.iter().map(|(start, limit, step)| format!("{start}:{limit}:{step}")).collect();
        let line = format!(
            "stablehlo.slice %v{place} [{}] : ({}) -> {}",
            text.join(", "),
            value.ty(),
            result.ty()
        );
        self.push(&line, result);
    }

    fn broadcast(&mut self) {
        let Some(place) = self.any(|value| value.numbers.len() * 3 <= ELEMENTS && value.sizes.len() < 5)
        else {
            return;
        };
        let value = self.values[place].clone();
        let new = self.choices.below(value.sizes.len() + 1);
        let mut sizes = value.sizes.clone();
        if let Some(size) = sizes.iter_mut().find(|size| **size == 1) {
            *size = 1 + self.choices.below(3);
        }
        sizes.insert(new, 1 + self.choices.below(2));
        if sizes.iter().product::<usize>() > ELEMENTS {
            return;
        }
        let dimensions: Vec<usize> = (0..sizes.len()).filter(|dimension| *dimension != new).collect();
        let result = Naive::of(value.kind, sizes, |index| {
            let from = dimensions.iter().zip(&value.sizes);
            let from = from.map(|(dimension, size)| if *size == 1 { 0 } else { index[*dimension] });
            value.at(&from.collect::<Vec<_>>())
        });
        let line = format!(
            "stablehlo.broadcast_in_dim %v{place}, dims = {dimensions:?} : ({}) -> {}",
            value.ty(),
            result.ty()
        );
        self.push(&line, result);
    }

    fn concatenate(&mut self) {
        let fits = |value: &Naive| !value.sizes.is_empty() && value.numbers.len() * 2 <= ELEMENTS;
        let Some(left) = self.any(fits) else { return };
        let right = self.like(left);
        let (a, b) = (self.values[left].clone(), self.values[right].clone());
        let dimension = self.choices.below(a.sizes.len());
        let mut sizes = a.sizes.clone();
        sizes[dimension] *= 2;
        let result = Naive::of(a.kind, sizes, |index| {
            let mut from = index.to_vec();
            if index[dimension] < a.sizes[dimension] {
                return a.at(&from);
            }
            from[dimension] -= a.sizes[dimension];
            b.at(&from)
        });
        let line = format!(
            "stablehlo.concatenate %v{left}, %v{right}, dim = {dimension} : ({}, {}) -> {}",
            a.ty(),
            b.ty(),
            result.ty()
        );
        self.push(&line, result);
    }

    fn pad(&mut self) {
        let Some(place) = self.any(|value| !value.sizes.is_empty() && value.numbers.len() <= 32) else {
            return;
        };
        let value = self.values[place].clone();
        let filler = self.constant_of(value.kind, Vec::new());
        let fill = self.values[filler].numbers[0];
        let mut edges = Vec::new();
        for size in &value.sizes {
            let inner = self.choices.below(2);
            let spread = size + size.saturating_sub(1) * inner;
            let low = self.choices.below(3) as i64 - 1;
            let high = self.choices.below(3) as i64 - 1;
            // Cutting may not take more than there is.
            let (low, high) = if spread as i64 + low + high < 0 { (0, 0) } else { (low, high) };
            edges.push((low, high, inner as i64));
        }
        let sizes: Vec<usize> = value
            .sizes
            .iter()
            .zip(&edges)
            .map(|(size, (low, high, inner))| {
                let spread = *size as i64 + size.saturating_sub(1) as i64 * inner;
                (spread + low + high) as usize
            })
            .collect();
        if sizes.iter().product::<usize>() > ELEMENTS {
            return;
        }
        let result = Naive::of(value.kind, sizes, |index| {
            let mut from = Vec::new();
            for ((index, (low, _, inner)), size) in index.iter().zip(&edges).zip(&value.sizes) {
                let place = *index as i64 - low;
                let step = inner + 1;
                if place < 0 || place % step != 0 || place / step >= *size as i64 {
                    return fill;
                }
                from.push((place / step) as usize);
            }
            value.at(&from)
        });
        let list = |part: fn(&(i64, i64, i64)) -> i64| -> Vec<i64> { edges.iter().map(part).collect() };
        let scalar = self.values[filler].ty();
        let line = format!(
            "stablehlo.pad %v{place}, %v{filler}, low = {:?}, high = {:?}, interior = {:?} : ({}, {scalar}) -> {}",
            list(|edge| edge.0),
            list(|edge| edge.1),
            list(|edge| edge.2),
            value.ty(),
            result.ty()
        );
        self.push(&line, result);
    }

    fn reduce(&mut self) {
        let Some(place) = self.any(|_| true) else { return };
        let value = self.values[place].clone();
        let names: &[&str] = match value.kind {
            Kind::Integer => &["add", "multiply", "maximum", "minimum", "and", "or", "xor"],
            // The order of sums of floats is not stated.
            Kind::Float => &["maximum", "minimum"],
            Kind::Boolean => &["and", "or"],
        };
        let name = *self.choices.one_of(names);
        let start = self.constant_of(value.kind, Vec::new());
        let begin = self.values[start].numbers[0];
        let across: Vec<usize> =
            (0..value.sizes.len()).filter(|_| self.choices.below(2) == 1).collect();
        let kept: Vec<usize> = (0..value.sizes.len()).filter(|at| !across.contains(at)).collect();
        let sizes = kept.iter().map(|dimension| value.sizes[*dimension]).collect();
        let every = indices(&value.sizes);
        let result = Naive::of(value.kind, sizes, |index| {
            let mut total = begin;
            for from in &every {
                if kept.iter().zip(index).all(|(dimension, at)| from[*dimension] == *at) {
                    total = two(name, total, value.at(from));
                }
            }
            total
        });
        let line = format!(
            "stablehlo.reduce(%v{place} init: %v{start}) applies stablehlo.{name} across dimensions = {across:?} : ({}, {}) -> {}",
            value.ty(),
            self.values[start].ty(),
            result.ty()
        );
        self.push(&line, result);
    }

    fn product(&mut self) {
        let Some(left) = self.any(|value| value.kind == Kind::Integer && value.sizes.len() == 2) else {
            return;
        };
        let right = self.like(left);
        let (a, b) = (self.values[left].clone(), self.values[right].clone());
        let along = self.choices.below(2);
        let kept = 1 - along;
        let sizes = vec![a.sizes[kept], b.sizes[kept]];
        if sizes.iter().product::<usize>() > ELEMENTS {
            return;
        }
        let at = |value: &Naive, kept_at: usize, along_at: usize| {
            let mut index = [0; 2];
            index[kept] = kept_at;
            index[along] = along_at;
            value.at(&index)
        };
        let result = Naive::of(Kind::Integer, sizes, |index| {
            (0..a.sizes[along]).fold(Number::Integer(0), |total, step| {
                let term = two("multiply", at(&a, index[0], step), at(&b, index[1], step));
                two("add", total, term)
            })
        });
        let line = format!(
            "stablehlo.dot_general %v{left}, %v{right}, contracting_dims = [{along}] x [{along}] : ({}, {}) -> {}",
            a.ty(),
            b.ty(),
            result.ty()
        );
        self.push(&line, result);
    }

    /// Constants for the start of a slice, also outside of the operand, and where that really is.
    fn starts(&mut self, sizes: &[usize], window: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let mut places = Vec::new();
        let mut starts = Vec::new();
        for (size, window) in sizes.iter().zip(window) {
            let wanted = self.choices.below(8) as i32 - 2;
            let number = vec![Number::Integer(wanted)];
            places.push(self.given(Naive { kind: Kind::Integer, sizes: Vec::new(), numbers: number }));
            starts.push(wanted.clamp(0, (size - window) as i32) as usize);
        }
        (places, starts)
    }

    fn dynamic_slice(&mut self) {
        let Some(place) = self.any(|value| !value.sizes.is_empty()) else { return };
        let value = self.values[place].clone();
        let window: Vec<usize> =
            value.sizes.iter().map(|size| self.choices.below(size + 1)).collect();
        let (places, starts) = self.starts(&value.sizes, &window);
        let result = Naive::of(value.kind, window.clone(), |index| {
            let from: Vec<usize> = index.iter().zip(&starts).map(|(index, start)| index + start).collect();
            value.at(&from)
        });
        let names: String = places.iter().map(|place| format!(", %v{place}")).collect();
        let types = ", tensor<i32>".repeat(places.len());
        let line = format!(
            "stablehlo.dynamic_slice %v{place}{names}, sizes = {window:?} : ({}{types}) -> {}",
            value.ty(),
            result.ty()
        );
        self.push(&line, result);
    }

    fn dynamic_update_slice(&mut self) {
        let Some(place) = self.any(|value| !value.sizes.is_empty()) else { return };
        let value = self.values[place].clone();
        let window: Vec<usize> =
            value.sizes.iter().map(|size| self.choices.below(size + 1)).collect();
        let update = self.constant_of(value.kind, window.clone());
        let (places, starts) = self.starts(&value.sizes, &window);
        let new = self.values[update].clone();
        let result = Naive::of(value.kind, value.sizes.clone(), |index| {
            let inner = index.iter().zip(&starts).map(|(index, start)| index.checked_sub(*start));
            let inner: Option<Vec<usize>> = inner.collect();
            match inner.filter(|inner| inner.iter().zip(&window).all(|(at, size)| at < size)) {
                Some(inner) => new.at(&inner),
                None => value.at(index),
            }
        });
        let names: String = places.iter().map(|place| format!(", %v{place}")).collect();
        let types = ", tensor<i32>".repeat(places.len());
        let line = format!(
            "stablehlo.dynamic_update_slice %v{place}, %v{update}{names} : ({}, {}{types}) -> {}",
            value.ty(),
            new.ty(),
            result.ty()
        );
        self.push(&line, result);
    }

    fn gather(&mut self) {
        let fits = |value: &Naive| value.sizes.len() == 2 && value.sizes[0] > 0;
        let Some(place) = self.any(fits) else { return };
        let value = self.values[place].clone();
        let rows = self.choices.below(4);
        let which = self.constant_of(Kind::Integer, vec![rows, 1]);
        let wanted = self.values[which].clone();
        let (count, width) = (value.sizes[0], value.sizes[1]);
        let result = Naive::of(value.kind, vec![rows, width], |index| {
            let Number::Integer(row) = wanted.at(&[index[0], 0]) else { return value.numbers[0] };
            value.at(&[row.clamp(0, count as i32 - 1) as usize, index[1]])
        });
        let line = format!(
            "\"stablehlo.gather\"(%v{place}, %v{which}) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, {width}>}}> : ({}, {}) -> {}",
            value.ty(),
            wanted.ty(),
            result.ty()
        );
        self.push(&line, result);
    }

    fn sort(&mut self) {
        let Some(place) = self.any(|value| value.kind == Kind::Integer && !value.sizes.is_empty()) else {
            return;
        };
        let value = self.values[place].clone();
        let dimension = self.choices.below(value.sizes.len());
        let result = Naive::of(Kind::Integer, value.sizes.clone(), |index| {
            let mut row: Vec<i32> = (0..value.sizes[dimension])
                .map(|at| {
                    let mut from = index.to_vec();
                    from[dimension] = at;
                    match value.at(&from) {
                        Number::Integer(number) => number,
                        _ => 0,
                    }
                })
                .collect();
            row.sort_unstable();
            Number::Integer(row[index[dimension]])
        });
        let line = format!(
            "\"stablehlo.sort\"(%v{place}) <{{dimension = {dimension} : i64, is_stable = true}}> ({{\n  ^bb0(%a: tensor<i32>, %b: tensor<i32>):\n    %c = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n    stablehlo.return %c : tensor<i1>\n  }}) : ({ty}) -> {ty}",
            ty = value.ty()
        );
        self.push(&line, result);
    }

    fn branch(&mut self) {
        let scalar = |value: &Naive| value.kind == Kind::Boolean && value.sizes.is_empty();
        let Some(choice) = self.any(scalar) else { return };
        let Some(left) = self.any(|_| true) else { return };
        let right = self.like(left);
        let taken = truth(self.values[choice].numbers[0]);
        let result = self.values[if taken { left } else { right }].clone();
        let ty = result.ty();
        let line = format!(
            "\"stablehlo.if\"(%v{choice}) ({{\n    stablehlo.return %v{left} : {ty}\n  }}, {{\n    stablehlo.return %v{right} : {ty}\n  }}) : (tensor<i1>) -> {ty}"
        );
        self.push(&line, result);
    }

    fn repeat(&mut self) {
        let Some(place) = self.any(|value| value.kind == Kind::Integer) else { return };
        let value = self.values[place].clone();
        let rounds = self.choices.below(5);
        let scalar = |number: i32| Naive {
            kind: Kind::Integer,
            sizes: Vec::new(),
            numbers: vec![Number::Integer(number)],
        };
        let (zero, one) = (self.given(scalar(0)), self.given(scalar(1)));
        let last = self.given(scalar(rounds as i32));
        let mut result = value.clone();
        for _ in 0..rounds {
            let numbers = result.numbers.iter().zip(&value.numbers);
            let numbers = numbers.map(|(total, number)| two("multiply", *total, *number)).collect();
            result = Naive { numbers, ..result };
        }
        let ty = value.ty();
        let name = self.values.len();
        let text = format!(
            "  %w{name}:2 = stablehlo.while(%i = %v{zero}, %x = %v{place}) : tensor<i32>, {ty}\n  cond {{\n    %c = stablehlo.compare LT, %i, %v{last}, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n    stablehlo.return %c : tensor<i1>\n  }} do {{\n    %y = stablehlo.multiply %x, %v{place} : {ty}\n    %j = stablehlo.add %i, %v{one} : tensor<i32>\n    stablehlo.return %j, %y : tensor<i32>, {ty}\n  }}\n"
        );
        self.lines.push_str(&text);
        self.push(&format!("stablehlo.optimization_barrier %w{name}#1 : {ty}"), result);
    }
}
