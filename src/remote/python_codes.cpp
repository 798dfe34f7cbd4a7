#include "remote/python_codes.h"

#include <string.h>

namespace tprof::remote {
namespace {

constexpr size_t kMaxKnown = 100'000;  // addresses; beyond that those that were not seen for long are forgotten
constexpr u64 kLong = 10'000;          // looks
// With different contents; those beyond are not read.
constexpr size_t kMaxCodes = 200'000, kMaxCodeBytes = 512 << 20;  // kMaxCodeBytes: bytes of all of them together

}  // namespace

PythonCodes::PythonCodes(const Memory& memory, const PythonLayout& layout)
    : memory_(memory), layout_(layout), reader_(memory, layout) {}

PythonCodes::Identity PythonCodes::identity_in(const char* head) const {
  Identity out;
  auto take = [&](i32 offset, auto& to) {
    if (offset >= 0 && size_t(offset) + sizeof to <= kHead) memcpy(&to, head + offset, sizeof to);
  };
  take(i32(kTypeOfObject), out.type);
  take(layout_.name, out.name);
  take(layout_.file, out.file);
  take(layout_.table, out.table);
  take(layout_.first_line, out.first_line);
  return out;
}

KnownCode PythonCodes::read(u64 address, const Identity& identity) {
  constexpr u16 kCodeOfItsOwn = 3 << 8 | 12;  // the interpreter's frames have a code object, too
  PythonCode code;
  if (identity.type != layout_.code_type) return {};
  if (!reader_.read_code(address, code)) return {true, 0};
  if (layout_.python == kCodeOfItsOwn && code.file == "<shim>") return {};
  if (codes_.size() >= kMaxCodes || kept_bytes_ > kMaxCodeBytes) return {true, 0};
  std::string content = code.name + '\0' + code.file + '\0' + std::to_string(code.lines.first_line) + code.lines.table;
  auto [known, added] = numbers_.try_emplace(std::move(content), u32(codes_.size()) + 1, std::move(code));
  if (added) {
    codes_.push_back(&known->second.second);
    kept_bytes_ += 2 * known->second.second.bytes();  // the key holds it, too
  }
  return {true, known->second.first};
}

void PythonCodes::look_at(const std::vector<u64>& addresses) {
  looks_++;
  std::vector<u64> distinct;
  for (u64 address : addresses) {
    Entry& entry = known_[address];
    if (entry.looked != looks_) distinct.push_back(address);
    entry.looked = looks_;
  }
  std::vector<char> heads(distinct.size() * kHead);
  std::vector<Piece> pieces;
  for (size_t i = 0; i < distinct.size(); i++) pieces.push_back({distinct[i], heads.data() + i * kHead, kHead});
  memory_.read_pieces(pieces);
  for (size_t i = 0; i < distinct.size(); i++) {
    Entry& entry = known_[distinct[i]];
    // A small object at the end of what is mapped, such as None, is no code object.
    Identity now = pieces[i].read ? identity_in(heads.data() + i * kHead) : Identity{};
    bool retry = entry.code.is_shown && !entry.code.number;
    if (now == entry.identity && !retry) continue;
    entry.code = read(distinct[i], now);
    entry.identity = now;
  }
  if (known_.size() > kMaxKnown) forget_old();
}

void PythonCodes::forget_old() {
  std::erase_if(known_, [&](const auto& entry) { return entry.second.looked + kLong < looks_; });
}

KnownCode PythonCodes::at(u64 address) const {
  auto known = known_.find(address);
  return known == known_.end() ? KnownCode{} : known->second.code;
}

}  // namespace tprof::remote
