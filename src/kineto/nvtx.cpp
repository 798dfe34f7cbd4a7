#include "kineto/nvtx.h"

#include <cmath>

#include "base/reals.h"

namespace tprof::kineto {
namespace {

std::string hex_color(u32 argb) {
  std::string out = "#";
  for (int shift = 28; shift >= 0; shift -= 4) out += "0123456789ABCDEF"[argb >> shift & 15];
  return out;
}

Argument payload_of(const NvtxDetail& d) {
  static constexpr char kKey[] = "payload";
  double number = same_bits<double>(d.payload);
  switch (d.payload_type) {
    case NvtxPayload::unsigned_integer: return {kKey, std::to_string(d.payload), true};
    case NvtxPayload::integer: return {kKey, std::to_string(i64(d.payload)), true};
    case NvtxPayload::floating: break;
    default: return {kKey, "null", true};
  }
  // JSON has no such numbers.
  if (!std::isfinite(number)) return {kKey, std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf"};
  return {kKey, write_real(number), true};
}

}  // namespace

std::vector<Argument> nvtx_arguments(const Model& model, const NvtxDetail& d) {
  std::vector<Argument> out;
  if (d.domain != NvtxDetail::kNone) out.push_back({"domain", model.names[d.domain]});
  if (d.category != NvtxDetail::kNone)
    out.push_back({"category", d.category_is_number ? std::to_string(d.category) : model.names[d.category],
                   d.category_is_number});
  if (d.color) out.push_back({"color", hex_color(d.color)});
  if (d.payload_type != NvtxPayload::none) out.push_back(payload_of(d));
  return out;
}

}  // namespace tprof::kineto
