// Gives oneDNN our threads: its threadpool interface over three C callbacks. No exception leaves this file in
// either direction: the callbacks do not unwind, and what a task of oneDNN throws becomes a number.

#include <cstdint>
#include <functional>
#include <new>

#include "oneapi/dnnl/dnnl.h"
#include "oneapi/dnnl/dnnl_config.h"

#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_THREADPOOL
#include "oneapi/dnnl/dnnl_threadpool_iface.hpp"

namespace {

using task = std::function<void(int, int)>;

extern "C" {
typedef int (*count_callback)(const void *context);
typedef int (*inside_callback)(const void *context);
typedef void (*run_callback)(const void *context, int tasks, const void *closure);
}

class pool final : public dnnl::threadpool_interop::threadpool_iface {
public:
    pool(const void *context, count_callback count, inside_callback inside, run_callback run)
        : context_(context), count_(count), inside_(inside), run_(run) {}

    int get_num_threads() const override { return count_(context_); }
    bool get_in_parallel() const override { return inside_(context_) != 0; }
    void parallel_for(int tasks, const task &closure) override { run_(context_, tasks, &closure); }
    // parallel_for returns when all tasks are done.
    uint64_t get_flags() const override { return 0; }
    // Virtual in newer versions of the interface only, so not marked as overriding.
    void wait() {}

private:
    const void *context_;
    count_callback count_;
    inside_callback inside_;
    run_callback run_;
};

} // namespace

extern "C" void *warpforge_onednn_pool_create(const void *context, count_callback count, inside_callback inside,
        run_callback run) noexcept {
    return new (std::nothrow) pool(context, count, inside, run);
}

extern "C" void warpforge_onednn_pool_destroy(void *handle) noexcept {
    delete static_cast<pool *>(handle);
}

// Runs one task of a closure that was handed to the run callback; nonzero when it threw.
extern "C" int warpforge_onednn_task(const void *closure, int index, int tasks) noexcept {
    try {
        (*static_cast<const task *>(closure))(index, tasks);
        return 0;
    } catch (...) {
        return 1;
    }
}
#endif
