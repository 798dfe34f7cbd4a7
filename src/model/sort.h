// Sorts sequences that usually are in order already: profilers write nearly everything in order of time.
#pragma once
#include <algorithm>

namespace tprof {

template <class Container, class Less>
void sort_if_needed(Container& all, Less less) {
  if (!std::is_sorted(all.begin(), all.end(), less)) std::sort(all.begin(), all.end(), less);
}

// Equal elements keep their order.
template <class Container, class Less>
void stable_sort_if_needed(Container& all, Less less) {
  if (!std::is_sorted(all.begin(), all.end(), less)) std::stable_sort(all.begin(), all.end(), less);
}

}  // namespace tprof
