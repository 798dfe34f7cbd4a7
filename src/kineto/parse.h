// One JSON value after the other, parsed in place: the way to read the pieces of a TraceScanner fast.
// RapidJSON does the work, with exact numbers and no recursion that a hostile file could exhaust.
#pragma once
#include <string.h>

#define RAPIDJSON_ASSERT(x) ((void)0)  // of types that are asked before; a quarter of the time otherwise
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

#include "kineto/scan.h"

namespace tprof::kineto {

using Value = rapidjson::Value;

class PieceParser {
 public:
  // nullptr: not JSON, see why(). The value lives until the next call, and uses the text of the piece.
  const Value* parse(const Piece& piece) { return parse<kExact | rapidjson::kParseValidateEncodingFlag>(piece); }

  // Also takes NaN and infinities, and any bytes in strings.
  const Value* parse_leniently(const Piece& piece) { return parse<kExact | rapidjson::kParseNanAndInfFlag>(piece); }

  const char* why() const { return rapidjson::GetParseError_En(document_.GetParseError()); }
  size_t where() const { return document_.GetErrorOffset(); }  // in the piece

 private:
  static constexpr unsigned kExact = rapidjson::kParseInsituFlag | rapidjson::kParseFullPrecisionFlag;
  static constexpr size_t kDeep = 64;  // brackets that recursion may follow

  template <unsigned Flags>
  const Value* parse(const Piece& piece) {
    document_.SetNull();
    pool_.Clear();
    if (piece.depth <= kDeep)
      document_.ParseInsitu<Flags>(piece.text);
    else
      document_.ParseInsitu<Flags | rapidjson::kParseIterativeFlag>(piece.text);
    return document_.HasParseError() ? nullptr : &document_;
  }

  char room_[64 << 10];  // enough for nearly every piece: no allocation
  rapidjson::MemoryPoolAllocator<> pool_{room_, sizeof room_};
  rapidjson::Document document_{&pool_};
};

// A member of an object; a null value when there is none (or `object` is none).
inline const Value& member(const Value& object, std::string_view key) {
  static const Value kNone;
  if (!object.IsObject()) return kNone;
  for (auto it = object.MemberBegin(); it != object.MemberEnd(); ++it)
    if (it->name.GetStringLength() == key.size() && memcmp(it->name.GetString(), key.data(), key.size()) == 0)
      return it->value;
  return kNone;
}

inline std::string_view text_of(const Value& value) {
  return value.IsString() ? std::string_view(value.GetString(), value.GetStringLength()) : std::string_view();
}

inline bool is_integer(const Value& value) { return value.IsInt64() || value.IsUint64(); }

}  // namespace tprof::kineto
