// Samples of Python stacks as tables: `tprof stats --by python`.
#pragma once
#include "analysis/time/python_samples.h"
#include "report/table.h"

namespace tprof {

Table python_functions_table(const Model& model, const PythonSamples& samples);
Table python_lines_table(const Model& model, const PythonSamples& samples);
Table native_functions_table(const Model& model, const PythonSamples& samples);
Table python_threads_table(const Model& model, const PythonSamples& samples);

}  // namespace tprof
