// Sorting of what is in order already most of the time: profilers write, and the Model holds, nearly everything by time.
#pragma once
#include <algorithm>

namespace tprof {

template <class Container, class Less>
void sort_if_needed(Container& all, Less less) {
  if (!std::is_sorted(all.begin(), all.end(), less)) std::sort(all.begin(), all.end(), less);
}

// Equal ones stay as they are.
template <class Container, class Less>
void stable_sort_if_needed(Container& all, Less less) {
  if (!std::is_sorted(all.begin(), all.end(), less)) std::stable_sort(all.begin(), all.end(), less);
}

}  // namespace tprof
