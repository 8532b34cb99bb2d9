// The splits of earlier trees, for rounds that only compute new leaf values.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "data/matrix.hpp"
#include "grow/node.hpp"
#include "predict/predict.hpp"

namespace dics {

// Returns the nodes of tree `t` as the grower left them. The dictionary is the one that
// the tree was grown with.
inline std::vector<GrownNode> repeat_nodes(const ForestView& forest, std::int64_t t,
                                           const Dictionary& dictionary) {
    const TreeView tree = forest.tree(t);
    std::vector<GrownNode> grown(forest.node_starts[t + 1] - forest.node_starts[t]);
    for (std::size_t i = 0; i < grown.size(); ++i) {
        const Node& node = tree.nodes[i];
        if (node.feature < 0)
            continue;
        GrownNode& copy = grown[i];
        copy.feature = node.feature;
        copy.threshold = node.threshold;
        copy.missing_left = tree.missing_left[i];
        copy.left = node.left;
        for (const int side : {0, 1})
            grown[node.left + side].depth = copy.depth + 1;
        if (const CodeSet* set = tree.set_of(i)) {
            copy.is_set = true;
            copy.left_codes = *set;
        } else if (std::isfinite(node.threshold)) {  // otherwise only NaN goes left
            const double* first = dictionary.thresholds(node.feature);
            const double* last = first + dictionary.count(node.feature);
            copy.index = std::lower_bound(first, last, node.threshold) - first;
        }
    }
    return grown;
}

}  // namespace dics
