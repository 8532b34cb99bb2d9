// Processes that fit one model together, see Peers.
#include "collective/peers.hpp"

#include <nanobind/stl/unique_ptr.h>

#include <map>
#include <memory>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "collective/sockets.hpp"

namespace dics {
namespace {

// Sends and receives messages through Python, which can encrypt them. `send(rank,
// bytes)` and `receive(rank, bytes)` return False if a peer is lost.
class PythonChannel : public Channel {
  public:
    PythonChannel(nb::callable send, nb::callable receive)
        : send_(std::move(send)), receive_(std::move(receive)) {}

    void send(int rank, const LinkHeader& header, const void* from,
              std::size_t n) override {
        LinkHeader own = header;
        call_with(send_, rank, own.data(), sizeof(own));
        call_with(send_, rank, const_cast<void*>(from), n);
    }
    void receive(int rank, const LinkHeader& expected, void* to,
                 std::size_t n) override {
        LinkHeader found;
        call_with(receive_, rank, found.data(), sizeof(found));
        check(found, expected);
        call_with(receive_, rank, to, n);
    }

  private:
    static void call_with(const nb::callable& method, int rank, void* bytes,
                          std::size_t n) {
        if (must_stop())
            throw Stopped();
        InsidePython python;
        const nb::object array =
            nb::cast(nb::ndarray<nb::numpy, std::uint8_t>(bytes, {n}, nb::handle()),
                     nb::rv_policy::reference);
        if (!nb::cast<bool>(call(method, nb::make_tuple(rank, array))))
            throw PeersLost();
    }

    nb::callable send_, receive_;
};

std::vector<std::int64_t> list_of(const Array<std::int64_t>& values) {
    return {values.data(), values.data() + values.shape(0)};
}

std::vector<int> ints_of(const nb::list& values) {
    std::vector<int> result;
    for (const nb::handle value : values)
        result.push_back(nb::cast<int>(value));
    return result;
}

// Takes lists and a dict as they are: the casters of nanobind to containers of C++
// abort if memory is exhausted.
std::unique_ptr<Peers> peers_of(int rank, int n_ranks, int parent,
                                const nb::list& children, const nb::list& partners,
                                const Table<std::int64_t>& runs,
                                const Array<std::int64_t>& run_starts,
                                const nb::object& descriptors, nb::callable send,
                                nb::callable receive) {
    std::vector<RowRun> own;
    for (std::size_t i = 0; i < runs.shape(0); ++i) {
        const std::int64_t* run = runs.data() + 3 * i;
        own.push_back({run[0], run[1], run[2]});
    }
    std::unique_ptr<Channel> channel;
#ifdef DICS_HAVE_SOCKETS
    if (!descriptors.is_none()) {
        std::map<int, int> sockets;
        for (const auto item : nb::cast<nb::dict>(descriptors))
            sockets[nb::cast<int>(item.first)] = nb::cast<int>(item.second);
        channel = std::make_unique<SocketChannel>(sockets, must_stop);
    }
#endif
    if (!channel)
        channel = std::make_unique<PythonChannel>(std::move(send), std::move(receive));
    return std::make_unique<Peers>(
        LinkOrder{rank, n_ranks, parent, ints_of(children), ints_of(partners)},
        std::move(channel), std::move(own), list_of(run_starts));
}

// Calls an operation outside Python. Returns False if a peer is lost.
template <class Body>
bool succeeds(Body body) {
    OutsidePython outside;
    try {
        body();
    } catch (const PeersLost&) {
        return false;
    }
    return true;
}

template <class T>
bool allreduce(const Peers& peers, const Output<T>& values) {
    return succeeds([&] { peers.allreduce(values.data(), values.shape(0)); });
}

bool allreduce_max(const Peers& peers, const Output<double>& values) {
    return succeeds([&] { peers.allreduce_max(values.data(), values.shape(0)); });
}

template <class T>
bool reduce_scatter(const Peers& peers, const Output<T>& values,
                    const Array<std::int64_t>& slice_starts) {
    const std::vector<std::int64_t> starts = list_of(slice_starts);
    if (starts.size() != peers.n_ranks() + std::size_t{1} ||
        starts.back() != std::int64_t(values.shape(0)))
        throw nb::value_error(
            "starts must have one start per rank and the length of values.");
    return succeeds([&] { peers.reduce_scatter(values.data(), starts); });
}

bool allgather(const Peers& peers, const Output<std::int64_t>& values) {
    const std::int64_t n = values.shape(0) / peers.n_ranks();
    return succeeds([&] { peers.allgather(values.data(), n); });
}

}  // namespace

void bind_peers(nb::module_& m) {
    m.attr("HAS_SOCKETS") =
#ifdef DICS_HAVE_SOCKETS
        true;
#else
        false;
#endif
    nb::class_<Peers>(m, "Peers",
                      "Processes that fit one model. The operations change arrays "
                      "in place and return False if a process is lost.")
        .def(nb::new_(&peers_of), "rank"_a, "n_ranks"_a, "parent"_a, "children"_a,
             "partners"_a, "runs"_a, "run_starts"_a, "descriptors"_a.none(), "send"_a,
             "receive"_a)
        .def("allreduce", &allreduce<std::int32_t>, "values"_a.noconvert())
        .def("allreduce", &allreduce<std::int64_t>, "values"_a.noconvert())
        .def("allreduce_max", &allreduce_max, "values"_a.noconvert())
        .def("reduce_scatter", &reduce_scatter<std::int32_t>, "values"_a.noconvert(),
             "starts"_a)
        .def("reduce_scatter", &reduce_scatter<std::int64_t>, "values"_a.noconvert(),
             "starts"_a)
        .def("allgather", &allgather, "values"_a.noconvert())
        .def_prop_ro("n_sums", &Peers::n_sums)
        .def_prop_ro("bytes_sent", &Peers::bytes_sent)
        .def_prop_ro("bytes_of_all", &Peers::bytes_of_all);
}

}  // namespace dics
