// The kernel under Google Benchmark: two benchmarks, `a` and `b`, whose lengths come from the environment.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>

__attribute__((noinline)) static std::uint64_t chain(std::uint64_t length) {
  std::uint64_t value = 3;
  benchmark::DoNotOptimize(value);
  for (std::uint64_t step = 0; step < length; ++step) {
    value = (value ^ (value >> 29)) * 0xbf58476d1ce4e5b9ULL;
  }
  return value;
}

static std::uint64_t length_of(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

static void walk(benchmark::State& state, const char* name) {
  const std::uint64_t length = length_of(name);
  for (auto _ : state) {
    benchmark::DoNotOptimize(chain(length));
  }
}

BENCHMARK_CAPTURE(walk, a, "CHAIN_A");
BENCHMARK_CAPTURE(walk, b, "CHAIN_B");
BENCHMARK_MAIN();
