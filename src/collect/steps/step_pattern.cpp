#include "collect/steps/step_pattern.h"

#include <regex.h>
#include <string.h>

#include <atomic>

#include "collect/recorder/recorder.h"

namespace tprof {

StepMode g_step_pattern_mode = StepMode::automatic;

namespace {

regex_t g_pattern;

// Verdicts: the hash of a text, with the verdict in its lowest bit; 0: free. With 63 bits of hash, two texts that share
// one are not to be expected.
constexpr u32 kVerdicts = 8192;
std::atomic<u64> g_verdicts[kVerdicts];

u64 long_hash(const char* text) {
  u64 h = 0x9e3779b97f4a7c15ull;
  for (; *text; text++) {
    h = (h ^ u8(*text)) * 0xff51afd7ed558ccdull;
    h ^= h >> 29;
  }
  return h | 2;
}

}  // namespace

void set_step_pattern(const StepSource& source) {
  if (source.mode != StepMode::range && source.mode != StepMode::nvtx) return;
  if (regcomp(&g_pattern, source.pattern, REG_EXTENDED | REG_NOSUB) == 0) g_step_pattern_mode = source.mode;
}

bool step_pattern_matches(const char* text) {
  u64 hash = long_hash(text);
  std::atomic<u64>* free = nullptr;
  for (u32 i = 0; i < 16 && !free; i++) {
    std::atomic<u64>& slot = g_verdicts[((hash >> 32) + i) % kVerdicts];
    u64 verdict = slot.load(std::memory_order_relaxed);
    if (verdict >> 1 == hash >> 1) return verdict & 1;
    if (verdict == 0) free = &slot;
  }
  bool matches = regexec(&g_pattern, text, 0, nullptr, 0) == 0;
  if (free) free->store((hash & ~u64(1)) | matches, std::memory_order_relaxed);
  return matches;
}

}  // namespace tprof
