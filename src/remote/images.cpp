#include "remote/images.h"

#include <algorithm>
#include <cstring>

namespace tprof::remote {

std::optional<u64> bias_of(const Mapping& mapping, const ElfFile& file) {
  std::optional<u64> address = file.address_of(mapping.offset);
  if (!address) return std::nullopt;
  return mapping.begin - *address;
}

Meta images_of(const Memory& memory) {
  Meta meta;
  std::map<std::string, u32> ids;
  for (const Mapping& mapping : memory.mappings()) {
    if (!mapping.executable || mapping.path.empty()) continue;
    std::string path = mapping.path.starts_with("/") ? memory.path_here(mapping) : mapping.path;
    auto [id, added] = ids.try_emplace(path, u32(ids.size() + 1));
    if (added) meta.names[id->second] = path;
    ImageRecord image{};
    image.begin = mapping.begin;
    image.end = mapping.end;
    image.bias = mapping.begin - mapping.offset;
    image.path = id->second;
    if (auto file = path.starts_with("/") ? ElfFile::open(path) : nullptr) {
      image.bias = bias_of(mapping, *file).value_or(image.bias);
      image.build_id_bytes = u32(std::min(file->build_id().size(), sizeof image.build_id));
      memcpy(image.build_id, file->build_id().data(), image.build_id_bytes);
    }
    meta.images.push_back(image);
  }
  return meta;
}

}  // namespace tprof::remote
