// The page: one HTML file with the viewer (src/viewer) and what the commands say with --json.
//
// The viewer is a file that contains kDataMark. It is replaced by script elements of a type that browsers do not run:
// "tprof-document" is JSON with all documents, without the rows of their tables and other large values; these are in
// "tprof-blob-N", packed (report/pack.h). In the document they are replaced by {"packed": N}, or by {"left_out": bytes}
// if they were too large for the file. All contents are base64 of deflated bytes, so that no text of a trace can be
// read as HTML.
#pragma once
#include "report/pack.h"

namespace tprof {

constexpr char kDataMark[] = "<!--tprof data-->";
constexpr char kReportMark[] = "<meta name=\"generator\" content=\"tprof report\">";  // in the first bytes of each page

class Page {
 public:
  // Whether it may be left out of a page that is too large: details may, aggregates never.
  enum class Keep { always, if_it_fits };

  // What stands in the document for a table, and for a large value.
  Json add(const Table& table, Keep keep = Keep::always);
  Json add(const Json& value, Keep keep);

  // Leaves out the largest details until the file has at most `most` bytes; says what was left out, empty if nothing.
  // To be called before html(), with the document as it will be there.
  std::string fit(Json& document, const std::string& viewer, u64 most);

  std::string html(const Json& document, const std::string& viewer) const;

 private:
  struct Blob {
    std::string base64;
    Keep keep;
    bool left_out = false;
  };
  Json add_blob(std::string bytes, Keep keep);

  std::vector<Blob> blobs_;
};

}  // namespace tprof
