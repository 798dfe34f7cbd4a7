// Python calls in a trace: python_function events, with the names and arguments that torch.profiler gives them.
#pragma once
#include <vector>

#include "kineto/write/lines.h"

namespace tprof::kineto {

class PythonWriter {
 public:
  PythonWriter(const Model& model, Lines& lines, OutputFile& out);
  // `index`: that of the event.
  void put(const Event& event, u32 index);

 private:
  void put_key(const char* key);

  const Model& model_;
  Lines& lines_;
  OutputFile& out_;
  std::vector<u32> thread_numbers_;  // by index into Model::threads: OS threads from 0
};

}  // namespace tprof::kineto
