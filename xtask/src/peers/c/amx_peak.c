/* The AMX bf16 peak out of tiles: six independent accumulators of 16 x 16 and two operands, the same loop as
 * `cpu_flops`. Argument: the CPU. The cost is nanoseconds per GFLOP. */
#include "protocol.h"
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __AMX_BF16__
enum { ROWS = 16, ROW_BYTES = 64, ACCUMULATORS = 6, REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
/* A product sums 32 terms of 1 * 1; beyond 2^24 a float no longer counts exactly. */
enum { TERMS = 32, MAX_TURNS = (1 << 24) / TERMS };

static struct __attribute__((packed, aligned(64))) {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} configuration;
static uint16_t ones[ROWS * ROW_BYTES / 2] __attribute__((aligned(64)));
static float result[ROWS * ROW_BYTES / 4] __attribute__((aligned(64)));
static uint64_t turns, last_turns;

static double elapsed(uint64_t count) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_zero(4);
    _tile_zero(5);
    double start = now_ns();
    for (uint64_t turn = 0; turn < count; turn++) {
        _tile_dpbf16ps(0, 6, 7);
        _tile_dpbf16ps(1, 6, 7);
        _tile_dpbf16ps(2, 6, 7);
        _tile_dpbf16ps(3, 6, 7);
        _tile_dpbf16ps(4, 6, 7);
        _tile_dpbf16ps(5, 6, 7);
    }
    double ns = now_ns() - start;
    _tile_stored(5, result, ROW_BYTES);
    last_turns = count;
    return ns;
}

static double sample(void) {
    double gigaflops = 2e-9 * ROWS * ROWS * TERMS * ACCUMULATORS * turns;
    return elapsed(turns) / gigaflops;
}

static const char *verify(void) {
    for (int i = 0; i < ROWS * ROW_BYTES / 4; i++)
        if (result[i] != (float)(last_turns * TERMS)) return "the tile's sum is wrong";
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 2) fail("usage: amx_peak CPU");
    pin(atoi(arguments[1]));
    if (syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA)) fail("the kernel does not permit AMX");
    configuration.palette = 1;
    for (int tile = 0; tile < 8; tile++) {
        configuration.row_bytes[tile] = ROW_BYTES;
        configuration.rows[tile] = ROWS;
    }
    _tile_loadconfig(&configuration);
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) ones[i] = 0x3f80; /* 1.0 */
    _tile_loadd(6, ones, ROW_BYTES);
    _tile_loadd(7, ones, ROW_BYTES);
    turns = calibrate(elapsed, 5e6);
    if (turns > MAX_TURNS) turns = MAX_TURNS;
    return serve(sample, verify);
}
#else
int main(void) { fail("this CPU or compiler has no AMX bf16"); }
#endif
