// The screen of `tprof top` as lines of text, for any size: what does not fit is left out by what it matters. Pure.
#pragma once
#include <string>
#include <vector>

#include "live/view.h"

namespace tprof {

enum class OperatorOrder { self, total, calls };

struct PageStyle {
  size_t columns = 80;
  size_t rows = 0;  // 0: as many as it takes
  bool utf8 = false;
  bool keys = false;  // the last line says which keys there are
  bool paused = false;
  OperatorOrder order = OperatorOrder::self;
  size_t chosen = 0;  // of the programs: the one whose operators are shown
  std::string time;   // of the clock on the wall
  std::string waits;  // why there is no program
};

// How a whole line looks.
enum class LineLook { plain, title, strong, warning };

struct PageLine {
  std::string text;  // at most `columns` wide
  LineLook look = LineLook::plain;
};

std::vector<PageLine> page_of(const std::vector<live::ProgramView>& programs, const PageStyle& style);

// What matters most about a program in a row: for JSON as well.
std::vector<live::OperatorView> sorted_operators(const live::ProgramView& program, OperatorOrder order);
const char* word_of(LoaderPart part);

}  // namespace tprof
