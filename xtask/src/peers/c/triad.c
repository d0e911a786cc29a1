/* STREAM's triad with non-temporal stores: a[i] = b[i] + s * c[i] over doubles. Arguments: bytes of one array, CPUs as
 * `0,1`. One pinned thread per CPU, each on memory it touched first; the time goes from the first start to the
 * last end. The cost is nanoseconds per GB, counting three arrays as STREAM does. */
#include "protocol.h"
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>

enum { MAX_THREADS = 1024 };
static const double SCALAR = 3.0;

static double *a, *b, *c;
static size_t elements;
static int threads, cpus[MAX_THREADS];
static double starts[MAX_THREADS], ends[MAX_THREADS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint64_t generation;
static int finished;
static _Atomic uint64_t arrived;

static void triad(size_t from, size_t to) {
    size_t i = from;
#if defined(__AVX512F__)
    const __m512d s = _mm512_set1_pd(SCALAR);
    for (; i + 8 <= to; i += 8)
        _mm512_stream_pd(a + i, _mm512_fmadd_pd(s, _mm512_load_pd(c + i), _mm512_load_pd(b + i)));
#elif defined(__AVX__)
    const __m256d s = _mm256_set1_pd(SCALAR);
    for (; i + 4 <= to; i += 4)
        _mm256_stream_pd(a + i, _mm256_add_pd(_mm256_mul_pd(s, _mm256_load_pd(c + i)), _mm256_load_pd(b + i)));
#endif
    for (; i < to; i++) a[i] = b[i] + SCALAR * c[i];
    _mm_sfence();
}

static void *worker(void *argument) {
    int index = (int)(intptr_t)argument;
    pin(cpus[index]);
    size_t share = elements / threads / 8 * 8;
    size_t from = index * share, to = index + 1 == threads ? elements : from + share;
    for (size_t i = from; i < to; i++) {
        a[i] = 0.0;
        b[i] = (double)(i % 1024);
        c[i] = 0.5;
    }
    for (uint64_t turn = 1;; turn++) {
        pthread_mutex_lock(&lock);
        finished++;
        pthread_cond_broadcast(&changed);
        while (generation < turn) pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
        atomic_fetch_add(&arrived, 1);
        while (atomic_load(&arrived) < turn * threads) _mm_pause();
        starts[index] = now_ns();
        triad(from, to);
        ends[index] = now_ns();
    }
    return NULL;
}

static void wait_for_all(void) {
    pthread_mutex_lock(&lock);
    while (finished < threads) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static double sample(void) {
    pthread_mutex_lock(&lock);
    finished = 0;
    generation++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    wait_for_all();
    double first = starts[0], last = ends[0];
    for (int i = 1; i < threads; i++) {
        if (starts[i] < first) first = starts[i];
        if (ends[i] > last) last = ends[i];
    }
    return (last - first) / (3e-9 * sizeof(double) * elements);
}

static const char *verify(void) {
    for (size_t i = 0; i < elements; i++)
        if (a[i] != (double)(i % 1024) + SCALAR * 0.5) return "the triad's result is wrong";
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 3) fail("usage: triad BYTES CPU,CPU,...");
    elements = strtoull(arguments[1], NULL, 10) / sizeof(double);
    for (char *cpu = strtok(arguments[2], ","); cpu && threads < MAX_THREADS; cpu = strtok(NULL, ",")) cpus[threads++] = atoi(cpu);
    if (!elements || !threads) fail("no elements or no CPUs");
    a = huge_memory(elements * sizeof(double));
    b = huge_memory(elements * sizeof(double));
    c = huge_memory(elements * sizeof(double));
    for (int i = 0; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, worker, (void *)(intptr_t)i)) fail("cannot start a thread");
    }
    wait_for_all();
    return serve(sample, verify);
}
