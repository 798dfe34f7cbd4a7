// What is answered to whom: the list of runs, the pages of traces and their parts.
#pragma once
#include "request.h"
#include "server.h"

namespace tprof::view {

class Site {
 public:
  // `tprof`: the program that makes pages.
  Site(Door door, const std::string& tprof, const std::string& directory);

  Answer answer(std::string_view head);
  Pages& pages() { return pages_; }

 private:
  Answer answer_to(const Wanted& wanted);
  Answer page(const Wanted& wanted);
  const Listing& listing();  // at most a second old

  const Door door_;
  const std::string directory_;
  Pages pages_;
  Listing listing_;
  u64 listed_ns_ = 0;
};

}  // namespace tprof::view
