// Collective operations over connections between processes.
//
// Each process is connected with all others. A small sum goes up and down a tree: a
// process adds the values of its children to its own, sends the sum to its parent, and
// sends the total back to its children. The values are integers, so the shape of the
// tree does not matter. A large sum is divided into one slice per process: each pair of
// processes exchanges the slices that they need.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace dics {

// A run of consecutive rows: `n` rows from the local index `own` on have the global
// indices from `number` on.
struct RowRun {
    std::int64_t own, number, n;
};

// Thrown if another process of the fit is lost.
struct PeersLost : std::exception {
    const char* what() const noexcept override {
        return "A process of the fit is lost.";
    }
};

// The header of a message: kind of the operation, its index and its size in bytes. It
// must be the same in all processes.
using LinkHeader = std::array<std::int64_t, 3>;

// Carries messages to other processes by rank. Throws PeersLost if one is lost.
class Channel {
  public:
    virtual ~Channel() = default;
    virtual void send(int rank, const LinkHeader& header, const void* from,
                      std::size_t n) = 0;
    // The received header must be the expected one.
    virtual void receive(int rank, const LinkHeader& expected, void* to,
                         std::size_t n) = 0;

  protected:
    // A difference is a bug of dics, never a fault of the network.
    static void check(const LinkHeader& found, const LinkHeader& expected) {
        if (found != expected)
            throw std::runtime_error("The processes of a fit disagree: one is at " +
                                     text(expected) + ", another at " + text(found) +
                                     ". This is a bug in dics.");
    }

  private:
    static std::string text(const LinkHeader& header) {
        return "operation " + std::to_string(header[1]) + " of kind " +
               std::to_string(header[0]) + " with " + std::to_string(header[2]) +
               " bytes";
    }
};

// The other processes: parent (-1 for none) and children in the tree, and `partners`:
// all others, in an order in which the two processes of a pair reach each other at
// once.
struct LinkOrder {
    int rank, n_ranks, parent;
    std::vector<int> children, partners;
};

// Processes that fit one model together, each with its own rows. All of them make the
// same calls in the same order, each from one thread.
class Peers {
  public:
    Peers(LinkOrder order, std::unique_ptr<Channel> channel, std::vector<RowRun> runs,
          std::vector<std::int64_t> run_starts)
        : order_(std::move(order)),
          channel_(std::move(channel)),
          runs_(std::move(runs)),
          run_starts_(std::move(run_starts)) {}

    int rank() const { return order_.rank; }
    int n_ranks() const { return order_.n_ranks; }

    // Replaces each value by its sum over all processes, which wraps around.
    template <class T>
    void allreduce(T* values, std::int64_t n) const {
        reduce(kSum, values, n, sum<T>);
    }
    // Replaces each value by its maximum over all processes.
    void allreduce_max(double* values, std::int64_t n) const {
        reduce(kMax, values, n, [](double a, double b) { return std::max(a, b); });
    }
    // Sums values in one slice per rank; slice i begins at starts[i]. Afterwards only
    // the slice of this rank holds sums, the others hold no useful values.
    template <class T>
    void reduce_scatter(T* values, const std::vector<std::int64_t>& starts) const {
        const LinkHeader header = begin_exchange<T>(kScatter, starts.back());
        auto size = [&](int rank) { return starts[rank + 1] - starts[rank]; };
        const std::int64_t n = size(order_.rank);
        for (const int rank : order_.partners) {
            exchange(rank, header, values + starts[rank], size(rank), space<T>(n), n);
            join_space(values + starts[order_.rank], n, sum<T>);
        }
    }
    // Fills values [rank][n], of which each process has the part of its rank.
    void allgather(std::int64_t* values, std::int64_t n) const {
        const LinkHeader header = begin_exchange<std::int64_t>(kGather, n * n_ranks());
        for (const int rank : order_.partners)
            exchange(rank, header, values + order_.rank * n, n, values + rank * n, n);
    }

    // The runs of local rows, in the order of these rows, and the sorted global indices
    // of the first rows of all runs of all processes.
    const std::vector<RowRun>& runs() const { return runs_; }
    const std::vector<std::int64_t>& run_starts() const { return run_starts_; }

    std::int64_t n_sums() const { return n_sums_; }
    std::int64_t bytes_sent() const { return bytes_sent_; }
    // Bytes sent by all processes.
    std::int64_t bytes_of_all() const { return bytes_of_all_; }

  private:
    static constexpr std::int64_t kSum = 1, kMax = 2, kScatter = 3, kGather = 4;

    template <class T>
    static T sum(T a, T b) {
        return std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b);
    }

    template <class T, class Join>
    void reduce(std::int64_t kind, T* values, std::int64_t n, Join join) const {
        const LinkHeader header = next_header<T>(kind, n);
        bytes_of_all_ += 2 * (order_.n_ranks - 1) * message_bytes<T>(n);
        for (const int child : order_.children) {
            receive(child, header, space<T>(n), n);
            join_space(values, n, join);
        }
        if (order_.parent >= 0) {
            send(order_.parent, header, values, n);
            receive(order_.parent, header, values, n);
        }
        for (const int child : order_.children)
            send(child, header, values, n);
    }

    template <class T>
    LinkHeader next_header(std::int64_t kind, std::int64_t n) const {
        return {kind, n_sums_++, n * std::int64_t{sizeof(T)}};
    }
    // Each slice is sent by all processes but one.
    template <class T>
    LinkHeader begin_exchange(std::int64_t kind, std::int64_t n) const {
        const std::int64_t headers = order_.n_ranks * message_bytes<T>(0);
        bytes_of_all_ += (order_.n_ranks - 1) * (headers + n * std::int64_t{sizeof(T)});
        return next_header<T>(kind, n);
    }

    // One of the two sends first: if both did, both could wait for room in a buffer.
    template <class T>
    void exchange(int rank, const LinkHeader& header, const T* sent,
                  std::int64_t n_sent, T* received, std::int64_t n_received) const {
        if (order_.rank < rank)
            send(rank, header, sent, n_sent);
        receive(rank, header, received, n_received);
        if (order_.rank > rank)
            send(rank, header, sent, n_sent);
    }

    template <class T>
    void send(int rank, const LinkHeader& header, const T* from, std::int64_t n) const {
        channel_->send(rank, header, from, sizeof(T) * n);
        bytes_sent_ += message_bytes<T>(n);
    }
    template <class T>
    void receive(int rank, const LinkHeader& header, T* to, std::int64_t n) const {
        channel_->receive(rank, header, to, sizeof(T) * n);
    }
    template <class T>
    static std::int64_t message_bytes(std::int64_t n) {
        return sizeof(LinkHeader) + n * sizeof(T);
    }

    // Space for n received values.
    template <class T>
    T* space(std::int64_t n) const {
        space_.resize(std::max<std::size_t>(space_.size(),
                                            n * sizeof(T) / sizeof(space_[0]) + 1));
        return reinterpret_cast<T*>(space_.data());
    }
    template <class T, class Join>
    void join_space(T* values, std::int64_t n, Join join) const {
        const T* received = space<T>(n);
        for (std::int64_t i = 0; i < n; ++i)
            values[i] = join(values[i], received[i]);
    }

    LinkOrder order_;
    std::unique_ptr<Channel> channel_;
    std::vector<RowRun> runs_;
    std::vector<std::int64_t> run_starts_;
    // The operations are const for their callers.
    mutable std::vector<std::int64_t> space_;
    mutable std::int64_t n_sums_ = 0, bytes_sent_ = 0, bytes_of_all_ = 0;
};

}  // namespace dics
