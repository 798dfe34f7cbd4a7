#include "kineto/write/arguments.h"

#include "json/json.h"

namespace tprof::kineto {

void put_arguments(OutputFile& out, const std::vector<Argument>& arguments) {
  for (const Argument& argument : arguments) {
    out.put(std::string("\"") + argument.key + "\": ");
    out.put(argument.is_number ? argument.value : json_ascii(argument.value));
    out.put(", ");
  }
}

}  // namespace tprof::kineto
