#include "sample/native_stacks.h"

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "remote/images.h"

namespace tprof {
namespace {

constexpr u64 kLookEvery_ns = 1'000'000'000;
constexpr char kMaxNativeFrames[] = "1024";  // a thread stays stopped while they are unwound
constexpr char kPatience_ms[] = "10";        // for a thread to stop

}  // namespace

NativeStacks::NativeStacks(remote::Process& process, SamplesFile& file)
    : process_(process), file_(file), unwinder_({std::to_string(process.pid()), kMaxNativeFrames, kPatience_ms}) {
  record_images();
  looked_ns_ = clock_ns(CLOCK_MONOTONIC);
}

void NativeStacks::look_at_files() {
  u64 now = clock_ns(CLOCK_MONOTONIC);
  if (now - looked_ns_ < kLookEvery_ns) return;
  looked_ns_ = now;
  if (process_.read_mappings()) record_images();
}

void NativeStacks::record_images() {
  Meta meta = remote::images_of(process_);
  std::map<Image, ImageRecord> now;
  for (const ImageRecord& r : meta.images)
    now[{meta.names[r.path], r.begin, r.end, r.bias,
         std::string(reinterpret_cast<const char*>(r.build_id), r.build_id_bytes)}] = r;
  bool gone = std::any_of(images_.begin(), images_.end(), [&](const Image& image) { return !now.contains(image); });
  if (gone && maps_ < kMaxMaps) maps_++;
  for (const auto& [image, record] : now)
    if (!images_.contains(image)) file_.add_image(maps_, record, std::get<0>(image));
  images_.clear();
  for (const auto& [image, record] : now) images_.insert(image);
}

NativeStacks::Stop NativeStacks::stop(u32 tid, const std::function<void()>& meanwhile) {
  NativeStack stack = unwinder_.stack_of(int(tid));
  Stop out;
  if (stack.end == NativeStack::End::not_read) {
    why_not_ = stack.why;
    return out;
  }
  meanwhile();
  std::optional<u64> stopped_ns = unwinder_.release();
  if (!stopped_ns && !stack.in_call.empty()) {
    why_not_ = "it ran while it was read, without being stopped";
    return out;
  }
  out.not_stopped = !stack.in_call.empty();
  out.stopped_ns = u32(std::min<u64>(stopped_ns.value_or(0), ~u32(0)));
  out.stack = file_.stack_of(stack.addresses, stack.end != NativeStack::End::whole, maps_);
  return out;
}

}  // namespace tprof
