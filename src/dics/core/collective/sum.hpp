// Sums over the threads of this process and over all processes of a fit.
//
// All sums that decide something are sums of integers, so the order of the additions
// does not matter. Histograms and totals of nodes and leaves go through `allreduce`
// before anything is decided by them. A single process has nothing to add.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "collective/peers.hpp"

namespace dics {

class Sum {
  public:
    Sum() = default;
    explicit Sum(const Peers* peers) : peers_(peers) {}

    bool is_alone() const { return !peers_; }
    int rank() const { return peers_ ? peers_->rank() : 0; }
    int n_ranks() const { return peers_ ? peers_->n_ranks() : 1; }

    // For these operations, see Peers.
    template <class T>
    void allreduce(T* values, std::int64_t n) const {
        if (peers_)
            peers_->allreduce(values, n);
    }
    template <class T>
    void allreduce(std::vector<T>& values) const {
        allreduce(values.data(), values.size());
    }
    void allreduce_max(double* values, std::int64_t n) const {
        if (peers_)
            peers_->allreduce_max(values, n);
    }
    double allreduce_max(double value) const {
        allreduce_max(&value, 1);
        return value;
    }
    template <class T>
    void reduce_scatter(T* values, const std::vector<std::int64_t>& starts) const {
        if (peers_)
            peers_->reduce_scatter(values, starts);
    }
    void allgather(std::int64_t* values, std::int64_t n) const {
        if (peers_)
            peers_->allgather(values, n);
    }

    // Adds the parts of the tasks, [n_parts][size], into the first part, and then over
    // all processes. The first part exists even without tasks.
    template <class T>
    void allreduce_parts(std::vector<T>& values, std::size_t n_parts,
                         std::size_t size) const {
        values.resize(std::max(values.size(), size));
        for (std::size_t part = 1; part < n_parts; ++part) {
            for (std::size_t i = 0; i < size; ++i)
                values[i] += values[part * size + i];
        }
        allreduce(values.data(), size);
    }

    // The number of rows of all processes.
    std::int64_t n_rows(std::int64_t local) const {
        allreduce(&local, 1);
        return local;
    }

    // Calls body(first, last, shift) for pieces of the local rows first..last-1 that
    // have the global indices from first + shift on.
    template <class Body>
    void each_run(std::int64_t first, std::int64_t last, Body body) const {
        if (!peers_)
            return body(first, last, std::int64_t{0});
        for (const RowRun& run : peers_->runs()) {
            const std::int64_t from = std::max(first, run.own);
            const std::int64_t to = std::min(last, run.own + run.n);
            if (from < to)
                body(from, to, run.number - run.own);
        }
    }

    // For each local run, the number of items in all runs with smaller global indices;
    // counts[i] is the number of items in the local run i.
    std::vector<std::int64_t> before(const std::vector<std::int64_t>& counts) const {
        if (!peers_)
            return {0};
        const std::vector<std::int64_t>& starts = peers_->run_starts();
        auto place = [&](const RowRun& run) {
            return std::lower_bound(starts.begin(), starts.end(), run.number) -
                   starts.begin();
        };
        std::vector<std::int64_t> all(starts.size());
        for (std::size_t i = 0; i < counts.size(); ++i)
            all[place(peers_->runs()[i])] = counts[i];
        allreduce(all);
        std::int64_t running = 0;
        for (std::int64_t& count : all)
            running += std::exchange(count, running);
        std::vector<std::int64_t> result;
        for (const RowRun& run : peers_->runs())
            result.push_back(all[place(run)]);
        return result;
    }

  private:
    const Peers* peers_ = nullptr;
};

}  // namespace dics
