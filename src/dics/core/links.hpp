// Sums over processes, by connections between them.
//
// Each process is connected with all others. Small sums go up and down a tree: a
// process adds the numbers of its children to its own, sends the sum to its parent, and
// sends the total back to its children. The numbers are integers, so the shape of the
// tree doesn't matter. A large sum is divided into slices, one for each process: any
// two processes send each other the slice that the other one needs.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sum.hpp"

namespace dics {

// What a message begins with: kind of the sum, its number and the bytes of it all. All
// processes must be at the same one.
using LinkHeader = std::array<std::int64_t, 3>;

// Carries messages to other processes, which are known by their ranks. All of it throws
// PeersLost when the other one is gone.
class Channel {
  public:
    virtual ~Channel() = default;
    virtual void send(int rank, const LinkHeader& header, const void* from,
                      std::size_t n) = 0;
    // The header that comes must be the one expected.
    virtual void receive(int rank, const LinkHeader& expected, void* to,
                         std::size_t n) = 0;

  protected:
    // A difference is a bug, never the network.
    static void check(const LinkHeader& found, const LinkHeader& expected) {
        if (found != expected)
            throw std::runtime_error("processes that add up disagree: one is at " +
                                     text(expected) + ", another at " + text(found));
    }

  private:
    static std::string text(const LinkHeader& header) {
        return "sum " + std::to_string(header[1]) + " of kind " +
               std::to_string(header[0]) + " and " + std::to_string(header[2]) +
               " bytes";
    }
};

// The other processes: parent and children in the tree (-1 for no parent), and
// `partners`, which are all of them, in an order in which both of a pair meet at once.
struct LinkOrder {
    int rank, n_ranks, parent;
    std::vector<int> children, partners;
};

class LinkedPeers : public Peers {
  public:
    LinkedPeers(LinkOrder order, std::unique_ptr<Channel> channel,
                std::vector<RowRun> runs, std::vector<std::int64_t> run_starts)
        : order_(std::move(order)),
          channel_(std::move(channel)),
          runs_(std::move(runs)),
          run_starts_(std::move(run_starts)) {}

    void add(std::int32_t* values, std::int64_t n) const override {
        reduce(kAdd, values, n, sum<std::int32_t>);
    }
    void add(std::int64_t* values, std::int64_t n) const override {
        reduce(kAdd, values, n, sum<std::int64_t>);
    }
    void largest(double* values, std::int64_t n) const override {
        reduce(kLargest, values, n, [](double a, double b) { return std::max(a, b); });
    }

    int n_slices() const override { return order_.n_ranks; }
    int own_slice() const override { return order_.rank; }
    void add_slices(std::int32_t* values,
                    const std::vector<std::int64_t>& starts) const override {
        reduce_slices(values, starts);
    }
    void add_slices(std::int64_t* values,
                    const std::vector<std::int64_t>& starts) const override {
        reduce_slices(values, starts);
    }
    void gather(std::int64_t* values, std::int64_t n) const override {
        const LinkHeader header = begin_exchange(kGather, values, n * n_slices());
        for (const int rank : order_.partners)
            swap(rank, header, values + order_.rank * n, n, values + rank * n, n);
    }

    const std::vector<RowRun>& runs() const override { return runs_; }
    const std::vector<std::int64_t>& run_starts() const override { return run_starts_; }

    std::int64_t n_sums() const { return n_sums_; }
    std::int64_t bytes_sent() const { return bytes_sent_; }
    // What all processes have sent.
    std::int64_t bytes_of_all() const { return bytes_of_all_; }

  private:
    static constexpr std::int64_t kAdd = 1, kLargest = 2, kAddSlices = 3, kGather = 4;

    // Sums wrap around.
    template <class T>
    static T sum(T a, T b) {
        using Unsigned = std::make_unsigned_t<T>;
        return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    }

    template <class T, class Join>
    void reduce(std::int64_t kind, T* values, std::int64_t n, Join join) const {
        const LinkHeader header = next_header(kind, values, n);
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
    void reduce_slices(T* values, const std::vector<std::int64_t>& starts) const {
        const LinkHeader header = begin_exchange(kAddSlices, values, starts.back());
        auto start = [&](int slice) { return starts[static_cast<std::size_t>(slice)]; };
        T* own = values + start(order_.rank);
        const std::int64_t n = start(order_.rank + 1) - start(order_.rank);
        for (const int rank : order_.partners) {
            swap(rank, header, values + start(rank), start(rank + 1) - start(rank),
                 space<T>(n), n);
            join_space(own, n, sum<T>);
        }
    }

    template <class T>
    LinkHeader next_header(std::int64_t kind, const T*, std::int64_t n) const {
        return {kind, n_sums_++, n * std::int64_t{sizeof(T)}};
    }
    // Every slice is sent by all but one.
    template <class T>
    LinkHeader begin_exchange(std::int64_t kind, const T* values,
                              std::int64_t n) const {
        const std::int64_t headers = order_.n_ranks * message_bytes<T>(0);
        bytes_of_all_ += (order_.n_ranks - 1) * (headers + n * std::int64_t{sizeof(T)});
        return next_header(kind, values, n);
    }

    // One of the two sends first, so that both never wait for room.
    template <class T>
    void swap(int rank, const LinkHeader& header, const T* sent, std::int64_t n_sent,
              T* received, std::int64_t n_received) const {
        if (order_.rank < rank)
            send(rank, header, sent, n_sent);
        receive(rank, header, received, n_received);
        if (order_.rank > rank)
            send(rank, header, sent, n_sent);
    }

    template <class T>
    void send(int rank, const LinkHeader& header, const T* from, std::int64_t n) const {
        channel_->send(rank, header, from, sizeof(T) * static_cast<std::size_t>(n));
        bytes_sent_ += message_bytes<T>(n);
    }
    template <class T>
    void receive(int rank, const LinkHeader& header, T* to, std::int64_t n) const {
        channel_->receive(rank, header, to, sizeof(T) * static_cast<std::size_t>(n));
    }
    template <class T>
    static std::int64_t message_bytes(std::int64_t n) {
        return static_cast<std::int64_t>(sizeof(LinkHeader)) +
               n * std::int64_t{sizeof(T)};
    }

    // Room for n numbers that come.
    template <class T>
    T* space(std::int64_t n) const {
        constexpr std::size_t per_word = sizeof(std::int64_t) / sizeof(T);
        space_.resize(
            std::max(space_.size(), static_cast<std::size_t>(n) / per_word + 1));
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
    // Sums are const to whoever asks for them.
    mutable std::vector<std::int64_t> space_;
    mutable std::int64_t n_sums_ = 0, bytes_sent_ = 0, bytes_of_all_ = 0;
};

}  // namespace dics
