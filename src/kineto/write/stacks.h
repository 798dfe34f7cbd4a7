// Call stacks of events: `Call stack`, the one string that the plugin reads, innermost frame first; and, for viewers of
// the Chrome format, a table of frames that events point into (`sf`).
#pragma once
#include <string>
#include <vector>

#include "kineto/write/output.h"
#include "model/trace.h"

namespace tprof::kineto {

class StackText {
 public:
  StackText(const Model& model, OutputFile& out) : model_(model), out_(out), texts_(model.names.size()) {}

  // `"sf": N, ` of an event with a stack, outside of its args.
  void put_frame(u32 stack);
  // `"Call stack": "...", ` of an event with a stack, in its args.
  void put_call_stack(u32 stack);
  // The table, a member of the file's object; nothing if no event has a stack.
  void put_table();
  // The samples, another member: as Chrome's format has them, which point into the table.
  void put_samples();

 private:
  const std::string& text(u32 name);

  const Model& model_;
  OutputFile& out_;
  std::vector<std::string> texts_;  // escaped, without quotes, by name
};

}  // namespace tprof::kineto
