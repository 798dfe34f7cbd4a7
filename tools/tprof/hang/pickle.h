// Reads values that Python has pickled, and nothing but values: None, booleans, numbers, texts, lists, tuples and
// dictionaries. Whatever names a class or calls a function is refused, so a file cannot make anything run.
#pragma once
#include <string>
#include <string_view>

#include "report/table.h"

namespace tprof::hang {

// Tuples become arrays, keys texts. Throws Error(Fault::unreadable) with what is wrong, to follow the file's name.
Json read_pickle(std::string_view bytes);

}  // namespace tprof::hang
