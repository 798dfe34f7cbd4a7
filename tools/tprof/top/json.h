// What `tprof top` shows, as JSON (schema 1: keys are only ever added). Times are in us; what is not known is null.
#pragma once
#include <string>
#include <vector>

#include "live/view.h"
#include "report/table.h"

namespace tprof {

Json top_json(const std::vector<live::ProgramView>& programs, const std::string& waits);

}  // namespace tprof
