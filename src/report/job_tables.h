// Tables of a job beside those of its ranks: in which stage ranks differ, what its steps consist of, who sends what.
#pragma once
#include "analysis/ranks/distributed.h"
#include "analysis/ranks/job_path.h"
#include "analysis/ranks/matrix.h"
#include "report/table.h"

namespace tprof {

Table stages_table(const Distributed& distributed, const std::vector<Rank>& ranks);
Table job_path_table(const JobPath& path, const std::vector<Rank>& ranks);
Table matrix_table(const CommunicationMatrix& matrix);

}  // namespace tprof
