// The members of std::string are compiled once, in string_once.cpp, and not in each file that uses them: before C++20
// the standard library says so itself, from then on it leaves this to programs. It saves an eighth of the compiler's
// time. For what runs in the tool; included by the headers that nearly all of its files include.
#pragma once
#include <string>

extern template class std::basic_string<char>;
