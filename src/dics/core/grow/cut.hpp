#pragma once

namespace dics {

// The best cut of one feature: thresholds lo..hi cut the node's rows in the same place.
// lo = -1: everything present goes right and only NaN goes left (threshold -inf).
struct Cut {
    double score = -1.0e308;
    int lo = -2;
    int hi = -2;
    bool missing_left = false;
    bool saw_missing = false;

    bool found() const { return lo != -2; }
};

}  // namespace dics
