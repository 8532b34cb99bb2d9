// Processes that fit one model together, see Peers.
#include <nanobind/stl/unique_ptr.h>

#include <map>
#include <memory>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "links.hpp"
#include "sockets.hpp"

namespace dics {
namespace {

// Messages that Python sends and receives, as encrypted ones are: `send(rank, bytes)`
// and `receive(rank, bytes)` return False when a peer is lost.
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

std::vector<int> ints_of(const nb::list& numbers) {
    std::vector<int> found;
    for (const nb::handle number : numbers)
        found.push_back(nb::cast<int>(number));
    return found;
}

std::unique_ptr<Channel> channel_of(const nb::object& descriptors, nb::callable send,
                                    nb::callable receive) {
#ifdef DICS_HAVE_SOCKETS
    if (!descriptors.is_none()) {
        std::map<int, int> sockets;
        for (const auto item : nb::cast<nb::dict>(descriptors))
            sockets[nb::cast<int>(item.first)] = nb::cast<int>(item.second);
        return std::make_unique<SocketChannel>(sockets, must_stop);
    }
#endif
    return std::make_unique<PythonChannel>(std::move(send), std::move(receive));
}

std::unique_ptr<LinkedPeers> peers_of(int rank, int n_ranks, int parent,
                                      const nb::list& children,
                                      const nb::list& partners,
                                      const Table<std::int64_t>& runs,
                                      const Array<std::int64_t>& run_starts,
                                      const nb::object& descriptors, nb::callable send,
                                      nb::callable receive) {
    std::vector<RowRun> own;
    for (std::size_t i = 0; i < runs.shape(0); ++i) {
        const std::int64_t* run = runs.data() + 3 * i;
        own.push_back({run[0], run[1], run[2]});
    }
    return std::make_unique<LinkedPeers>(
        LinkOrder{rank, n_ranks, parent, ints_of(children), ints_of(partners)},
        channel_of(descriptors, std::move(send), std::move(receive)), std::move(own),
        std::vector<std::int64_t>(run_starts.data(),
                                  run_starts.data() + run_starts.shape(0)));
}

// Calls body() outside Python; returns whether no peer is lost.
template <class Body>
bool is_whole(Body body) {
    OutsidePython outside;
    try {
        body();
    } catch (const PeersLost&) {
        return false;
    }
    return true;
}

template <class T>
std::int64_t length(const Output<T>& values) {
    return static_cast<std::int64_t>(values.shape(0));
}

template <class T>
bool add(const LinkedPeers& peers, const Output<T>& values) {
    return is_whole([&] { peers.add(values.data(), length(values)); });
}

template <class T>
bool add_slices(const LinkedPeers& peers, const Output<T>& values,
                const Array<std::int64_t>& starts) {
    const std::vector<std::int64_t> all(starts.data(), starts.data() + starts.shape(0));
    if (all.size() != static_cast<std::size_t>(peers.n_slices()) + 1 ||
        all.back() != length(values))
        throw nb::value_error("starts are not those of the slices");
    return is_whole([&] { peers.add_slices(values.data(), all); });
}

bool largest(const LinkedPeers& peers, const Output<double>& values) {
    return is_whole([&] { peers.largest(values.data(), length(values)); });
}

bool gather(const LinkedPeers& peers, const Output<std::int64_t>& values) {
    const std::int64_t n = length(values) / peers.n_slices();
    return is_whole([&] { peers.gather(values.data(), n); });
}

}  // namespace

void bind_peers(nb::module_& m) {
    m.attr("HAS_SOCKETS") =
#ifdef DICS_HAVE_SOCKETS
        true;
#else
        false;
#endif
    nb::class_<LinkedPeers>(m, "Peers",
                            "Processes that add up sums; methods change arrays in "
                            "place and return False when a process is lost.")
        .def(nb::new_(&peers_of), "rank"_a, "n_ranks"_a, "parent"_a, "children"_a,
             "partners"_a, "runs"_a, "run_starts"_a, "descriptors"_a.none(), "send"_a,
             "receive"_a)
        .def("add", &add<std::int32_t>, "values"_a.noconvert())
        .def("add", &add<std::int64_t>, "values"_a.noconvert())
        .def("add_slices", &add_slices<std::int32_t>, "values"_a.noconvert(),
             "starts"_a)
        .def("add_slices", &add_slices<std::int64_t>, "values"_a.noconvert(),
             "starts"_a)
        .def("largest", &largest, "values"_a.noconvert())
        .def("gather", &gather, "values"_a.noconvert())
        .def_prop_ro("n_slices", &LinkedPeers::n_slices)
        .def_prop_ro("n_sums", &LinkedPeers::n_sums)
        .def_prop_ro("bytes_sent", &LinkedPeers::bytes_sent)
        .def_prop_ro("bytes_of_all", &LinkedPeers::bytes_of_all);
}

}  // namespace dics
