#include "kineto/write/python.h"

#include <unordered_map>

#include "kineto/names.h"
#include "model/python.h"

namespace tprof::kineto {

PythonWriter::PythonWriter(const Model& model, Lines& lines, OutputFile& out)
    : model_(model), lines_(lines), out_(out) {
  std::unordered_map<u32, u32> numbers;
  for (const TraceThread& thread : model.threads)
    thread_numbers_.push_back(numbers.try_emplace(thread.owner, u32(numbers.size())).first->second);
}

void PythonWriter::put_key(const char* key) {
  out_.put(", \"");
  out_.put(key);
  out_.put("\": ");
}

void PythonWriter::put(const Event& event, u32 index) {
  const PythonDetail& detail = python_detail(event);
  lines_.begin();
  out_.put(R"({"ph": "X", "cat": "python_function", )");
  out_.put(lines_.name(event.name));
  out_.put(lines_.row(event.thread));
  out_.put("\"ts\": ");
  out_.put_us(event.begin_ns);
  out_.put(", \"dur\": ");
  out_.put_us(event.dur_ns);
  out_.put(", \"args\": {\"Ev Idx\": ");
  out_.put_number(index);
  put_key(kPythonThread);
  out_.put_number(thread_numbers_[event.thread]);
  put_key(kPythonId);
  out_.put_number(detail.id);
  put_key(kPythonParentId);
  if (detail.parent)
    out_.put_number(detail.parent);
  else
    out_.put("null");
  if (detail.module != kNone) {
    const ModuleInfo& module = model_.modules[detail.module];
    put_key(kPythonModuleId);  // an id within its class: readers combine it with the name
    out_.put_number(module.number);
    if (module.parameters != ModuleRecord::kUnknown) {
      put_key(kParameters);
      out_.put_number(module.parameters);
      put_key(kParameterBytes);
      out_.put_number(module.parameter_bytes);
    }
  }
  if (event.flags & kEventClipped) out_.put(R"(, "tprof": "clipped at window end")");
  if (event.flags & kEventUnfinished) out_.put(R"(, "tprof": "unfinished")");
  out_.put("}}");
}

}  // namespace tprof::kineto
