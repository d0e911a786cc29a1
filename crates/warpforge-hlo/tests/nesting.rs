//! The deepest programs that the limits let through are read, judged, printed and dropped on a stack of one mebibyte.
#![allow(clippy::unwrap_used)]

use warpforge_hlo::{HloError, Limits, parse, parse_verified};

/// Text that opens and closes something so many times around an inside.
fn nested(open: &str, inside: &str, close: &str, depth: usize) -> String {
    format!("{}{inside}{}", open.repeat(depth), close.repeat(depth))
}

/// Programs that nest one thing each.
fn programs(depth: usize) -> Vec<String> {
    let branches = nested(
        "\"stablehlo.case\"(%i) ({\n",
        "stablehlo.return\n",
        "}) : (tensor<i32>) -> ()\n stablehlo.return\n",
        depth,
    );
    // The outermost region is the function's.
    let branches = branches.strip_suffix("stablehlo.return\n").unwrap();
    let loops = nested(
        "%r = stablehlo.while(%a = %i) : tensor<i32>\n cond {\n stablehlo.return %p : tensor<i1>\n } do {\n",
        "",
        "stablehlo.return %i : tensor<i32>\n }\n",
        depth,
    );
    // Each loop has names of its own.
    let loops =
        loops.split("%r").enumerate().fold(String::new(), |text, (index, part)| match index {
            0 => part.to_owned(),
            _ => format!("{text}%r{index}{}", part.replace("%a", &format!("%a{index}"))),
        });
    let tuple = nested("tuple<", "tensor<f32>", ">", depth);
    let aliases: String =
        (1..depth).map(|level| format!("!t{level} = tuple<!t{}>\n", level - 1)).collect();
    let attribute = nested("[", "1", "]", depth);
    let dictionary = nested("{a = ", "1", "}", depth);
    let structure = nested("#s.t<a = ", "1", ">", depth);
    let calls = nested("callsite(\"f\" at ", "\"m\"", ")", depth);
    let names = nested("\"n\"(", "\"m\"", ")", depth);
    vec![
        format!("func.func @main(%i: tensor<i32>) {{\n{branches}\n return\n}}"),
        format!("func.func @main(%i: tensor<i32>, %p: tensor<i1>) {{\n{loops}\n return\n}}"),
        format!("func.func @main(%x: {tuple}) -> {tuple} {{\n return %x : {tuple}\n}}"),
        format!("!t0 = tensor<f32>\n{aliases}func.func @main(%x: !t{}) {{\n return\n}}", depth - 1),
        format!("module attributes {{x = {attribute}}} {{ func.func @main() {{\n return\n}} }}"),
        format!("module attributes {{x = {dictionary}}} {{ func.func @main() {{\n return\n}} }}"),
        format!("module attributes {{x = {structure}}} {{ func.func @main() {{\n return\n}} }}"),
        format!("func.func @main() {{\n return loc({calls})\n}}"),
        format!("func.func @main() {{\n return loc({names})\n}}"),
    ]
}

fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(1 << 20).spawn(work).unwrap().join().unwrap();
}

#[test]
fn the_deepest_programs_fit_a_mebibyte() {
    on_a_small_stack(|| {
        let limit = Limits::default().nesting;
        for (number, _) in programs(1).iter().enumerate() {
            // How deep exactly differs by a level or two between kinds: what surrounds the nest counts.
            let accepted = (1..=limit + 1).rev().find_map(|depth| {
                let text = programs(depth).swap_remove(number);
                parse_verified(&text).ok().map(|program| (depth, program))
            });
            let (depth, program) = accepted.unwrap();
            assert!(depth + 3 >= limit, "program {number} is refused at {depth} already");
            let printed = program.to_string();
            let again = parse_verified(&printed).unwrap();
            assert_eq!(again.to_string(), printed);
            assert_eq!(program.clone().op_count(), again.op_count());
            assert_eq!(program.functions[0].arguments.len(), again.functions[0].arguments.len());
        }
    });
}

#[test]
fn deeper_ones_are_refused_by_the_limit() {
    on_a_small_stack(|| {
        let depth = Limits::default().nesting + 10;
        for (number, text) in programs(depth).iter().enumerate() {
            match parse(text) {
                Err(HloError::Limit(_)) => {}
                // A structure that cannot be read deeper is kept as it is written.
                Ok(_) if number == 6 => {}
                other => panic!("program {number}: {other:?}"),
            }
        }
    });
}

#[test]
fn aliases_of_aliases_do_not_multiply() {
    on_a_small_stack(|| {
        let doubled =
            |sigil: &str, first: &str, open: &str, close: &str, levels: usize| -> String {
                let level = |level: usize| {
                    let before = format!("{sigil}a{}", level - 1);
                    format!("{sigil}a{level} = {open}{before}, {before}{close}\n")
                };
                format!("{sigil}a0 = {first}\n{}", (1..=levels).map(level).collect::<String>())
            };
        let types = doubled("!", "tensor<f32>", "tuple<", ">", 60);
        let attributes = doubled("#", "1", "[", "]", 60);
        for text in [types, attributes] {
            let text = format!("{text}func.func @main() {{\n return\n}}");
            assert!(matches!(parse(&text), Err(HloError::Limit(_))));
        }
        let complex =
            format!("func.func @f(%x: tensor<{}>) {{ return }}", "complex<".repeat(100_000));
        assert!(parse(&complex).is_err());
    });
}
