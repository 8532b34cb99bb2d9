// Which features may stand on one path of a tree.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace dics {

// The features of a path are all in one of some groups. A state is the list of groups
// that remain below a node; it has a number, which nodes keep. The root's is 0.
class Interactions {
  public:
    // Without groups, all features may meet.
    Interactions(const std::vector<std::vector<std::int32_t>>& groups,
                 std::int64_t n_features)
        : groups_(groups), groups_of_(n_features) {
        if (groups_.empty())
            return;
        std::vector<std::int32_t> all;
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            all.push_back(g);
            for (const std::int32_t f : groups_[g])
                groups_of_[f].push_back(all.back());
        }
        number_of(all);
    }

    bool allow(int state, std::int32_t feature) const {
        return groups_.empty() || states_[state].allowed[feature];
    }

    // The state of the children of a node that is split by `feature`.
    int below(int state, std::int32_t feature) {
        if (groups_.empty())
            return 0;
        const auto known = below_.find({state, feature});
        if (known != below_.end())
            return known->second;
        const auto& before = states_[state].groups;
        const auto& with_feature = groups_of_[feature];
        std::vector<std::int32_t> left;
        std::set_intersection(before.begin(), before.end(), with_feature.begin(),
                              with_feature.end(), std::back_inserter(left));
        return below_[{state, feature}] = number_of(left);
    }

  private:
    struct State {
        std::vector<std::int32_t> groups;  // that contain the whole path, rising
        std::vector<bool> allowed;         // their features
    };

    int number_of(const std::vector<std::int32_t>& groups) {
        const auto known = numbers_.find(groups);
        if (known != numbers_.end())
            return known->second;
        State state{groups, std::vector<bool>(groups_of_.size())};
        for (const std::int32_t g : groups) {
            for (const std::int32_t f : groups_[g])
                state.allowed[f] = true;
        }
        states_.push_back(std::move(state));
        return numbers_[groups] = static_cast<int>(states_.size()) - 1;
    }

    std::vector<std::vector<std::int32_t>> groups_;
    std::vector<std::vector<std::int32_t>> groups_of_;  // of each feature
    std::vector<State> states_;
    std::map<std::vector<std::int32_t>, int> numbers_;  // of states
    std::map<std::pair<int, std::int32_t>, int> below_;
};

}  // namespace dics
