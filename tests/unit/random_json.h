// Documents by chance, for the tests of what reads JSON: every kind of value, texts that look like structure.
#pragma once
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "base/types.h"

namespace tprof::test {

// With null in place of true and false if not `booleans`: the parser of traces tells nobody which of them it was.
inline nlohmann::json random_json(std::mt19937& random, bool booleans, int depth = 0) {
  using Json = nlohmann::json;
  static const char* texts[] = {"",
                                "a",
                                "\"",
                                "\\",
                                "\\\\\"",
                                "\n\t\x01",
                                "{[",
                                "]}",
                                ",",
                                "seven b",
                                "eight by",
                                "\xc3\xa9\xf0\x9f\x98\x80",
                                "a longer text\\, with: all { of } it, and \"more\" than sixteen bytes"};
  switch (random() % (depth > 3 ? 5 : 7)) {
    case 0: return texts[random() % std::size(texts)];
    case 1: return std::ldexp(static_cast<double>(static_cast<int>(random())), static_cast<int>(random() % 200) - 100);
    case 2: return booleans ? Json(random() % 2 == 0) : Json();
    case 3: return static_cast<int>(random()) / 1000.0;
    case 4: return static_cast<i64>(u64(random()) << 32 | random()) >> random() % 64;
    case 5: {
      Json list = Json::array();
      for (unsigned n = random() % 5; n > 0; n--) list.push_back(random_json(random, booleans, depth + 1));
      return list;
    }
    default: {
      Json object = Json::object();
      for (unsigned n = random() % 5; n > 0; n--)
        object["k" + std::to_string(random() % 9)] = random_json(random, booleans, depth + 1);
      return object;
    }
  }
}

}  // namespace tprof::test
