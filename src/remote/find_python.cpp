// Finds the interpreter in a program: the mapped file that defines _PyRuntime. Nothing of that program is ever started
// to learn about it.
#include <set>

#include "remote/images.h"
#include "remote/python_layout.h"

namespace tprof::remote {
namespace {

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Programs may be linked with the interpreter statically, so the program's own file is looked at whatever its name is.
// The symbols get their addresses in the program. False: there is no such file.
bool find_symbols(const Memory& memory, PythonSymbols& symbols) {
  std::set<std::string> seen;
  for (const Mapping& mapping : memory.mappings()) {
    bool first = seen.empty();
    if (!mapping.path.starts_with("/") || !seen.insert(mapping.path).second) continue;
    std::string name = file_name(mapping.path);
    if (!first && !name.starts_with("python") && !name.starts_with("libpython3")) continue;
    PythonSymbols here = symbols;
    auto file = ElfFile::open(memory.path_here(mapping), &here);
    std::optional<u64> bias = file ? bias_of(mapping, *file) : std::nullopt;
    if (!bias || !here["_PyRuntime"] || !here["PyCode_Type"]) continue;
    for (auto& [symbol, address] : here)
      if (address) address += *bias;
    symbols = here;
    return true;
  }
  return false;
}

}  // namespace

FoundPython find_python(const Memory& memory) {
  FoundPython out;
  PythonSymbols symbols = symbols_of_versions();
  symbols["_PyRuntime"] = symbols["PyCode_Type"] = 0;
  out.is_python = find_symbols(memory, symbols);
  if (!out.is_python) return out;
  out.layout.runtime = symbols["_PyRuntime"];
  out.layout.code_type = symbols["PyCode_Type"];
  out.why_not = published_layout(memory, out.layout);
  if (!out.why_not.empty() && !out.layout.python) out.why_not = known_layout(memory, symbols, out.layout);
  return out;
}

}  // namespace tprof::remote
