// The file beside a recording that holds samples: see record.h. It is named so that nobody takes it for the recording
// of another process.
#pragma once
#include <string>

namespace tprof {

constexpr char kSamplesSuffix[] = ".samples";

inline std::string samples_of(const std::string& recording) { return recording + kSamplesSuffix; }

// Keys of InfoRecords of a companion.
constexpr char kSamplesHz[] = "sample.hz", kSamplesWhyNot[] = "sample.why_not", kSamplesGil[] = "sample.gil";

}  // namespace tprof
