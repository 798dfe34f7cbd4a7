// A folded recording in memory, taken apart into chunks and records, and how the mutator changes it.
#pragma once
#include <string>
#include <vector>

#include "record/record.h"

namespace tprof::fuzz {

class RecordingImage {
 public:
  // False if the bytes are no folded recording.
  bool parse(const u8* data, size_t size);
  // All lengths are made to fit, so that readers get to the records.
  std::string bytes() const;

  struct Record {
    size_t chunk, begin, bytes;
  };
  std::vector<Record> records() const;

  std::string header;
  std::vector<std::string> chunks;  // each with its ChunkHeader
};

// A small recording that holds records of every kind but those of a companion, folded; as flight mode leaves it?
std::string rich_recording(bool flight);
// A companion with records of every kind that has one, folded; and a recording that it may stand beside.
std::string rich_samples();
std::string sampled_recording();
// Records of both in one: as a program and its sampler write them while it runs; folded.
std::string followed_recording(bool flight);
// As somebody writes it who wants a tool to look at another process: that of process 1, alive and in flight mode.
std::string forged_recording();

// As LLVMFuzzerCustomMutator: the new size. `first`: what there is instead of data that are no folded recording.
size_t mutate_recording(u8* data, size_t size, size_t max_size, unsigned seed, const std::string& first);

}  // namespace tprof::fuzz
