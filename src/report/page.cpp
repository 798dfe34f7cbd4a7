#include "report/page.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "json/json.h"
#include "report/columns.h"

namespace tprof {
namespace {

std::string script(const std::string& id, const std::string& base64) {
  return "<script type=\"text/plain\" id=\"" + id + "\">" + base64 + "</script>\n";
}

std::string document_script(const Json& document) {
  return script("tprof-document", base64(deflated(packed(document))));
}
std::string blob_script(size_t number, const std::string& base64) {
  return script("tprof-blob-" + std::to_string(number), base64);
}

u64 size_in_file(size_t number, const std::string& deflated) {
  return blob_script(number, "").size() + base64_size(deflated.size());
}

size_t mark_in(const std::string& viewer) {
  size_t mark = viewer.find(kDataMark);
  if (mark == std::string::npos) throw Error(Fault::unreadable, "this build's viewer has no placeholder for data");
  return mark;
}

// What stands in the viewer between the first `before` and the next `after`.
std::string between(const std::string& viewer, const std::string& before, const std::string& after) {
  size_t begin = viewer.find(before) + before.size();
  return viewer.substr(begin, viewer.find(after, begin) - begin);
}

// Replaces {"packed": N} by {"left_out": bytes} for all N that were left out.
void replace(Json& at, const std::map<size_t, size_t>& left_out) {
  if (at.is_object() && at.size() == 1 && at.contains("packed")) {
    auto found = left_out.find(at["packed"].natural());
    if (found != left_out.end()) at = {{"left_out", found->second}};
    return;
  }
  for (Json& value : at) replace(value, left_out);
}

}  // namespace

Json Page::add_blob(std::string bytes, Keep keep, const std::string& what, size_t group) {
  constexpr size_t kLarge = 64 << 10, kAtOnce = 4;  // threads have a cost, and so has their memory
  Blob blob{what, bytes.size(), keep, group};
  if (bytes.size() < kLarge) {
    std::promise<std::string> done;
    done.set_value(tprof::deflated(bytes));
    blob.deflated = done.get_future().share();
  } else {
    size_t running = 0;
    for (size_t i = blobs_.size(); i-- > 0;) {
      bool ready = blobs_[i].deflated.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
      if (!ready && ++running >= kAtOnce) blobs_[i].deflated.wait();
    }
    blob.deflated = std::async(std::launch::async, [bytes = std::move(bytes)]() mutable {
                      std::string all = std::move(bytes);  // which would stay as long as the result does
                      return tprof::deflated(all);
                    }).share();
  }
  blobs_.push_back(std::move(blob));
  return {{"packed", blobs_.size() - 1}};
}

Json Page::add(const Table& table, Keep keep) {
  return json_of(table, table.rows.empty() ? Json::array() : add_blob(packed(table), keep, table.title, new_group()));
}

Json Page::add(const Json& value, Keep keep, const std::string& what) {
  return add_blob(packed(value), keep, what, new_group());
}

Json Page::add(std::string bytes, Keep keep, const std::string& what, size_t group) {
  return add_blob(std::move(bytes), keep, what, group);
}

u64 Page::bytes() const {
  u64 sum = 0;
  for (size_t i = 0; i < blobs_.size(); i++) sum += size_in_file(i, blobs_[i].bytes());
  return sum;
}

u64 Page::bytes_of(size_t group) const {
  u64 sum = 0;
  for (size_t i = blobs_.size(); i-- > 0 && blobs_[i].group == group;) sum += size_in_file(i, blobs_[i].bytes());
  return sum;
}

void Page::take_back(size_t group) {
  while (!blobs_.empty() && blobs_.back().group == group) blobs_.pop_back();
}

std::string Page::fit(Json& document, const std::string& viewer, u64 most) {
  u64 size = viewer.size() - (sizeof kDataMark - 1) + document_script(document).size() + bytes();
  std::map<size_t, u64> details;  // by group
  for (const Blob& blob : blobs_)
    if (blob.keep == Keep::if_it_fits) details[blob.group] += base64_size(blob.bytes().size());
  std::vector<std::pair<size_t, u64>> largest(details.begin(), details.end());
  std::stable_sort(largest.begin(), largest.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::map<size_t, size_t> left_out;
  u64 bytes = 0;
  for (const auto& [group, in_file] : largest) {
    if (size <= most) break;
    size -= in_file;
    bytes += in_file;
    for (size_t i = 0; i < blobs_.size(); i++)
      if (blobs_[i].group == group) left_out[i] = base64_size(blobs_[i].bytes().size()), blobs_[i].left_out = true;
  }
  if (left_out.empty()) return "";
  replace(document, left_out);
  return std::to_string(left_out.size()) + " of " + std::to_string(blobs_.size()) + " tables (" +
         bytes_text(i64(bytes)) + ") are not in this page, which would be larger than --max-size: " +
         "the largest of those with single stacks and events; sums over operators, kernels and memory are complete";
}

std::vector<Page::Size> Page::sizes(const Json& document, const std::string& viewer) const {
  std::vector<Size> out = {{"the viewer", viewer.size(), viewer.size() - (sizeof kDataMark - 1)},
                           {"the document", packed(document).size(), document_script(document).size()}};
  std::map<std::string, size_t> rows;
  for (size_t i = 0; i < blobs_.size(); i++) {
    auto [at, is_new] = rows.try_emplace(blobs_[i].what, out.size());
    if (is_new) out.push_back({blobs_[i].what});
    Size& size = out[at->second];
    size.raw += blobs_[i].raw;
    (blobs_[i].left_out ? size.left_out : size.in_file) += size_in_file(i, blobs_[i].bytes());
  }
  return out;
}

std::string Page::html(const Json& document, const std::string& viewer) const {
  size_t mark = mark_in(viewer);
  std::string out = viewer.substr(0, mark) + document_script(document);
  for (size_t i = 0; i < blobs_.size(); i++)
    if (!blobs_[i].left_out) out += blob_script(i, base64(blobs_[i].bytes()));
  return out + viewer.substr(mark + sizeof kDataMark - 1);
}

void Page::serve(const Json& document, const std::string& viewer, const std::string& parts, const Put& put) const {
  const std::string policy = between(viewer, "http-equiv=\"Content-Security-Policy\" content=\"", "\"");
  const std::string served = policy + "; connect-src 'self'";
  std::string page = viewer;
  page.replace(mark_in(page), sizeof kDataMark - 1, document_script(document));
  page.replace(page.find(policy), policy.size(), served);
  page.insert(page.find(kReportMark), "<meta name=\"" + std::string(kPartsName) + "\" content=\"" + parts + "\">\n");
  Json sizes = Json::array({page.size()});
  for (const Blob& blob : blobs_) sizes.push_back(blob.bytes().size());
  put(json_line({{"policy", served}, {"sizes", sizes}}) + "\n");
  put(page);
  for (const Blob& blob : blobs_) put(blob.bytes());
}

Table sizes_table(std::vector<Page::Size> sizes, u64 slices) {
  std::stable_sort(sizes.begin(), sizes.end(),
                   [](const Page::Size& a, const Page::Size& b) { return a.in_file > b.in_file; });
  Page::Size sum{"all"};
  for (const Page::Size& one : sizes) sum.raw += one.raw, sum.in_file += one.in_file, sum.left_out += one.left_out;
  Columns<Page::Size> c;
  c.add("what", "What", Unit::text, 0, [](auto& s) { return s.what; });
  c.add("raw", "Unpacked", Unit::count, 1, [](auto& s) { return i64(s.raw); });
  c.add("in_file", "In the file", Unit::count, 0, [](auto& s) { return i64(s.in_file); });
  c.add("share", "Share", Unit::percent, 1, [=](auto& s) { return percent_of(i64(s.in_file), i64(sum.in_file)); });
  c.add("per_slice", "Bytes a slice", Unit::number, 0,
        [=](auto& s) { return slices ? Value(double(s.in_file) / double(slices)) : Value(); });
  c.add("left_out", "Left out", Unit::count, 2, [](auto& s) { return s.left_out ? Value(i64(s.left_out)) : Value(); });
  sizes.insert(sizes.begin(), sum);
  Table out = c.table("What the page holds", sizes);
  out.footer.push_back("in bytes; " + std::to_string(slices) + " slices in its timelines");
  return out;
}

}  // namespace tprof
