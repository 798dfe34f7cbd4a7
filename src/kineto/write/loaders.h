// The workers of DataLoaders in a trace: a process row for each loader, with a row of its program's draws and two of
// each worker. No process has the pid of such a row; that of the worker is in `args`.
#pragma once
#include "kineto/write/lines.h"

namespace tprof::kineto {

void put_loaders(const Model& model, Lines& lines, OutputFile& out);

}  // namespace tprof::kineto
