// A team of threads for one call of the core.
//
// Why not OpenMP: its pool outlives the call, and a child process forked later hangs in
// it. Threads that end with the call need no run-time library in the wheels. The start
// of a thread takes about 30 us; small work uses the serial path.
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
    Team(int n_threads, Interrupted interrupted);
    ~Team();
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    // The largest number of threads. Fewer work if the system cannot start more.
    int size() const { return n_threads_; }

    // Runs body(task, thread) for task = 0 .. n_tasks-1 in any order, with thread in
    // [0, size()). With parallel = false, only the calling thread works. Rethrows the
    // first exception of a body, and throws Stopped if the caller stops the call.
    void run(std::int64_t n_tasks, bool parallel,
             const std::function<void(std::int64_t, int)>& body);

    // For long serial work inside a body: throws Stopped if the call was stopped.
    void check(int thread);

  private:
    void start_workers();
    void poll();
    void fail();  // stores the first exception, and stops all threads
    void work(int thread);
    void take_tasks(int thread);

    int n_threads_;
    Interrupted interrupted_;
    std::atomic<bool> stop_{false};
    std::int64_t next_poll_ns_ = 0;

    bool started_ = false;
    std::vector<std::thread> workers_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::atomic<std::uint64_t> epoch_{0};
    std::atomic<int> busy_{0};
    bool closing_ = false;

    const std::function<void(std::int64_t, int)>* body_ = nullptr;
    std::int64_t n_tasks_ = 0;
    std::atomic<std::int64_t> next_task_{0};
    std::exception_ptr error_;
};

}  // namespace dics
