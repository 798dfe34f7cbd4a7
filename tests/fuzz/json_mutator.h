// Changes single values of a JSON document, so that what comes out is JSON most of the time.
#pragma once
#include "base/types.h"

namespace tprof::fuzz {

// As LLVMFuzzerCustomMutator: the new size.
size_t mutate_json(u8* data, size_t size, size_t max_size, unsigned seed);

}  // namespace tprof::fuzz
