#include "report/page.h"

#include <algorithm>

#include "base/error.h"

namespace tprof {
namespace {

std::string script(const std::string& id, const std::string& base64) {
  return "<script type=\"text/plain\" id=\"" + id + "\">" + base64 + "</script>\n";
}

std::string document_script(const Json& document) { return script("tprof-document", as_blob(packed(document))); }
std::string blob_script(size_t number, const std::string& base64) {
  return script("tprof-blob-" + std::to_string(number), base64);
}

// Replaces {"packed": N} by {"left_out": bytes} for all N that were left out.
void replace(Json& at, const std::map<size_t, size_t>& left_out) {
  if (at.is_object() && at.size() == 1 && at.contains("packed")) {
    auto found = left_out.find(at["packed"].get<size_t>());
    if (found != left_out.end()) at = {{"left_out", found->second}};
    return;
  }
  if (at.is_structured())
    for (Json& child : at) replace(child, left_out);
}

}  // namespace

Json Page::add_blob(std::string bytes, Keep keep) {
  blobs_.push_back({as_blob(bytes), keep});
  return {{"packed", blobs_.size() - 1}};
}

Json Page::add(const Table& table, Keep keep) {
  return json_of(table, table.rows.empty() ? Json::array() : add_blob(packed(table), keep));
}

Json Page::add(const Json& value, Keep keep) { return add_blob(packed(value), keep); }

std::string Page::fit(Json& document, const std::string& viewer, u64 most) {
  u64 size = viewer.size() - (sizeof kDataMark - 1) + document_script(document).size();
  for (size_t i = 0; i < blobs_.size(); i++) size += blob_script(i, blobs_[i].base64).size();
  std::vector<size_t> details;
  for (size_t i = 0; i < blobs_.size(); i++)
    if (blobs_[i].keep == Keep::if_it_fits) details.push_back(i);
  std::stable_sort(details.begin(), details.end(),
                   [&](size_t a, size_t b) { return blobs_[a].base64.size() > blobs_[b].base64.size(); });
  std::map<size_t, size_t> left_out;
  u64 bytes = 0;
  for (size_t i : details) {
    if (size <= most) break;
    size -= blobs_[i].base64.size();
    bytes += left_out[i] = blobs_[i].base64.size();
    blobs_[i].left_out = true;
  }
  if (left_out.empty()) return "";
  replace(document, left_out);
  return std::to_string(left_out.size()) + " of " + std::to_string(blobs_.size()) + " tables (" +
         bytes_text(i64(bytes)) + ") are not in this page, which would be larger than --max-size: " +
         "the largest of those with single stacks and events; sums over operators, kernels and memory are complete";
}

std::string Page::html(const Json& document, const std::string& viewer) const {
  size_t mark = viewer.find(kDataMark);
  if (mark == std::string::npos) throw Error(Fault::unreadable, "this build's viewer has no placeholder for data");
  std::string out = viewer.substr(0, mark) + document_script(document);
  for (size_t i = 0; i < blobs_.size(); i++)
    if (!blobs_[i].left_out) out += blob_script(i, blobs_[i].base64);
  return out + viewer.substr(mark + sizeof kDataMark - 1);
}

}  // namespace tprof
