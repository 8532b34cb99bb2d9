// A team of threads that lives for one call into the core.
//
// Why not OpenMP: its pool outlives the call, and a child forked afterwards hangs in
// it. Threads that end with the call leave nothing behind to inherit, need no run-time
// library in the wheels, and starting one costs about 30 us, which the serial path for
// small work avoids altogether.
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

// Called now and then by the calling thread; returns true to stop (Ctrl-C).
using Interrupted = std::function<bool()>;

struct Stopped : std::exception {
    const char* what() const noexcept override { return "stopped by the caller"; }
};

class Team {
  public:
    Team(int n_threads, Interrupted interrupted);
    ~Team();
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    // At most so many work; fewer if the system lets no more start.
    int size() const { return n_threads_; }

    // Runs body(task, thread) for task = 0 .. n_tasks-1, in any order, thread in
    // [0, size()). With parallel = false the caller does it alone. Rethrows the first
    // exception of a body, and throws Stopped once the caller asked to stop.
    void run(std::int64_t n_tasks, bool parallel,
             const std::function<void(std::int64_t, int)>& body);

    // For long serial stretches inside a body: throws Stopped when asked to stop.
    void check(int thread);

  private:
    void start_workers();
    void poll();
    void fail();  // keeps the exception in flight, if it is the first; all stop soon
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
