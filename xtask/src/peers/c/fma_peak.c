/* The f32 peak out of registers: independent chains of fused multiply-adds, enough to hide the latency of two
 * units. Argument: the CPU. The cost is nanoseconds per GFLOP. */
#include "protocol.h"
#include <immintrin.h>
#include <math.h>

#if defined(__AVX512F__)
typedef __m512 vector;
#define LANES 16
#define SET _mm512_set1_ps
#define FMA _mm512_fmadd_ps
#elif defined(__FMA__)
typedef __m256 vector;
#define LANES 8
#define SET _mm256_set1_ps
#define FMA _mm256_fmadd_ps
#endif

#ifdef LANES
enum { CHAINS = 24, UNROLL = 4 };
static uint64_t turns;
static float results[CHAINS * LANES];

/* x -> x * 0.5 + 1 has the fixed point 2, reached exactly and never left. */
static double elapsed(uint64_t count) {
    vector chain[CHAINS];
    vector factor = SET(0.5f), addend = SET(1.0f);
    for (int i = 0; i < CHAINS; i++) chain[i] = SET((float)i);
    /* Hidden from the optimizer, which could otherwise know the result. */
    __asm__ volatile("" : "+v"(factor), "+v"(addend));
    double start = now_ns();
    for (uint64_t turn = 0; turn < count; turn++) {
#pragma GCC unroll 4
        for (int repeat = 0; repeat < UNROLL; repeat++) {
#pragma GCC unroll 24
            for (int i = 0; i < CHAINS; i++) chain[i] = FMA(chain[i], factor, addend);
        }
    }
    double ns = now_ns() - start;
    memcpy(results, chain, sizeof results);
    return ns;
}

static double sample(void) {
    double gigaflops = 2e-9 * LANES * CHAINS * UNROLL * turns;
    return elapsed(turns) / gigaflops;
}

static const char *verify(void) {
    for (int i = 0; i < CHAINS * LANES; i++)
        if (fabsf(results[i] - 2.0f) > 1e-6f) return "the chains did not reach their fixed point";
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 2) fail("usage: fma_peak CPU");
    pin(atoi(arguments[1]));
    turns = calibrate(elapsed, 5e6);
    return serve(sample, verify);
}
#else
int main(void) { fail("this CPU has no fused multiply-add"); }
#endif
