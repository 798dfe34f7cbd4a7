// The stacks of a program as text and as JSON.
#pragma once
#include "report/table.h"
#include "stack/stacks.h"

namespace tprof {

constexpr size_t kDefaultDepth = 40;  // frames that are shown of a thread

// Threads with equal stacks are shown once, and of each the innermost and outermost frames if there are more than
// `depth`; 0: all.
std::string text_of(const ProgramStacks& program, size_t depth, const TextStyle& style);
// One thread alone.
std::string text_of(const ThreadStack& thread, size_t depth, const TextStyle& style);

Json json_of(const ProgramStacks& program);
Json json_of(const ThreadStack& thread);

}  // namespace tprof
