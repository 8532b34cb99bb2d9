// The one place where contributions to a sum meet.
//
// All sums that decide something are of whole numbers, so contributors may be added in
// any order. Contributors are the threads of this process, which have parts of their
// own or disjoint cells of one array, and may be other processes: `everywhere` is
// called with each histogram, with the totals of nodes and leaves, before anything is
// decided by them. One process alone has nothing to add.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>
#include <vector>

namespace dics {

// Rows that stand side by side here and in the whole: `n` of them from `own` on are
// those from `number` on.
struct RowRun {
    std::int64_t own, number, n;
};

// Thrown when a process that takes part is gone.
struct PeersLost : std::exception {
    const char* what() const noexcept override { return "a contributor is lost"; }
};

// Processes that fit one model together, each with rows of its own. All of them make
// the same calls in the same order, each from one thread.
class Peers {
  public:
    virtual ~Peers() = default;
    // What all of them have together, in place of what this one has.
    virtual void add(std::int32_t* values, std::int64_t n) const = 0;
    virtual void add(std::int64_t* values, std::int64_t n) const = 0;
    // The largest of what they have, number by number.
    virtual void largest(double* values, std::int64_t n) const = 0;
    // The search is divided among them: into how many slices, and which of them is
    // searched here.
    virtual int n_slices() const = 0;
    virtual int own_slice() const = 0;
    // Adds up numbers of which slice i lies from starts[i] on. Only those of the own
    // slice are what all have together, the others are of no use afterwards.
    virtual void add_slices(std::int32_t* values,
                            const std::vector<std::int64_t>& starts) const = 0;
    virtual void add_slices(std::int64_t* values,
                            const std::vector<std::int64_t>& starts) const = 0;
    // Numbers [slice][n], of which each process has those of its own slice: all.
    virtual void gather(std::int64_t* values, std::int64_t n) const = 0;
    // Runs of the rows of this one, in the order of its rows, and the numbers of the
    // first rows of all runs there are, rising.
    virtual const std::vector<RowRun>& runs() const = 0;
    virtual const std::vector<std::int64_t>& run_starts() const = 0;
};

class Sum {
  public:
    Sum() = default;
    explicit Sum(const Peers* peers) : peers_(peers) {}

    // Adds the parts of tasks, [n_parts][size], into the first, which is there even of
    // none.
    template <class T>
    void parts(std::vector<T>& values, std::size_t n_parts, std::size_t size) const {
        values.resize(std::max(values.size(), size));
        for (std::size_t part = 1; part < n_parts; ++part) {
            for (std::size_t i = 0; i < size; ++i)
                values[i] += values[part * size + i];
        }
        everywhere(values.data(), static_cast<std::int64_t>(size));
    }

    // What all contributors have together, in place of what this one has.
    template <class T>
    void everywhere(T* values, std::int64_t size) const {
        if (peers_)
            peers_->add(as_signed(values), size);
    }

    // Numbers of which only those of the own slice are wanted, see Peers::add_slices.
    template <class T>
    void slices(T* values, const std::vector<std::int64_t>& starts) const {
        if (peers_)
            peers_->add_slices(as_signed(values), starts);
    }
    void gather(std::int64_t* values, std::int64_t n) const {
        if (peers_)
            peers_->gather(values, n);
    }
    int n_slices() const { return peers_ ? peers_->n_slices() : 1; }
    int own_slice() const { return peers_ ? peers_->own_slice() : 0; }

    // Is there no other process?
    bool is_alone() const { return !peers_; }

    // Rows of all contributors.
    std::int64_t n_rows(std::int64_t own) const {
        everywhere(&own, 1);
        return own;
    }

    // The largest numbers any of them has.
    double largest(double own) const {
        largest(&own, 1);
        return own;
    }
    void largest(double* values, std::int64_t n) const {
        if (peers_)
            peers_->largest(values, n);
    }

    // Calls body(first, last, shift) for parts of the rows first..last-1 here that are
    // numbered first+shift.. among those of all contributors.
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

    // How many of the items that runs of rows have (counts by run, in the order of the
    // rows here) come before each run, by the numbers of the rows.
    std::vector<std::int64_t> before(const std::vector<std::int64_t>& counts) const {
        if (!peers_)
            return {0};
        const std::vector<std::int64_t>& starts = peers_->run_starts();
        auto place = [&](const RowRun& run) {
            return static_cast<std::size_t>(
                std::lower_bound(starts.begin(), starts.end(), run.number) -
                starts.begin());
        };
        std::vector<std::int64_t> all(starts.size());
        for (std::size_t i = 0; i < counts.size(); ++i)
            all[place(peers_->runs()[i])] = counts[i];
        everywhere(all.data(), static_cast<std::int64_t>(all.size()));
        std::int64_t running = 0;
        for (std::int64_t& count : all)
            running += std::exchange(count, running);
        std::vector<std::int64_t> result;
        for (const RowRun& run : peers_->runs())
            result.push_back(all[place(run)]);
        return result;
    }

  private:
    // Sums of whole numbers wrap around, whatever their sign.
    template <class T>
    static auto* as_signed(T* values) {
        static_assert(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
        using Signed = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
        return reinterpret_cast<Signed*>(values);
    }

    const Peers* peers_ = nullptr;
};

}  // namespace dics
