// The one place through which text goes to a terminal or a file for people. Names of operators and files, values and
// messages may hold anything: what would move the cursor, change the terminal, or hide or reorder what stands beside it is
// shown as an escape. Tool side only.
#pragma once
#include <stdio.h>

#include <string>
#include <string_view>

namespace tprof {

// Control characters (C0, DEL, C1), line and paragraph separators, bidirectional marks, tags and byte order marks become
// \uXXXX (two of them for a character beyond U+FFFF, so that JSON stays JSON), what is no UTF-8 becomes \xXX.
std::string printable(std::string_view one_line);

// Writes `text`, printable but for its line ends. `colors`: also but for the colours that the text was given here.
void print(FILE* to, std::string_view text, bool colors = false);

// Called before each print(), to take a passing line off the terminal; nullptr: nothing is.
void before_print(void (*hook)());

}  // namespace tprof
