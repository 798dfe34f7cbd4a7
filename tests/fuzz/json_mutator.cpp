#include "json_mutator.h"

#include <string.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(tprof::u8* data, size_t size, size_t max_size);

namespace tprof::fuzz {
namespace {

using Json = nlohmann::ordered_json;

class Mutation {
 public:
  Mutation(Json& document, unsigned seed) : document_(document), random_(seed) { collect(document_); }

  void run() {
    Json& value = *values_[below(values_.size())];
    switch (below(7)) {
      case 0: value = hard_value(); break;
      case 1: value = Json(*values_[below(values_.size())]); break;
      case 2: change_members(value); break;
      case 3: change_number(value); break;
      case 4: change_text(value); break;
      case 5: change_argument(); break;
      default: change_events(); break;
    }
  }

 private:
  size_t below(size_t n) { return n ? std::uniform_int_distribution<size_t>(0, n - 1)(random_) : 0; }

  void collect(Json& value) {
    values_.push_back(&value);
    if (value.is_structured())
      for (Json& element : value) collect(element);
  }

  // What readers of numbers and texts get wrong.
  Json hard_value() {
    static const char* const kHard[] = {"0",
                                        "-1",
                                        "1",
                                        "2147483647",
                                        "2147483648",
                                        "-2147483648",
                                        "9223372036854775807",
                                        "-9223372036854775808",
                                        "1e19",
                                        "1e308",
                                        "-1e308",
                                        "0.1",
                                        "1e-300",
                                        "null",
                                        "true",
                                        "\"\"",
                                        "\"x\"",
                                        "[]",
                                        "{}",
                                        "[[]]",
                                        "\"\\u001b[31m\"",
                                        "\"18446744073709551615\"",
                                        "\"[1, 2\"",
                                        "4294967295"};
    return Json::parse(kHard[below(std::size(kHard))]);
  }

  void change_members(Json& value) {
    if (value.is_array() && !value.empty()) {
      size_t at = below(value.size());
      if (below(2))
        value.erase(at);
      else
        value.push_back(Json(value[at]));
    } else if (value.is_object() && !value.empty()) {
      auto at = std::next(value.begin(), i64(below(value.size())));
      if (below(2))
        value.erase(at);
      else
        at.value() = hard_value();
    }
  }

  void change_number(Json& value) {
    static const i64 kFactors[] = {-1, 2, 1000, 1'000'000'007};
    if (value.is_number_integer())
      value = i64(value.get<u64>() * u64(kFactors[below(4)]) + below(3) - 1);
    else if (value.is_number())
      value = value.get<double>() * double(kFactors[below(4)]);
    else
      value = hard_value();
  }

  // Mostly names that mean something elsewhere in the document.
  void change_text(Json& value) {
    if (!value.is_string()) return;
    const Json& other = *values_[below(values_.size())];
    if (other.is_string() && below(2)) {
      value = Json(other);
      return;
    }
    std::string text = value.get<std::string>();
    if (!text.empty()) text[below(text.size())] = char(32 + below(95));
    value = text;
  }

  // One of the few arguments of an event, or a number in its lists, which are rarely taken among all values.
  void change_argument() {
    std::vector<Json*> arguments;
    for (Json* value : values_)
      if (value->is_object() && value->contains("args") && (*value)["args"].is_object() && !(*value)["args"].empty())
        arguments.push_back(&(*value)["args"]);
    if (arguments.empty()) return;
    Json* at = arguments[below(arguments.size())];
    while (at->is_structured() && !at->empty()) at = &*std::next(at->begin(), i64(below(at->size())));
    *at = hard_value();
  }

  // A copy of an event, a little later or nested, or with a time that is hard to read.
  void change_events() {
    Json* events = document_.is_object() && document_.contains("traceEvents") ? &document_["traceEvents"] : &document_;
    if (!events->is_array() || events->empty()) return;
    Json copy = (*events)[below(events->size())];
    if (copy.is_object() && copy.contains("ts") && copy["ts"].is_number())
      copy["ts"] = copy["ts"].get<double>() + double(below(100)) - 50;
    if (copy.is_object() && below(4) == 0) copy[below(2) ? "ts" : "dur"] = hard_value();
    events->push_back(std::move(copy));
  }

  Json& document_;
  std::mt19937 random_;
  std::vector<Json*> values_;
};

}  // namespace

size_t mutate_json(u8* data, size_t size, size_t max_size, unsigned seed) {
  Json document = seed % 8 ? Json::parse(data, data + size, nullptr, false) : Json();
  if (!document.is_structured()) return LLVMFuzzerMutate(data, size, max_size);
  for (unsigned i = 0; i <= seed / 8 % 4; i++) Mutation(document, seed + i).run();
  std::string text = document.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  memcpy(data, text.data(), text.size());
  return text.size();
}

}  // namespace tprof::fuzz
