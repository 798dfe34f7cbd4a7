// Fits texts to a width: wraps them at blanks, or cuts out their least informative part. Widths are in code points:
// text to the right of wide or combining characters may be slightly misaligned.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "report/table.h"

namespace tprof {

size_t width_of(const std::string& text);  // colours take none

std::vector<std::string> split_lines(const std::string& text);

// Wraps a line that does not fit; following lines start with `hang` blanks, and words are never split. Width 0: no
// limit.
std::string wrapped(const std::string& line, size_t width, size_t hang = 2);

// Wraps each line of a text that does not fit; following lines are indented by two more blanks than it.
std::string wrapped_lines(const std::string& text, int width);

// A sentence as at most `most` lines of that width; none if it does not fit so, or is no sentence.
std::vector<std::string> folded(const std::string& text, size_t width, size_t most);

// Keeps both ends of a name, the start of a function rather than its template arguments, and the end of a file's path.
std::string cut(const std::string& text, size_t width, bool utf8, Unit unit);

// Each of the texts, cut; texts that would then look the same are cut so that their difference remains.
std::map<std::string, std::string> cut_apart(const std::set<std::string>& texts, size_t width, bool utf8, Unit unit);

}  // namespace tprof
