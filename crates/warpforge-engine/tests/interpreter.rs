//! Whole programs through the public interface: control, calls, regions, limits, errors, several processes.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::AtomicBool;

use warpforge_engine::EngineError;
use warpforge_engine::reference::{
    Grid, Host, Interpreter, Limits, Observation, Observer, Processes, Stream, Value,
};
use warpforge_hlo::{Program, parse_verified};
use warpforge_tensor::{DType, Shape, Tensor};

fn program(text: &str) -> Program {
    match parse_verified(text) {
        Ok(program) => program,
        Err(error) => panic!("{error}"),
    }
}

fn floats(sizes: &[usize], values: &[f64]) -> Value {
    let shape = Shape::new(sizes).unwrap();
    Value::Tensor(Tensor::from_floats(DType::F32, shape, values.to_vec()).unwrap())
}

fn integers(sizes: &[usize], values: &[i64]) -> Value {
    let shape = Shape::new(sizes).unwrap();
    Value::Tensor(Tensor::from_integers(DType::I32, shape, values.to_vec()).unwrap())
}

fn run(text: &str, inputs: Vec<Value>) -> Result<Vec<Value>, EngineError> {
    Interpreter::new(&program(text)).run(inputs)
}

fn one(text: &str, inputs: Vec<Value>) -> Value {
    let mut results = run(text, inputs).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(results.len(), 1);
    results.remove(0)
}

const LOOP: &str = "
func.func public @main(%n: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %f = %one) : tensor<i32>, tensor<i32>
   cond {
    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %g = func.call @product(%f, %j) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    stablehlo.return %j, %g : tensor<i32>, tensor<i32>
  }
  return %r#0, %r#1 : tensor<i32>, tensor<i32>
}
func.func private @product(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.multiply %a, %b : tensor<i32>
  return %0 : tensor<i32>
}";

#[test]
fn loops_and_calls() {
    let found = run(LOOP, vec![integers(&[], &[5])]).unwrap();
    assert_eq!(found, [integers(&[], &[5]), integers(&[], &[120])]);
    let found = run(LOOP, vec![integers(&[], &[0])]).unwrap();
    assert_eq!(found, [integers(&[], &[0]), integers(&[], &[1])]);
}

const CASE: &str = "
func.func public @main(%which: tensor<i32>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = \"stablehlo.case\"(%which) ({
    %1 = stablehlo.negate %x : tensor<2xf32>
    stablehlo.return %1 : tensor<2xf32>
  }, {
    stablehlo.return %x : tensor<2xf32>
  }, {
    %2 = stablehlo.add %x, %x : tensor<2xf32>
    stablehlo.return %2 : tensor<2xf32>
  }) : (tensor<i32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}";

#[test]
fn branches_take_the_last_when_out_of_range() {
    let x = || floats(&[2], &[1.0, -2.0]);
    assert_eq!(one(CASE, vec![integers(&[], &[0]), x()]), floats(&[2], &[-1.0, 2.0]));
    assert_eq!(one(CASE, vec![integers(&[], &[1]), x()]), x());
    for out_of_range in [2, 3, -1] {
        let which = integers(&[], &[out_of_range]);
        assert_eq!(one(CASE, vec![which, x()]), floats(&[2], &[2.0, -4.0]));
    }
}

#[test]
fn tuples_tokens_and_barriers() {
    let text = "
func.func public @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<i32>) {
  %t = stablehlo.create_token : !stablehlo.token
  %u = stablehlo.after_all %t : !stablehlo.token
  %i = stablehlo.constant dense<7> : tensor<i32>
  %p = stablehlo.tuple %x, %i : tuple<tensor<2xf32>, tensor<i32>>
  %a = stablehlo.get_tuple_element %p[0] : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<2xf32>
  %b = stablehlo.get_tuple_element %p[1] : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<i32>
  %c:2 = stablehlo.optimization_barrier %a, %b : tensor<2xf32>, tensor<i32>
  return %c#0, %c#1 : tensor<2xf32>, tensor<i32>
}";
    let x = floats(&[2], &[1.5, 2.5]);
    assert_eq!(run(text, vec![x.clone()]).unwrap(), [x, integers(&[], &[7])]);
}

/// The place of the largest element: a region of several scalars.
const ARGMAX: &str = "
func.func public @main(%x: tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2xi32>) {
  %i = stablehlo.iota dim = 1 : tensor<2x3xi32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%x init: %low), (%i init: %zero) across dimensions = [1] : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%ai: tensor<i32>, %bi: tensor<i32>) {
    %more = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %same = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %earlier = stablehlo.compare LT, %ai, %bi, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %tie = stablehlo.and %same, %earlier : tensor<i1>
    %left = stablehlo.or %more, %tie : tensor<i1>
    %value = stablehlo.select %left, %a, %b : tensor<i1>, tensor<f32>
    %place = stablehlo.select %left, %ai, %bi : tensor<i1>, tensor<i32>
    stablehlo.return %value, %place : tensor<f32>, tensor<i32>
  }
  return %r#0, %r#1 : tensor<2xf32>, tensor<2xi32>
}";

#[test]
fn reductions_with_a_region_of_their_own() {
    let x = floats(&[2, 3], &[1.0, 9.0, 9.0, -3.0, -2.0, -1.0]);
    let found = run(ARGMAX, vec![x]).unwrap();
    assert_eq!(found, [floats(&[2], &[9.0, -1.0]), integers(&[2], &[1, 2])]);
}

/// A region that is more than scalars: it calls a function and sees a value from around it.
#[test]
fn regions_may_call_and_look_outside() {
    let text = "
func.func public @main(%x: tensor<3xf32>, %scale: tensor<f32>) -> tensor<3xf32> {
  %0 = \"stablehlo.map\"(%x) ({
  ^bb0(%a: tensor<f32>):
    %1 = func.call @square(%a) : (tensor<f32>) -> tensor<f32>
    %2 = stablehlo.multiply %1, %scale : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
func.func private @square(%a: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.multiply %a, %a : tensor<f32>
  return %0 : tensor<f32>
}";
    let found = one(text, vec![floats(&[3], &[1.0, 2.0, 3.0]), floats(&[], &[10.0])]);
    assert_eq!(found, floats(&[3], &[10.0, 40.0, 90.0]));
}

#[test]
fn sorting_by_a_comparison() {
    let text = "
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = \"stablehlo.sort\"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}";
    let found = one(text, vec![floats(&[4], &[1.0, -2.0, 4.0, 3.0])]);
    assert_eq!(found, floats(&[4], &[4.0, 3.0, 1.0, -2.0]));
}

#[test]
fn composites_run_their_decomposition_and_annotations_change_nothing() {
    let text = "
func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.composite \"test.twice\" %x {decomposition = @twice} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = \"{replicated}\"} : (tensor<2xf32>) -> tensor<2xf32>
  %2 = stablehlo.custom_call @mhlo.erf(%1) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}
func.func private @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %x, %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}";
    let found = one(text, vec![floats(&[2], &[0.0, 0.5])]);
    assert_eq!(found, floats(&[2], &[0.0, 0.842_700_792_949_714_9]));
}

#[test]
fn errors_name_the_op() {
    let text = "
func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = func.call @inner(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func private @inner(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = stablehlo.custom_call @my_kernel(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}";
    let error = run(text, vec![floats(&[2], &[0.0, 1.0])]).unwrap_err();
    let EngineError::At { place, .. } = &error else { panic!("{error:?}") };
    assert_eq!((place.function.as_str(), place.result.as_str()), ("inner", "y"));
    assert!(text[place.offset..].starts_with("%y") || text[place.offset..].contains("my_kernel"));
    let shown = error.to_string();
    assert!(shown.contains("stablehlo.custom_call (%y) in @inner"), "{shown}");
    assert!(shown.contains("custom call @my_kernel"), "{shown}");
}

#[test]
fn inputs_must_fit() {
    let error = run(CASE, vec![integers(&[], &[0])]).unwrap_err().to_string();
    assert_eq!(error, "@main takes 2 inputs, found 1");
    let error = run(CASE, vec![integers(&[], &[0]), floats(&[3], &[0.0; 3])]).unwrap_err();
    let expected = "input 1 of @main must be a tensor<2xf32>, found f32 of shape [3]";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn runs_end_when_asked_or_at_their_limits() {
    let text = "
func.func public @main(%x: tensor<i1>) -> tensor<i1> {
  %r = stablehlo.while(%c = %x) : tensor<i1>
   cond {
    stablehlo.return %c : tensor<i1>
  } do {
    stablehlo.return %c : tensor<i1>
  }
  return %r : tensor<i1>
}";
    let program = program(text);
    let yes =
        || vec![Value::Tensor(Tensor::from_integers(DType::I1, Shape::scalar(), vec![1]).unwrap())];
    let limits = Limits { steps: Some(1000), ..Limits::default() };
    let error = Interpreter::new(&program).limits(limits).run(yes()).unwrap_err();
    assert!(error.to_string().contains("ops were executed"), "{error}");
    let cancel = AtomicBool::new(true);
    let stopped = Interpreter::new(&program).cancel(&cancel).run(yes());
    assert_eq!(stopped, Err(EngineError::Cancelled));
}

#[test]
fn recursion_without_end_is_an_error() {
    let text = "
func.func public @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = func.call @main(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}";
    let error = run(text, vec![floats(&[], &[0.0])]).unwrap_err().to_string();
    assert!(error.contains("deep within one another"), "{error}");
}

/// Sees names and how many values live.
#[derive(Default)]
struct Names(Vec<String>);

impl Observer for Names {
    fn observe(&mut self, seen: &Observation<'_>) -> Result<(), EngineError> {
        let name = &seen.function.values[seen.op.results[0].index()].name;
        self.0.push(format!("{} {}.{name}", seen.sequence, seen.function.name));
        Ok(())
    }
}

#[test]
fn an_observer_sees_every_result_in_order() {
    let program = program(LOOP);
    let mut names = Names::default();
    Interpreter::new(&program).observer(&mut names).run(vec![integers(&[], &[1])]).unwrap();
    assert_eq!(names.0[0], "0 main.zero");
    assert!(names.0.iter().any(|name| name.ends_with("product.0")), "{:?}", names.0);
    let loops = names.0.iter().filter(|name| name.ends_with("main.c")).count();
    assert_eq!(loops, 2, "{:?}", names.0);
}

#[test]
fn memory_is_planned_and_refused() {
    let text = "
func.func public @main(%x: tensor<1000xf32>) -> tensor<1000xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<1000xf32>) -> tensor<1000x1000xf32>
  %1 = stablehlo.exponential %0 : tensor<1000x1000xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1000x1000xf32>, tensor<f32>) -> tensor<1000xf32>
  return %2 : tensor<1000xf32>
}";
    let program = program(text);
    let plan = Interpreter::new(&program).memory().unwrap();
    // Both matrices as f32, and both as wide numbers.
    assert!((24_000_000..24_100_000).contains(&plan.peak_bytes), "{}", plan.peak_bytes);
    assert_eq!(plan.place.unwrap().op, "stablehlo.exponential");
    let limits = Limits { memory_bytes: Some(20_000_000), ..Limits::default() };
    let input = floats(&[1000], &[0.0; 1000]);
    let refused = Interpreter::new(&program).limits(limits).run(vec![input]).unwrap_err();
    let shown = refused.to_string();
    assert!(shown.contains("at stablehlo.exponential (%1) in @main"), "{shown}");
}

fn processes(program: &Program, replicas: u32) -> Processes<'_> {
    let grid = Grid { replicas, partitions: 1 };
    Processes { program, function: None, grid, limits: Limits::default(), cancel: None }
}

fn hosts(count: usize) -> Vec<Host> {
    vec![Host::default(); count]
}

/// Sends around a ring of three; what comes to each process has passed through all others.
#[test]
fn processes_send_to_each_other() {
    let text = "
func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %n = stablehlo.constant dense<2> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<2xf32>
  cond {
    %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %t = stablehlo.create_token : !stablehlo.token
    %u = \"stablehlo.send\"(%y, %t) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [1, 2], [2, 0]]> : tensor<3x2xi64>}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
    %z, %v = \"stablehlo.recv\"(%u) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [1, 2], [2, 0]]> : tensor<3x2xi64>}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
    %w = stablehlo.add %z, %x : tensor<2xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %w : tensor<i32>, tensor<2xf32>
  }
  return %0#1 : tensor<2xf32>
}";
    let program = program(text);
    let inputs = vec![
        vec![floats(&[2], &[1.0, 2.0])],
        vec![floats(&[2], &[10.0, 20.0])],
        vec![floats(&[2], &[100.0, 200.0])],
    ];
    let found = processes(&program, 3).run(inputs, &mut hosts(3)).unwrap();
    assert_eq!(found, vec![vec![floats(&[2], &[111.0, 222.0])]; 3]);
}

#[test]
fn the_error_is_that_of_the_process_that_failed() {
    let text = "
func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %y, %u = \"stablehlo.infeed\"(%t) <{infeed_config = \"\"}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  %0 = \"stablehlo.all_reduce\"(%y) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}";
    let program = program(text);
    let mut hosts = hosts(2);
    let Value::Tensor(fed) = floats(&[2], &[1.0, 2.0]) else { panic!() };
    hosts[0].prepare(Stream::Feed, vec![fed.clone()]);
    let inputs = vec![vec![floats(&[2], &[0.0; 2])]; 2];
    let error = processes(&program, 2).run(inputs.clone(), &mut hosts).unwrap_err().to_string();
    assert!(error.contains("the host has nothing more to read from its feed"), "{error}");
    for host in &mut hosts {
        host.prepare(Stream::Feed, vec![fed.clone()]);
    }
    let found = processes(&program, 2).run(inputs, &mut hosts).unwrap();
    assert_eq!(found, vec![vec![floats(&[2], &[2.0, 4.0])]; 2]);
}

#[test]
fn processes_meet_in_collectives() {
    let text = "
func.func public @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<ui32>) {
  %0 = \"stablehlo.all_reduce\"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>
  %id = stablehlo.replica_id : tensor<ui32>
  return %0, %id : tensor<2xf32>, tensor<ui32>
}";
    let program = program(text);
    let inputs = vec![vec![floats(&[2], &[1.0, 2.0])], vec![floats(&[2], &[10.0, 20.0])]];
    let found = processes(&program, 2).run(inputs, &mut hosts(2)).unwrap();
    for (number, results) in found.iter().enumerate() {
        assert_eq!(results[0], floats(&[2], &[11.0, 22.0]));
        let Value::Tensor(id) = &results[1] else { panic!() };
        assert_eq!(id.integers(), Ok(vec![number as i64]));
    }
}

#[test]
fn quantized_elements_are_computed_with_as_real_numbers() {
    let text = "
func.func public @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.uniform_quantize %x : (tensor<3xf32>) -> tensor<3x!quant.uniform<i8:f32, 0.5:1>>
  %1 = stablehlo.add %0, %0 : (tensor<3x!quant.uniform<i8:f32, 0.5:1>>, tensor<3x!quant.uniform<i8:f32, 0.5:1>>) -> tensor<3x!quant.uniform<i8:f32, 2.0>>
  %2 = stablehlo.uniform_dequantize %1 : (tensor<3x!quant.uniform<i8:f32, 2.0>>) -> tensor<3xf32>
  return %2 : tensor<3xf32>
}";
    let found = one(text, vec![floats(&[3], &[1.0, -3.2, 1000.0])]);
    // 1 -> 1 -> 2; -3.2 -> -3 -> -6; 1000 -> 63 (127 - 1 halves) -> 126.
    assert_eq!(found, floats(&[3], &[2.0, -6.0, 126.0]));
}

#[test]
fn sizes_may_come_from_operands() {
    let text = "
func.func public @main(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %sizes = stablehlo.constant dense<[3, 2]> : tensor<2xi32>
  %0 = stablehlo.dynamic_reshape %x, %sizes : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %1 = stablehlo.negate %0 : tensor<?x?xf32>
  %2 = stablehlo.dynamic_reshape %1, %sizes : (tensor<?x?xf32>, tensor<2xi32>) -> tensor<3x2xf32>
  return %2 : tensor<3x2xf32>
}";
    let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let found = one(text, vec![floats(&[2, 3], &values)]);
    assert_eq!(found, floats(&[3, 2], &values.map(|value: f64| -value)));
}
