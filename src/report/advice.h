// Advice as text and as JSON.
#pragma once
#include "analysis/advice/advice.h"
#include "report/table.h"

namespace tprof {

// Findings of one worker and span, the first `most` of them, the rest counted; then what could not be known.
std::string advice_text(const Facts& facts, const std::vector<Advice>& advice, const Source& source, size_t most,
                        const TextStyle& style);
// {run, worker, span, average_step_time_us, median_step_time_us (see overview_json()), recommendations: [{id, severity,
// title, text, share_percent, saving_us_per_step, minor, fix, link, evidence: [{name, at_us, duration_us, thread}]}],
// not_known: [line]}; what is not known is null. Times of evidence count from the first event of the trace, as viewers
// show them.
Json advice_json(const Facts& facts, const std::vector<Advice>& advice, const Source& source);

const char* grade_word(Grade grade);  // "moderate", "high"

}  // namespace tprof
