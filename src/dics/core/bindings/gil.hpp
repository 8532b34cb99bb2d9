// Leaving Python and coming back, in a process that may end meanwhile.
//
// When a program ends, Python doesn't wait for its daemon threads: up to 3.13, one that
// asks for the GIL then is ended by pthread_exit, which glibc does by unwinding its
// stack as an exception would. Destructors on the way ask for the GIL again or touch
// objects without it, and the process aborts. So whatever may wait for the GIL is
// called through `guarded`, with nothing to destroy in between, and a thread that
// Python wants to end sleeps instead, as it does from 3.14 on.
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
        while (true)  // to leave this block would go on with the unwinding
            std::this_thread::sleep_for(std::chrono::hours(1));
    }
#else
    return body();
#endif
}

// Set when Python begins to end: calls of other threads than the one that ends it stop.
inline std::atomic<bool> python_ends{false};
inline thread_local bool ends_python = false;
inline bool must_stop() { return python_ends.load() && !ends_python; }

// The state of this thread in Python, while it is without the GIL.
inline thread_local PyThreadState* left_state = nullptr;

// Leaves Python for as long as it lives.
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
    PyThreadState* outer_;  // of a call whose callback made this one
};

// Comes back to Python for as long as it lives, in a thread that is outside. Not by
// PyGILState_Ensure, which looks for the state of the thread where nothing is left of
// it once Python has ended.
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

// function(*arguments), from inside Python.
inline nb::object call(nb::handle function, const nb::tuple& arguments) {
    PyObject *callee = function.ptr(), *with = arguments.ptr();
    PyObject* result = guarded([=] { return PyObject_CallObject(callee, with); });
    if (!result)
        throw nb::python_error();
    return nb::steal(result);
}

// What this thread calls whenever it looks for signals, or null. Signals reach the main
// thread only; this is how a call in another one is stopped.
inline thread_local PyObject* check_of_thread = nullptr;

// Whether a signal handler has raised an exception, such as that of Ctrl-C, or the
// check of the thread has.
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
