#include "kineto/write/nvtx.h"

#include <bit>
#include <cmath>

#include "base/json.h"

namespace tprof::kineto {
namespace {

std::string hex_color(u32 argb) {
  std::string out = "\"#";
  for (int shift = 28; shift >= 0; shift -= 4) out += "0123456789ABCDEF"[argb >> shift & 15];
  return out + '"';
}

void put_payload(OutputFile& out, u64 bits, NvtxPayload type) {
  double number = std::bit_cast<double>(bits);
  switch (type) {
    case NvtxPayload::unsigned_integer: return out.put_number(bits);
    case NvtxPayload::integer: return out.put_number(i64(bits));
    case NvtxPayload::floating: break;
    default: return out.put("null");
  }
  if (std::isfinite(number)) return out.put_number(number);
  out.put(std::isnan(number) ? "\"nan\"" : number > 0 ? "\"inf\"" : "\"-inf\"");  // JSON has no such numbers
}

}  // namespace

void put_nvtx(OutputFile& out, const Model& model, const NvtxDetail& d) {
  if (d.domain != NvtxDetail::kNone) {
    out.put("\"domain\": ");
    out.put(json_ascii(model.names[d.domain]));
    out.put(", ");
  }
  if (d.category != NvtxDetail::kNone) {
    out.put("\"category\": ");
    out.put(d.category_is_number ? std::to_string(d.category) : json_ascii(model.names[d.category]));
    out.put(", ");
  }
  if (d.color) {
    out.put("\"color\": ");
    out.put(hex_color(d.color));
    out.put(", ");
  }
  if (d.payload_type != NvtxPayload::none) {
    out.put("\"payload\": ");
    put_payload(out, d.payload, d.payload_type);
    out.put(", ");
  }
}

}  // namespace tprof::kineto
