// Arguments whose text is not the writer's own.
#pragma once
#include "kineto/argument.h"
#include "kineto/write/output.h"

namespace tprof::kineto {

// `"domain": "...", "payload": 1, `
void put_arguments(OutputFile& out, const std::vector<Argument>& arguments);

}  // namespace tprof::kineto
