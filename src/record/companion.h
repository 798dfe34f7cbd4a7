// The file beside a recording that holds samples: see record.h. It is named so that nobody takes it for the recording
// of another process.
#pragma once
#include <string.h>

#include <string>

#include "record/record.h"

namespace tprof {

constexpr char kSamplesSuffix[] = ".samples";

inline std::string samples_of(const std::string& recording) { return recording + kSamplesSuffix; }

// Whether a file is about the program of a recording: somebody may have put another one there.
inline bool is_companion(const FileHeader& file, const FileHeader& recording) {
  return file.pid == recording.pid && file.process_start == recording.process_start &&
         file.created_ns == recording.created_ns && !strcmp(file.boot_id, recording.boot_id);
}

// Keys of InfoRecords of a companion.
constexpr char kSamplesHz[] = "sample.hz", kSamplesWhyNot[] = "sample.why_not", kSamplesGil[] = "sample.gil",
               kSamplesWhyNoNative[] = "sample.why_no_native";

}  // namespace tprof
