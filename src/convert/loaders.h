// The recordings of a program's data-loader workers, for its traces.
#pragma once
#include "model/build.h"

namespace tprof {

// Fills Model::loader with what lies beside the recording.
void add_loaders(Model& model, Recording& recording, const Meta& meta, const SpanRequest& request);

}  // namespace tprof
