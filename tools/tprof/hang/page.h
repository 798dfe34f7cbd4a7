// What `tprof hang` prints: a page of text, or JSON.
#pragma once
#include "hang/gather.h"
#include "report/table.h"

namespace tprof::hang {

// `depth`: frames that are shown of a thread, 0: all.
std::string page_of(const Gathered& found, size_t depth, const TextStyle& style);
Json json_of(const Gathered& found);

}  // namespace tprof::hang
