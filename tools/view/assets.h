// The files of the list of runs, kept in the program (assets.cpp.in, meson.build).
#pragma once

namespace tprof::view {

struct Asset {
  const char *name, *type, *text;
};
extern const Asset kAssets[5];

}  // namespace tprof::view
