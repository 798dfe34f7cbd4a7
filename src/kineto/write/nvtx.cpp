#include "kineto/write/nvtx.h"

#include "base/json.h"
#include "kineto/nvtx.h"

namespace tprof::kineto {

void put_nvtx(OutputFile& out, const Model& model, const NvtxDetail& detail) {
  for (const NvtxArgument& argument : nvtx_arguments(model, detail)) {
    out.put(std::string("\"") + argument.key + "\": ");
    out.put(argument.is_number ? argument.value : json_ascii(argument.value));
    out.put(", ");
  }
}

}  // namespace tprof::kineto
