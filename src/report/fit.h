// Texts made to fit a width: wrapped at blanks, or cut where they say least. Widths are in code points: what stands to
// the right of wide or combining characters may be a little off.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "report/table.h"

namespace tprof {

size_t width_of(const std::string& text);  // colours take none

std::vector<std::string> split_lines(const std::string& text);

// Words of a line that does not fit go on below it, behind `hang` blanks; a longer word stays whole. Width 0: no limit.
std::string wrapped(const std::string& line, size_t width, size_t hang = 2);

// Each line of a text that does not fit, wrapped behind its own indentation and two blanks more.
std::string wrapped_lines(const std::string& text, int width);

// A sentence as at most `most` lines of that width; none if it does not fit so, or is no sentence.
std::vector<std::string> folded(const std::string& text, size_t width, size_t most);

// Of a name both ends tell, of a function its begin more than its template arguments, of a file in a stack its end.
std::string cut(const std::string& text, size_t width, bool utf8, Unit unit);

// Each of the texts, cut; two that look alike then are cut where they differ.
std::map<std::string, std::string> cut_apart(const std::set<std::string>& texts, size_t width, bool utf8, Unit unit);

}  // namespace tprof
