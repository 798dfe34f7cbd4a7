#include "viewer/viewer.h"

// page.S, which build.py writes
extern "C" const char tprof_viewer_begin[], tprof_viewer_end[];

namespace tprof {

const std::string& viewer_page() {
  static const std::string page(tprof_viewer_begin, tprof_viewer_end);
  return page;
}

}  // namespace tprof
