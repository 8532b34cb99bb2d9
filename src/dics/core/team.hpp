// A team of threads for one call of the core.
//
// Why not OpenMP: its pool outlives the call, and a child process forked later hangs in
// it. Threads that end with the call need no run-time library in the wheels. The start
// of a thread takes about 30 us; small work uses the serial path.
//
// On a busy machine, a worker may be scheduled late or interrupted. So the caller waits
// only for tasks that a worker has begun. If the system interrupts workers during their
// tasks, the caller works alone for a while.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace dics {

// Called by the calling thread at intervals; returns true to stop (Ctrl-C).
using Interrupted = std::function<bool()>;

struct Stopped : std::exception {
    const char* what() const noexcept override {
        return "The caller stopped the call.";
    }
};

class Team {
  public:
    // Without `interrupted`, a team inside a task of another team stops with that one.
    explicit Team(int n_threads, Interrupted interrupted = {});
    ~Team();
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    // The largest number of threads. Fewer work if there are fewer CPU cores, or if the
    // system cannot start more.
    int size() const { return n_threads_; }

    // Runs body(task, thread) for task = 0 .. n_tasks-1 in any order, with thread in
    // [0, size()). With parallel = false, only the calling thread works. Rethrows the
    // first exception of a body, and throws Stopped if the caller stops the call.
    void run(std::int64_t n_tasks, bool parallel,
             const std::function<void(std::int64_t, int)>& body);

    // Throws Stopped if the call that this thread works for was stopped; for long
    // serial work.
    static void check();

  private:
    // The team that a thread works for, and its number there.
    struct Place {
        Team* team = nullptr;
        int thread = 0;
    };

    void check(int thread);
    void start_workers();
    void poll();
    void fail();  // stores the first exception, and stops all threads
    void work(int thread);
    bool take_tasks(int thread);
    void finish(std::int64_t n_tasks);
    void wait_for_workers();

    static thread_local Place place_;

    int n_threads_;
    Interrupted interrupted_;
    Place outer_;  // of the thread that has constructed this team
    std::atomic<bool> stop_{false};
    std::int64_t next_poll_ns_ = 0;
    std::int64_t alone_until_ns_ = 0;  // until then, the caller works alone

    bool started_ = false;
    std::vector<std::thread> workers_;
    std::mutex mutex_;
    std::condition_variable wake_, done_;
    int n_sleeping_ = 0;  // workers; guarded by the mutex
    std::atomic<bool> caller_sleeps_{false};
    std::atomic<bool> closing_{false};

    // The number of the current work in the upper half, the number of tasks that nobody
    // has begun in the lower half. A worker claims a task by a change of this one word,
    // so a worker that comes too late cannot claim a task of later work.
    std::atomic<std::uint64_t> open_{0};
    std::atomic<std::int64_t> n_done_{0};
    std::atomic<bool> was_interrupted_{false};  // a worker, during its tasks
    // Written between works, read by threads that have claimed a task.
    const std::function<void(std::int64_t, int)>* body_ = nullptr;
    std::int64_t n_tasks_ = 0;
    std::exception_ptr error_;
};

// Calls Team::check() once per some work, so that its cost does not matter.
class StopCheck {
  public:
    // A unit of work takes about a nanosecond.
    void add(std::int64_t work) {
        done_ += work;
        if (done_ < kWork)
            return;
        done_ = 0;
        Team::check();
    }

  private:
    static constexpr std::int64_t kWork = 1 << 16;
    std::int64_t done_ = 0;
};

}  // namespace dics
