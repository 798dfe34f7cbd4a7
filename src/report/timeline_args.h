// The arguments of slices for the page, in the words of a trace (kineto/write): sets of constant texts, of which few
// differ, and the numbers that differ from slice to slice. Numbers by which a trace ties its events to each other are
// left out ("External id", "Ev Idx", "Python id"): the Model holds what they tie.
#pragma once
#include <string_view>
#include <unordered_map>

#include "analysis/tables/tracks.h"
#include "kineto/collectives.h"
#include "kineto/inputs.h"
#include "report/table.h"

namespace tprof {

class TimelineArguments {
 public:
  explicit TimelineArguments(const Model& model);

  // The set of the slice, from 1; 0: it has no arguments. Slices come in the order of Tracks::slices.
  u32 add(const Slice& slice);

  Json head() const;         // of the column "sets" (report/timeline.h)
  std::string sets() const;  // the rest of it
  std::string numbers() const;

 private:
  // What differs from slice to slice.
  enum class Number : u8 { correlation, sequence, bytes, bandwidth };
  static constexpr size_t kNumbers = 4;

  void add_event(const Event& event, u32 index);
  void add_inputs(const Event& event);
  void add_arguments(const std::vector<kineto::Argument>& arguments);
  void add_nvtx(const NvtxDetail& detail);
  void add_python(const Event& event);
  void add_stretch(u32 index);
  void add_call(const CallEvent& call);
  void add_gpu(const GpuEvent& event, u32 index);
  void add_kernel(const GpuEvent& event);
  void add_copy(const GpuEvent& event);
  void add_sync(const GpuEvent& event);
  void add_node(u32 graph, u64 node);

  void text(const char* key, const std::string& value);
  void text(const char* key, i64 value) { text(key, std::to_string(value)); }
  void text(const char* key, float value);
  void number(Number number, const char* key, i64 value);
  void bandwidth(float value);
  u32 key_of(const char* key);
  u32 value_of(const std::string& value);

  const Model& model_;
  kineto::InputText inputs_;
  const kineto::CollectiveArguments collectives_;
  std::string set_;                            // of the current slice: as it is in the column
  u32 members_ = 0;                            // of it
  std::unordered_map<std::string, u32> sets_;  // coded set -> number
  std::vector<const std::string*> in_order_;   // of sets_
  std::unordered_map<std::string, u32> keys_, values_;
  Json key_texts_ = Json::array(), value_texts_ = Json::array();
  struct Members {
    std::string coded;
    u32 number = 0;
  };
  std::unordered_map<std::string_view, Members> known_inputs_;  // by encoded inputs: their part of a set
  std::unordered_map<u32, u32> stretches_;                      // by event: index into Model::stretches
  std::unordered_map<u32, StepCut> cuts_;                       // by event
  i64 last_[kNumbers] = {};
  std::string numbers_[kNumbers];
};

}  // namespace tprof
