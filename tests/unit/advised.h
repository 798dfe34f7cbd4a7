// A Model and the advice that the rules give for it.
#pragma once
#include <string>

#include "analysis/advice/advice.h"
#include "model_builder.h"

namespace tprof {

constexpr i64 kStep = 10'000;  // us

constexpr char kLoader[] = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
constexpr char kSingleLoader[] = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";

inline const std::vector<DevicePeak>& known_devices() {
  static const std::vector<DevicePeak> kTable = device_table();
  return kTable;
}

struct Advised {
  Model model;
  Facts facts;
  std::vector<Advice> advice;

  explicit Advised(ModelBuilder&& b) : model(b.model()), facts(model, known_devices()), advice(advise(facts)) {}
  const Advice* find(const std::string& id) const {
    for (const Advice& a : advice)
      if (a.rule->id == id) return &a;
    return nullptr;
  }
};

}  // namespace tprof
