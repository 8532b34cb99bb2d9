// What searches of nodes whose codes are lists have in common.
#pragma once

#include "search/node_entries.hpp"

namespace dics {

// Divides the rows of a tree by lists of codes, and knows where each of them stands.
template <class Target, class Open>
class ListedNodes {
  public:
    ListedNodes(const CodeLists& lists, const Dictionary& dictionary,
                const std::vector<std::uint32_t>& rows)
        : lists_(lists), dictionary_(dictionary), places_(lists, rows) {}

    ListedSide side(const Split& split) const { return {lists_, dictionary_, split}; }

    template <class Context>
    bool read_left_totals(const Open&, Context&, typename Target::Totals&) const {
        return false;
    }
    template <class Context>
    void hand_over(Open& node, Open&, bool, Open&, bool, Context&) {
        places_.update(node.begin, node.end);
    }
    template <class Context>
    void release(Open&, Context&) {}

  protected:
    const CodeLists& lists_;
    Dictionary dictionary_;
    RowPlaces places_;
};

}  // namespace dics
