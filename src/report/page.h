// The page: one HTML file with the viewer (src/viewer) and what the commands say with --json.
//
// The viewer is built as a file with kDataMark in it. In its place come script elements of a type that no browser runs:
// "tprof-document", JSON with all documents but the rows of their tables and what else is large, and "tprof-blob-N",
// those, packed (report/pack.h). In the document {"packed": N} stands in their place, or {"left_out": bytes} where they
// were too large for the file. All of it is base64 of deflated bytes: nothing of a trace can be taken for HTML.
#pragma once
#include "report/pack.h"

namespace tprof {

constexpr char kDataMark[] = "<!--tprof data-->";
constexpr char kReportMark[] = "<meta name=\"generator\" content=\"tprof report\">";  // in the first bytes of each page

class Page {
 public:
  // What may be left out of a page that is too large: details, never aggregates.
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
