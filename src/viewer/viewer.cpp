#include "viewer/viewer.h"

namespace tprof {

const std::string& viewer_page() {
  static const std::string page =
#include "viewer.html.inc"
      ;
  return page;
}

}  // namespace tprof
