/* The answering side of the line protocol: `ready` once prepared, then for every `sample` the nanoseconds per unit
 * of work, for every `verify` `ok` or `error MESSAGE`. Sleeps in a read between requests; ends with its input. */
#ifndef PROTOCOL_H
#define PROTOCOL_H
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static inline double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

__attribute__((noreturn, unused)) static void fail(const char *message) {
    printf("error %s\n", message);
    fflush(stdout);
    exit(1);
}

/* Zeroed memory aligned to, and advised to use, huge pages: what the other side of the comparison uses too. */
__attribute__((unused)) static void *huge_memory(size_t bytes) {
    const size_t page = 2 << 20;
    size_t rounded = (bytes + page - 1) / page * page;
    char *mapping = mmap(NULL, rounded + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) fail("not enough memory");
    char *start = (char *)(((uintptr_t)mapping + page - 1) / page * page);
    madvise(start, rounded, MADV_HUGEPAGE);
    return start;
}

__attribute__((unused)) static void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set)) fail("cannot pin a thread");
}

/* The turns that make a sample of about `target_ns`. */
__attribute__((unused)) static uint64_t calibrate(double (*elapsed)(uint64_t), double target_ns) {
    for (uint64_t turns = 1;; turns *= 2) {
        double ns = elapsed(turns);
        if (ns >= target_ns / 2) return (uint64_t)(turns * target_ns / ns) + 1;
    }
}

/* `verify` returns NULL when all is right. */
__attribute__((unused)) static int serve(double (*sample)(void), const char *(*verify)(void)) {
    char line[256];
    sample();
    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (!strcmp(line, "sample\n")) {
            printf("%.9e\n", sample());
        } else if (!strcmp(line, "verify\n")) {
            const char *wrong = verify();
            if (wrong) printf("error %s\n", wrong);
            else printf("ok\n");
        } else {
            printf("error unknown request\n");
        }
        fflush(stdout);
    }
    return 0;
}
#endif
