// Where the time of steps went, as one sum: at each moment the most useful thing that goes on anywhere gets the time.
//
// The order is torch_tb_profiler's: kernels before copies, sets, communication, CUDA calls, the DataLoader, other CPU
// ranges, and what is left. Unlike there, communication kernels are communication, and nothing counts twice.
#pragma once
#include "analysis/windows.h"
#include "analysis/words.h"

namespace tprof {

// CATEGORY(name, "text")
#define TPROF_CATEGORIES(CATEGORY)        \
  CATEGORY(kernel, "Kernel")              \
  CATEGORY(copy, "Memcpy")                \
  CATEGORY(set, "Memset")                 \
  CATEGORY(communication, "Communication") \
  CATEGORY(runtime, "Runtime")            \
  CATEGORY(data_loading, "DataLoader")    \
  CATEGORY(cpu, "CPU Exec")               \
  CATEGORY(other, "Other")

enum class Category : u8 {
#define CATEGORY(name, text) name,
  TPROF_CATEGORIES(CATEGORY)
#undef CATEGORY
};
constexpr u32 kCategories = static_cast<u32>(Category::other) + 1;
const char* category_text(Category category);

struct Times {
  i64 ns[kCategories] = {};
  i64& operator[](Category c) { return ns[static_cast<u32>(c)]; }
  i64 operator[](Category c) const { return ns[static_cast<u32>(c)]; }
  i64 total() const;
};

// By Windows::steps; each sums to its step.
std::vector<Times> breakdown(const Model& model, const Words& words, const Windows& windows);
Times sum_of(const std::vector<Times>& steps);

// How steady the steps are: the slowest against the median, and the category that grew most in it.
struct Variability {
  bool known = false;  // needs three steps
  i64 median_ns = 0, slowest_ns = 0, mean_ns = 0;
  u32 slowest = 0;     // index into Windows::steps
  Category grew = Category::other;
  i64 grew_ns = 0;     // of the slowest step over that category's median
};
Variability variability(const Windows& windows, const std::vector<Times>& steps);

i64 median_of(std::vector<i64> values);  // the lower one of two; 0 of none

}  // namespace tprof
