// What is in a directory. Nothing is thrown: what cannot be read, as /proc/PID/task of a process that has just ended,
// leaves out the rest.
#pragma once

#include <string>
#include <vector>

namespace tprof {

// The names, but for "." and "..", in no order.
std::vector<std::string> names_in(const std::string& directory);

// Those names that are positive numbers, ascending: of /proc, the processes; of /proc/PID/task, the threads.
std::vector<int> numbers_in(const std::string& directory);

}  // namespace tprof
