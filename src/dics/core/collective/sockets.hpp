// Messages over sockets of the operating system, without Python.
#pragma once

#if defined(__unix__) || defined(__APPLE__)
#define DICS_HAVE_SOCKETS

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <map>
#include <utility>

#include "collective/peers.hpp"
#include "team.hpp"

namespace dics {

class SocketChannel : public Channel {
  public:
    // Descriptors by rank. The channel duplicates them, so that the code that opened a
    // socket can close it at any time. `must_stop` is called during a wait.
    SocketChannel(const std::map<int, int>& descriptors,
                  std::function<bool()> must_stop)
        : must_stop_(std::move(must_stop)) {
        for (const auto& [rank, descriptor] : descriptors)
            sockets_[rank] = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    }
    ~SocketChannel() override {
        for (const auto& [rank, descriptor] : sockets_)
            close(descriptor);
    }
    SocketChannel(const SocketChannel&) = delete;
    SocketChannel& operator=(const SocketChannel&) = delete;

    void send(int rank, const LinkHeader& header, const void* from,
              std::size_t n) override {
        const int to = sockets_.at(rank);
        Parts parts(const_cast<LinkHeader&>(header), const_cast<void*>(from), n);
        while (!parts.is_done())
            parts.advance(
                transferred(sendmsg(to, parts.message(), kFlags), to, POLLOUT));
    }

    void receive(int rank, const LinkHeader& expected, void* to,
                 std::size_t n) override {
        const int from = sockets_.at(rank);
        LinkHeader found;
        Parts parts(found, to, n);
        bool is_checked = false;
        while (!parts.is_done()) {
            const ssize_t got = recvmsg(from, parts.message(), kFlags);
            if (got == 0)
                throw PeersLost();
            parts.advance(transferred(got, from, POLLIN));
            if (!is_checked && parts.has_header()) {
                check(found, expected);
                is_checked = true;
            }
        }
    }

  private:
#ifdef MSG_NOSIGNAL
    static constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;
#else
    static constexpr int kFlags = MSG_DONTWAIT;
#endif
    static constexpr int kLookMs = 100;  // interval between calls of `must_stop`
    // Longest wait for a process that computes. The client detects a lost one earlier.
    static constexpr std::chrono::hours kSilence{1};

    // The rest of a message.
    class Parts {
      public:
        Parts(LinkHeader& header, void* values, std::size_t n)
            : parts_{{&header, sizeof(LinkHeader)}, {values, n}} {}

        bool has_header() const { return parts_[0].iov_len == 0; }
        bool is_done() const { return has_header() && parts_[1].iov_len == 0; }
        msghdr* message() {
            message_ = {};
            message_.msg_iov = parts_ + (has_header() ? 1 : 0);
            message_.msg_iovlen = has_header() ? 1 : 2;
            return &message_;
        }
        void advance(std::size_t n) {
            for (iovec& part : parts_) {
                const std::size_t some = std::min(n, part.iov_len);
                part.iov_base = static_cast<char*>(part.iov_base) + some;
                part.iov_len -= some;
                n -= some;
            }
        }

      private:
        iovec parts_[2];
        msghdr message_;
    };

    // Returns the bytes that a call has moved. If it moved none, waits for the socket.
    std::size_t transferred(ssize_t n, int socket, short event) const {
        if (n >= 0)
            return n;
        if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
            throw PeersLost();
        const auto begin = std::chrono::steady_clock::now();
        pollfd polled{socket, event, 0};
        while (poll(&polled, 1, kLookMs) <= 0) {
            if (must_stop_())
                throw Stopped();
            if (is_shut_down(socket) ||
                std::chrono::steady_clock::now() - begin > kSilence)
                throw PeersLost();
        }
        return 0;
    }

    // `poll` does not report this to a sender: its data may stay in the buffer unread.
    static bool is_shut_down(int socket) {
        char next;
        return recv(socket, &next, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
    }

    std::function<bool()> must_stop_;
    std::map<int, int> sockets_;
};

}  // namespace dics

#endif
