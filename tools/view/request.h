// What a client asks of `tprof view`, read from the head of its HTTP/1 request (RFC 9112). Pure: no socket, no file.
//
// A client is only told apart by what it knows: the token, which is the first part of each address. A browser could be
// made to ask by a page of somebody else's, so Host and Origin have to be those of this server, too. No address names a
// file: pages are asked for by run, worker and span, which are looked up in what the directory holds.
//
//   /TOKEN/                     the list of runs; and beside it, by their names, the files that it needs
//   /TOKEN/list                 what the directory holds, as JSON
//   /TOKEN/page?run=R[&worker=W][&span=S]       the page of those traces; all of them where a part is left out
//   /TOKEN/parts/PAGE/NUMBER    a part of a page
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/types.h"

namespace tprof::view {

constexpr size_t kLongestHead = 32 << 10;  // bytes of a request
constexpr size_t kMostFields = 100;        // of its header

// By what a request is let in.
struct Door {
  std::string token;
  int port;
};

struct Wanted {
  enum class What { file, list, page, part };
  What what = What::file;
  bool head_only = false;                   // HEAD
  std::string name;                         // file: lower-case letters and dots, "": the list of runs
  std::string run;                          // page
  std::optional<std::string> worker, span;  // page
  u64 page = 0, part = 0;                   // part
};

struct Refusal {
  int status;  // 4xx, 5xx
  std::string sentence;
};

// Where the head of a request ends in what has been received, if it does: behind its empty line.
std::optional<size_t> end_of_head(std::string_view received);

// `head`: up to its end, at most kLongestHead bytes.
std::variant<Wanted, Refusal> read_request(std::string_view head, const Door& door);

// Text in an address: bytes other than letters, digits, "-", ".", "_" and "~" as %XX.
std::string percent_encoded(std::string_view text);

}  // namespace tprof::view
