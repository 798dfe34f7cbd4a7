// The one place through which text goes to a terminal or a file for people. Names of operators and files, values and
// messages may hold anything: characters that move the cursor, change the terminal, or hide or reorder the text beside
// them are shown as escapes. Tool side only.
#pragma once
#include <stdio.h>

#include <string>
#include <string_view>

namespace tprof {

// Control characters (C0, DEL, C1), line and paragraph separators, bidirectional marks, tags and byte order marks
// become \uXXXX (two of them for a character beyond U+FFFF, so that JSON stays JSON); bytes that are not UTF-8 become
// \xXX.
std::string printable(std::string_view one_line);

// Writes `text` as printable(), except that line ends stay. `colors`: the escape sequences for colours stay, too.
void print(FILE* to, std::string_view text, bool colors = false);

// Sets a function that each print() calls first, to remove a progress line from the terminal; nullptr: none.
void before_print(void (*hook)());

}  // namespace tprof
