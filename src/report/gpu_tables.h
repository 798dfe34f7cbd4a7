// What GPUs did and why they did nothing: `tprof stats --by exposed|idle|launch|queue|copy|critical-path`.
//
// If something is not known from the trace, the footer states why and how to record it.
#pragma once
#include "analysis/basis/copies.h"
#include "analysis/basis/launches.h"
#include "analysis/time/critical_path.h"
#include "analysis/time/exposed.h"
#include "analysis/time/idle.h"
#include "report/table.h"

namespace tprof {

// gpu_time_tables.cpp. By device and step; the four parts of a row sum to its length.
Table exposed_table(const std::vector<DeviceExposed>& devices, const Windows& windows);
// By device and stream: busy, idle, the cause of it.
Table idle_table(const std::vector<IdleLane>& lanes);
// By device: what the host did while a GPU waited for it.
Table idle_reasons_table(const Model& model, const std::vector<IdleLane>& lanes);

// gpu_launch_tables.cpp. All launches, the short ones, the slow ones ...; delays are means.
Table launches_table(const Launches& launches);
Table slow_calls_table(const Model& model, const Waits& waits, const Launches& launches);
Table delayed_work_table(const Model& model, const Launches& launches);
Table queues_table(const Launches& launches);
Table copies_table(const std::vector<Copies>& copies);

// path_tables.cpp. By kind of link and what the host did; then by name.
Table critical_path_table(const Model& model, const std::vector<CriticalPath>& steps);
Table path_links_table(const Model& model, const std::vector<CriticalPath>& steps);

constexpr char kNoGpuWork[] =
    "No GPU work in this trace (CPU only, or recorded without --activities cuda); host times: --by op";

}  // namespace tprof
