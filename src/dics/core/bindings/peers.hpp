// Other processes of a fit, as Python knows them.
#pragma once

#include <memory>
#include <vector>

#include "bindings/arrays.hpp"
#include "links.hpp"
#include "sum.hpp"

namespace dics {

// Peers that a Python object talks to: `add(array)` and `largest(array)` change the
// array in place and return False when a peer is lost; `runs` is [run][own, number, n]
// and `run_starts` are those of all.
class PythonPeers : public Peers {
  public:
    explicit PythonPeers(const nb::object& links)
        : add_(links.attr("add")), largest_(links.attr("largest")) {
        const auto runs = nb::cast<Table<std::int64_t>>(links.attr("runs"));
        const auto starts = nb::cast<Array<std::int64_t>>(links.attr("run_starts"));
        for (std::size_t i = 0; i < runs.shape(0); ++i) {
            const std::int64_t* run = runs.data() + 3 * i;
            runs_.push_back({run[0], run[1], run[2]});
        }
        run_starts_.assign(starts.data(), starts.data() + starts.shape(0));
    }

    void add(std::int32_t* values, std::int64_t n) const override {
        call_with(add_, values, n);
    }
    void add(std::int64_t* values, std::int64_t n) const override {
        call_with(add_, values, n);
    }
    void largest(double* values, std::int64_t n) const override {
        call_with(largest_, values, n);
    }
    const std::vector<RowRun>& runs() const override { return runs_; }
    const std::vector<std::int64_t>& run_starts() const override { return run_starts_; }

  private:
    template <class T>
    static void call_with(const nb::object& method, T* values, std::int64_t n) {
        if (n == 0)
            return;
        if (must_stop())
            throw Stopped();
        InsidePython python;
        const nb::object array =
            nb::cast(nb::ndarray<nb::numpy, T>(values, {static_cast<std::size_t>(n)},
                                               nb::handle()),
                     nb::rv_policy::reference);
        if (!nb::cast<bool>(call(method, nb::make_tuple(array))))
            throw PeersLost();
    }

    nb::object add_, largest_;
    std::vector<RowRun> runs_;
    std::vector<std::int64_t> run_starts_;
};

// Peers that a call is given: the core's own, an object that talks to them, or None.
class GivenPeers {
  public:
    explicit GivenPeers(const nb::object& given) {
        if (given.is_none())
            return;
        if (nb::isinstance<LinkedPeers>(given)) {
            peers_ = nb::cast<const LinkedPeers*>(given);
        } else {
            python_ = std::make_unique<PythonPeers>(given);
            peers_ = python_.get();
        }
    }
    const Peers* get() const { return peers_; }

  private:
    std::unique_ptr<PythonPeers> python_;
    const Peers* peers_ = nullptr;
};

}  // namespace dics
