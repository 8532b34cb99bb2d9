// Releases and acquires the GIL, in a process that may end at any time.
//
// When a program ends, Python does not wait for its daemon threads. Up to Python 3.13,
// a thread that then asks for the GIL is ended by pthread_exit, for which glibc unwinds
// the stack like an exception. Destructors would ask for the GIL again or touch objects
// without it, and the process would abort. So code that may wait for the GIL is called
// through `guarded`, with nothing to destroy. There the thread sleeps, as from Python
// 3.14 on.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <thread>

#if defined(__GLIBC__) && defined(__GLIBCXX__)
#include <cxxabi.h>
#define DICS_THREADS_UNWIND
#endif

namespace dics {

namespace nb = nanobind;

// Calls body(), which may wait for the GIL. It must have nothing to destroy.
template <class Body>
auto guarded(Body body) noexcept {
#ifdef DICS_THREADS_UNWIND
    try {
        return body();
    } catch (const abi::__forced_unwind&) {
        while (true)  // the end of this block would continue the unwinding
            std::this_thread::sleep_for(std::chrono::hours(1));
    }
#else
    return body();
#endif
}

// Set when Python begins to end: then calls of all other threads stop.
inline std::atomic<bool> python_ends{false};
inline thread_local bool ends_python = false;
inline bool must_stop() { return python_ends.load() && !ends_python; }

// The Python state of this thread while it does not hold the GIL.
inline thread_local PyThreadState* left_state = nullptr;

// Releases the GIL for its lifetime.
class OutsidePython {
  public:
    OutsidePython() : outer_(left_state) { left_state = PyEval_SaveThread(); }
    ~OutsidePython() {
        PyThreadState* state = left_state;
        left_state = outer_;
        guarded([state] { PyEval_RestoreThread(state); });
    }
    OutsidePython(const OutsidePython&) = delete;
    OutsidePython& operator=(const OutsidePython&) = delete;

  private:
    PyThreadState* outer_;  // of an outer call, if a callback made this one
};

// Acquires the GIL for its lifetime, in a thread that has released it.
// PyGILState_Ensure is not safe here: after the end of Python, it reads a thread state
// that no longer exists.
class InsidePython {
  public:
    InsidePython() {
        PyThreadState* state = left_state;
        guarded([state] { PyEval_RestoreThread(state); });
    }
    ~InsidePython() { left_state = PyEval_SaveThread(); }
    InsidePython(const InsidePython&) = delete;
    InsidePython& operator=(const InsidePython&) = delete;
};

// Calls function(*arguments) with the GIL.
inline nb::object call(nb::handle function, const nb::tuple& arguments) {
    PyObject *callee = function.ptr(), *with = arguments.ptr();
    PyObject* result = guarded([=] { return PyObject_CallObject(callee, with); });
    if (!result)
        throw nb::python_error();
    return nb::steal(result);
}

// A function that this thread calls when it checks for signals, or null. Signals reach
// only the main thread; this function stops a call in another thread.
inline thread_local PyObject* check_of_thread = nullptr;

// Returns true if a signal handler (such as of Ctrl-C) or the check of the thread has
// raised an exception.
inline bool handles_signals() {
    return guarded([] {
        if (PyErr_CheckSignals() != 0)
            return true;
        if (!check_of_thread)
            return false;
        PyObject* answer = PyObject_CallNoArgs(check_of_thread);
        Py_XDECREF(answer);
        return !answer;
    });
}

}  // namespace dics
