#include "symbols/symbols.h"

#include <algorithm>
#include <cstdio>
#include <unordered_map>

#include "base/printable.h"
#include "symbols/demangle.h"
#include "symbols/source_lines.h"

namespace tprof {

std::string Symbols::debug_directory = "/usr/lib/debug";

namespace {

constexpr int kLinesTimeout_ms = 10'000;  // for all files of one conversion
constexpr u64 kAddressMask = (u64(1) << kMapShift) - 1;

std::string directory_of(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

// A mapped file and its debug file.
struct Image {
  std::unique_ptr<ElfFile> file, debug;
  std::unordered_map<u64, SourceLine> lines;  // looked up so far
  bool passed_over = false;                   // no lines are looked up

  std::string_view function_at(u64 address) const {
    if (debug && debug->has_symtab()) return debug->function_at(address);
    return file ? file->function_at(address) : std::string_view();
  }
  const ElfFile* with_lines() const {
    if (file && file->has_lines()) return file.get();
    return debug && debug->has_lines() ? debug.get() : nullptr;
  }
};

std::unique_ptr<ElfFile> debug_file(const ElfFile& file) {
  const std::string& id = file.build_id();
  if (id.size() < 2) return nullptr;  // nothing would distinguish the right file from that of another version
  std::string hex;
  for (unsigned char byte : id) hex += "0123456789abcdef"[byte >> 4], hex += "0123456789abcdef"[byte & 15];
  std::string here = directory_of(file.path()), root = Symbols::debug_directory;
  std::vector<std::string> paths{root + "/.build-id/" + hex.substr(0, 2) + "/" + hex.substr(2) + ".debug"};
  if (!file.debug_link().empty() && file.debug_link().find('/') == std::string::npos)
    for (const std::string& directory : {here, here + "/.debug", root + here})
      paths.push_back(directory + "/" + file.debug_link());
  for (const std::string& path : paths) {
    auto found = path == file.path() ? nullptr : ElfFile::open(path);
    if (found && found->build_id() == id) return found;
  }
  return nullptr;
}

Image load_image(const std::string& path, const std::string& build_id) {
  Image image;
  image.file = ElfFile::open(path);
  if (image.file && image.file->build_id() != build_id) image.file = nullptr;  // the path has another version now
  if (image.file && !(image.file->has_symtab() && image.file->has_lines())) image.debug = debug_file(*image.file);
  return image;
}

Image& image_at(const std::string& path, const std::string& build_id) {
  static std::map<std::pair<std::string, std::string>, Image> known;
  auto [it, added] = known.try_emplace({path, build_id});
  if (added && path.starts_with("/")) it->second = load_image(path, build_id);
  return it->second;
}

void say_passed_over(const std::vector<std::string>& files, const std::string& why) {
  std::string others = files.size() > 1 ? " and " + std::to_string(files.size() - 1) + " more" : "";
  print(stderr, "tprof: no source lines of " + printable(files[0]) + others + ": " + printable(why) + "\n");
}

}  // namespace

std::string CodeLocation::text() const {
  char number[32];
  snprintf(number, sizeof number, "0x%llx", static_cast<unsigned long long>(offset));
  if (image.empty()) return number;
  if (function.empty()) return image + "+" + number;
  return (file.empty() ? image : file + "(" + std::to_string(line) + ")") + ": " + function;
}

const ImageRecord* Symbols::image_of(u64 at) const {
  const ImageRecord* found = nullptr;
  u64 address = at & kAddressMask, maps = at >> kMapShift;
  for (const ImageRecord& image : meta_.images)  // in order of time, and so of maps
    if (image.head.id <= maps && address >= image.begin && address < image.end) found = &image;
  return found;
}

std::vector<CodeLocation> Symbols::locations_of(const std::vector<u64>& frames) {
  std::vector<CodeLocation> places(frames.size());
  std::map<Image*, std::vector<size_t>> unknown_lines;
  std::vector<u64> calls(frames.size());  // addresses of the call instructions, in their files
  for (size_t i = 0; i < frames.size(); i++) {
    CodeLocation& place = places[i];
    const ImageRecord* record = image_of(frames[i]);
    place.offset = (frames[i] & kAddressMask) - (record ? record->bias : 0);
    auto name = record ? meta_.names.find(record->path) : meta_.names.end();
    if (name == meta_.names.end()) continue;
    const std::string& path = name->second;
    place.image = path.substr(path.rfind('/') + 1);
    Image& image = image_at(path, {reinterpret_cast<const char*>(record->build_id), record->build_id_bytes});
    calls[i] = place.offset - 1;  // the return address may be the first one of the next function
    std::string_view function = image.function_at(calls[i]);
    place.function = demangled(std::string(function.substr(0, function.find('@'))));  // without its version
    if (place.function.empty() || !image.with_lines() || image.passed_over) continue;
    auto line = image.lines.find(calls[i]);
    if (line == image.lines.end())
      unknown_lines[&image].push_back(i);
    else
      place.file = line->second.file, place.line = line->second.line;
  }
  int each_ms = unknown_lines.empty() ? 0 : kLinesTimeout_ms / static_cast<int>(unknown_lines.size());
  std::map<std::string, std::vector<std::string>> passed_over;  // files by the reason
  for (auto& [image, indices] : unknown_lines) {
    std::vector<u64> addresses;
    for (size_t i : indices) addresses.push_back(calls[i]);
    const std::string& path = image->with_lines()->path();
    std::string why_not;
    std::vector<SourceLine> lines = source_lines(path, addresses, each_ms, why_not);
    image->passed_over = !why_not.empty();
    if (image->passed_over) passed_over[why_not].push_back(path);
    for (size_t n = 0; n < indices.size(); n++) {
      image->lines[addresses[n]] = lines[n];
      places[indices[n]].file = lines[n].file;
      places[indices[n]].line = lines[n].line;
    }
  }
  for (const auto& [why, files] : passed_over) say_passed_over(files, why);
  return places;
}

}  // namespace tprof
