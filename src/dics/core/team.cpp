#include "team.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <new>
#include <system_error>

namespace dics {
namespace {

// A worker spins this long for the next work before it sleeps: nodes follow one another
// within microseconds, and waking a thread takes about 50 us. A boosting round on
// 15,000 x 8 values takes 0.60 ms with 0.5 ms here, and 0.72 ms with 0.1 ms (2026-11).
// If no work came, the worker waits half as long next time.
constexpr std::int64_t kSpinNs = 500'000, kLeastSpinNs = 4'000;
constexpr std::int64_t kCallerSpinNs = 200'000;
constexpr int kSpinsPerLook = 64;  // between readings of the clock
constexpr std::int64_t kPollNs = 50'000'000;
// A worker that lacked the CPU for this long during a task was interrupted.
constexpr std::int64_t kInterruptedNs = 300'000;
// After a wait for an interrupted worker, the caller works alone for this many times as
// long. So such waits take at most a tenth of the time.
constexpr std::int64_t kAloneFactor = 10;

constexpr std::uint64_t kLeft = 0xFFFFFFFF;  // the lower half of `open_`

std::int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// The CPU time of the calling thread; on other systems all time counts.
std::int64_t cpu_ns() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
    timespec time;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0)
        return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
#endif
    return now_ns();
}

// Frees the resources of the CPU core for its other thread.
void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

// Waits until is_ready(); false if that takes longer than `limit_ns`.
template <class IsReady>
bool spin(std::int64_t limit_ns, IsReady is_ready) {
    const std::int64_t end = now_ns() + limit_ns;
    for (int spins = 1; !is_ready(); ++spins) {
        if (spins % kSpinsPerLook == 0 && now_ns() >= end)
            return false;
        pause();
    }
    return true;
}

// The CPU cores that this process may use. Threads beyond them would only interrupt
// each other. Tests set DICS_CORES to use more threads on a small machine.
int available_cores() {
    static const int cores = [] {
        const char* given = std::getenv("DICS_CORES");
        const int n = given ? std::atoi(given) : 0;
        return n > 0 ? n : static_cast<int>(std::thread::hardware_concurrency());
    }();
    return cores > 0 ? cores : 1;
}

}  // namespace

thread_local Team::Place Team::place_;

Team::Team(int n_threads, Interrupted interrupted)
    : n_threads_(n_threads < 1 ? 1 : n_threads),
      interrupted_(std::move(interrupted)),
      outer_(place_) {
    next_poll_ns_ = now_ns() + kPollNs;
    place_ = {this, 0};
}

Team::~Team() {
    {
        std::lock_guard lock(mutex_);
        closing_.store(true);
    }
    wake_.notify_all();
    for (auto& worker : workers_)
        worker.join();
    place_ = outer_;
}

void Team::start_workers() {
    if (started_)
        return;
    started_ = true;
    // A limit of processes or memory may be reached. Then fewer threads do the work:
    // the result does not depend on their number.
    try {
        const int n_threads = std::min(n_threads_, available_cores());
        workers_.reserve(n_threads - 1);
        for (int thread = 1; thread < n_threads; ++thread)
            workers_.emplace_back([this, thread] { work(thread); });
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
}

void Team::work(int thread) {
    place_ = {this, thread};
    const auto has_work = [&] { return (open_.load() & kLeft) != 0; };
    std::int64_t patience = kSpinNs;
    while (!closing_.load()) {
        if (take_tasks(thread))
            patience = std::min(kSpinNs, 2 * patience);
        if (spin(patience, [&] { return has_work() || closing_.load(); }))
            continue;
        patience = std::max(kLeastSpinNs, patience / 2);
        std::unique_lock lock(mutex_);
        ++n_sleeping_;
        wake_.wait(lock, [&] { return has_work() || closing_.load(); });
        --n_sleeping_;
    }
}

// Works on open tasks, and returns true if there were any.
bool Team::take_tasks(int thread) {
    std::int64_t start = 0, cpu_start = 0;
    std::uint64_t open = open_.load(std::memory_order_acquire);
    while ((open & kLeft) != 0) {
        if (!open_.compare_exchange_weak(open, open - 1, std::memory_order_acq_rel,
                                         std::memory_order_acquire))
            continue;
        std::int64_t task_start = 0;
        if (thread != 0) {
            task_start = now_ns();
            if (start == 0) {
                start = task_start;
                cpu_start = cpu_ns();
            }
        }
        try {
            check(thread);
            (*body_)(n_tasks_ - static_cast<std::int64_t>(open & kLeft), thread);
        } catch (...) {
            fail();
        }
        // The CPU time is read for slow tasks only, because that takes a system call.
        if (thread != 0) {
            const std::int64_t end = now_ns();
            if (end - task_start > kInterruptedNs &&
                (end - start) - (cpu_ns() - cpu_start) > kInterruptedNs)
                was_interrupted_.store(true);
        }
        finish(1);
        open = open_.load(std::memory_order_acquire);
    }
    return start != 0;
}

// Counts tasks as done. After the last one, the caller may start other work at once.
void Team::finish(std::int64_t n_tasks) {
    const std::int64_t all = n_tasks_;
    if (n_done_.fetch_add(n_tasks) + n_tasks == all && caller_sleeps_.load()) {
        std::lock_guard lock(mutex_);
        done_.notify_one();
    }
}

void Team::fail() {
    {
        std::lock_guard lock(mutex_);
        if (!error_)
            error_ = std::current_exception();
    }
    stop_.store(true);
    // Nobody begins the other tasks.
    finish(static_cast<std::int64_t>(open_.fetch_and(~kLeft) & kLeft));
}

void Team::poll() {
    // Not called again after "stop": then an exception is set in Python.
    if (stop_.load() || now_ns() < next_poll_ns_)
        return;
    next_poll_ns_ = now_ns() + kPollNs;
    if (!interrupted_ && outer_.team)
        outer_.team->check(outer_.thread);
    if (interrupted_ && interrupted_())
        stop_.store(true);
}

void Team::check() {
    if (place_.team)
        place_.team->check(place_.thread);
}

void Team::check(int thread) {
    if (thread == 0)
        poll();
    if (stop_.load(std::memory_order_relaxed))
        throw Stopped();
}

void Team::run(std::int64_t n_tasks, bool parallel,
               const std::function<void(std::int64_t, int)>& body) {
    if (!parallel || n_threads_ == 1 || n_tasks < 2 || now_ns() < alone_until_ns_) {
        for (std::int64_t task = 0; task < n_tasks; ++task) {
            check(0);
            body(task, 0);
        }
        return;
    }
    assert(n_tasks < static_cast<std::int64_t>(kLeft));
    start_workers();
    body_ = &body;
    n_tasks_ = n_tasks;
    n_done_.store(0);
    was_interrupted_.store(false);
    std::int64_t n_woken = 0;
    {
        std::lock_guard lock(mutex_);
        open_.store(((open_.load() | kLeft) + 1) | static_cast<std::uint64_t>(n_tasks));
        n_woken = std::min<std::int64_t>(n_sleeping_, n_tasks - 1);
    }
    for (; n_woken > 0; --n_woken)
        wake_.notify_one();
    take_tasks(0);
    wait_for_workers();
    if (error_)
        std::rethrow_exception(error_);
    check(0);
}

// An exception of the caller must wait for the workers too, because they use `body_`
// and its references.
void Team::wait_for_workers() {
    const auto is_done = [&] { return n_done_.load() == n_tasks_; };
    const std::int64_t start = now_ns();
    if (!spin(kCallerSpinNs, is_done)) {
        std::unique_lock lock(mutex_);
        caller_sleeps_.store(true);
        // Workers may work long, each on a tree of a forest.
        while (!done_.wait_for(lock, std::chrono::nanoseconds(kPollNs), is_done)) {
            lock.unlock();
            try {
                poll();
            } catch (...) {
                fail();
            }
            lock.lock();
        }
        caller_sleeps_.store(false);
    }
    const std::int64_t end = now_ns();
    if (was_interrupted_.load() && end - start > kInterruptedNs)
        alone_until_ns_ = end + kAloneFactor * (end - start);
}

}  // namespace dics
