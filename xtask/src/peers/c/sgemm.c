/* C = A * B over square f32 matrices by a vendor's cblas_sgemm. Arguments: the library, the size, the CPU. The cost
 * is nanoseconds per GFLOP. */
#include "protocol.h"
#include <dlfcn.h>
#include <math.h>

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, CHECKED = 64 };
typedef void (*sgemm_function)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);

static sgemm_function sgemm;
static int size;
static float *a, *b, *c;
static uint64_t turns;

static double elapsed(uint64_t count) {
    double start = now_ns();
    for (uint64_t turn = 0; turn < count; turn++)
        sgemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, size, size, size, 1.0f, a, size, b, size, 0.0f, c, size);
    return now_ns() - start;
}

static double sample(void) { return elapsed(turns) / (2e-9 * size * size * size * turns); }

static const char *verify(void) {
    for (int check = 0; check < CHECKED; check++) {
        size_t row = (size_t)check * 7919 % size, column = (size_t)check * 104729 % size;
        double sum = 0.0, scale = 0.0;
        for (int k = 0; k < size; k++) {
            double term = (double)a[row * size + k] * b[(size_t)k * size + column];
            sum += term;
            scale += fabs(term);
        }
        if (fabs(sum - c[row * size + column]) > 1e-5 * scale) return "an entry of the product is wrong";
    }
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 4) fail("usage: sgemm LIBRARY SIZE CPU");
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_GLOBAL);
    if (!library) fail(dlerror());
    *(void **)&sgemm = dlsym(library, "cblas_sgemm");
    if (!sgemm) fail("the library has no cblas_sgemm");
    size = atoi(arguments[2]);
    if (size < 1 || size > 32768) fail("a size from 1 to 32768 is needed");
    pin(atoi(arguments[3]));
    size_t bytes = sizeof(float) * size * size;
    a = huge_memory(bytes);
    b = huge_memory(bytes);
    c = huge_memory(bytes);
    uint64_t state = 1;
    for (size_t i = 0; i < (size_t)size * size; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        a[i] = (float)(state >> 40) / (1 << 24) - 0.5f;
        b[i] = (float)(state >> 16 & 0xffffff) / (1 << 24) - 0.5f;
    }
    turns = calibrate(elapsed, 2e7);
    return serve(sample, verify);
}
