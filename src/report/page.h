// The page: one HTML file with the viewer (src/viewer) and what the commands say with --json.
//
// The viewer is a file that contains kDataMark. It is replaced by script elements of a type that browsers do not run:
// "tprof-document" is JSON with all documents, without the rows of their tables and other large values; these are in
// "tprof-blob-N", packed (report/pack.h). In the document they are replaced by {"packed": N}, or by {"left_out": bytes}
// if they were too large for the file. All contents are base64 of deflated bytes, so that no text of a trace can be
// read as HTML.
//
// A page that `tprof view` serves holds the document only. Its blobs lie behind it and are asked for when they are
// needed, at addresses that begin with what the element kPartsName says; there they are not base64.
#pragma once
#include <functional>
#include <future>

#include "report/pack.h"

namespace tprof {

constexpr char kDataMark[] = "<!--tprof data-->";
constexpr char kReportMark[] = "<meta name=\"generator\" content=\"tprof report\">";  // in the first bytes of each page
constexpr char kPartsName[] = "tprof-parts";

class Page {
 public:
  // Whether it may be left out of a page that is too large: details may, aggregates never.
  enum class Keep { always, if_it_fits };

  // What stands in the document for a table, for a large value, and for bytes in a form of their own. `what` says in
  // sizes() what it is, a table's title says it for tables. Bytes of a group, which is a number that new_group() gave,
  // are left out together.
  Json add(const Table& table, Keep keep = Keep::always);
  Json add(const Json& value, Keep keep, const std::string& what);
  Json add(std::string bytes, Keep keep, const std::string& what, size_t group);
  size_t new_group() { return ++groups_; }

  // What the file holds so far, without the viewer and the document; and of it the last group that was added.
  u64 bytes() const;
  u64 bytes_of(size_t group) const;
  void take_back(size_t group);  // which must be the last one

  // Leaves out the largest details until the file has at most `most` bytes; says what was left out, empty if nothing.
  // To be called before html(), with the document as it will be there.
  std::string fit(Json& document, const std::string& viewer, u64 most);

  std::string html(const Json& document, const std::string& viewer) const;

  // A page to be served, with its blobs at `parts` + their numbers, in pieces: a line of JSON, {"policy": the
  // Content-Security-Policy of the page, "sizes": [bytes of the page, bytes of each blob]}, the page, the blobs.
  using Put = std::function<void(std::string_view)>;
  void serve(const Json& document, const std::string& viewer, const std::string& parts, const Put& put) const;

  // What takes how much of the file, in order of first appearance.
  struct Size {
    std::string what;
    u64 raw = 0, in_file = 0, left_out = 0;  // left_out: what it would take
  };
  std::vector<Size> sizes(const Json& document, const std::string& viewer) const;

 private:
  struct Blob {
    std::string what;
    u64 raw;
    Keep keep;
    size_t group;
    bool left_out = false;
    std::shared_future<std::string> deflated = {};  // beside the other work

    const std::string& bytes() const { return deflated.get(); }
  };
  Json add_blob(std::string bytes, Keep keep, const std::string& what, size_t group);

  std::vector<Blob> blobs_;
  size_t groups_ = 0;
};

// Largest first, with a sum. `slices`: of the timelines that the page holds.
Table sizes_table(std::vector<Page::Size> sizes, u64 slices);

}  // namespace tprof
