#include "hang/pickle.h"

#include <stdio.h>
#include <string.h>

#include <map>
#include <vector>

#include "base/error.h"
#include "hang/dump_bounds.h"
#include "json/json.h"

namespace tprof::hang {
namespace {

struct Node {
  Json scalar;  // of all but lists and dictionaries
  bool is_list = false, is_dictionary = false;
  std::vector<u32> items;  // of a dictionary: key, value, key, value ...
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  Json run() {
    for (;;) {
      auto op = static_cast<unsigned char>(take(1)[0]);
      if (op == '.') break;
      bounds_.add_opcode();
      step(op);
    }
    return json_of(pop(), 0);
  }

 private:
  std::string_view take(size_t bytes) {
    if (bytes > left_.size()) refuse("it is cut off");
    std::string_view out = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return out;
  }
  u64 number(size_t bytes) {
    u64 value = 0;
    memcpy(&value, take(bytes).data(), bytes);  // little-endian, as this machine
    return value;
  }

  void step(unsigned char op) {
    switch (op) {
      case 0x80: take(1); break;  // protocol
      case 0x95: take(8); break;  // frame
      case 'N': push(Json()); break;
      case 0x88: push(Json(true)); break;
      case 0x89: push(Json(false)); break;
      case 'J': push(Json(i32(number(4)))); break;
      case 'K': push(Json(number(1))); break;
      case 'M': push(Json(number(2))); break;
      case 0x8a: push(Json(long_integer(number(1)))); break;
      case 'G': push(Json(floating())); break;
      case 'X': push(Json(std::string(take(number(4))))); break;
      case 0x8c: push(Json(std::string(take(number(1))))); break;
      case 0x8d: push(Json(std::string(take(number(8))))); break;
      case ']': push_list({}); break;
      case ')': push_list({}); break;
      case '}': push_list({}, true); break;
      case '(': marks_.push_back(stack_.size()); break;
      case 't': push_list(above_mark()); break;
      case 0x85: push_last(1); break;
      case 0x86: push_last(2); break;
      case 0x87: push_last(3); break;
      case 'a': append({pop()}, false); break;
      case 'e': append(above_mark(), false); break;
      case 's': {
        u32 value = pop(), key = pop();
        append({key, value}, true);
        break;
      }
      case 'u': append(above_mark(), true); break;
      case 'q': memo_[number(1)] = top(); break;
      case 'r': memo_[number(4)] = top(); break;
      case 0x94: memo_[memo_.size()] = top(); break;
      case 'h': recall(number(1)); break;
      case 'j': recall(number(4)); break;
      default: {
        char text[64];
        snprintf(text, sizeof text, "it holds more than plain values (opcode 0x%02x)", op);
        refuse(text);
      }
    }
  }

  i64 long_integer(u64 bytes) {
    if (bytes > 8) refuse("it holds a number of more than 64 bits");
    u64 value = number(bytes);
    if (bytes && bytes < 8 && value >> (8 * bytes - 1)) value |= ~u64(0) << 8 * bytes;  // negative
    return i64(value);
  }
  double floating() {  // big-endian
    u64 bits = __builtin_bswap64(number(8));
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
  }

  void push(Json scalar) {
    nodes_.push_back({std::move(scalar)});
    stack_.push_back(u32(nodes_.size() - 1));
  }
  void push_list(std::vector<u32> items, bool dictionary = false) {
    nodes_.push_back({Json(), !dictionary, dictionary, std::move(items)});
    stack_.push_back(u32(nodes_.size() - 1));
  }
  void push_last(size_t count) {
    std::vector<u32> items(count);
    for (size_t i = count; i > 0; i--) items[i - 1] = pop();
    push_list(std::move(items));
  }
  u32 top() const {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) refuse("it is damaged");
    return stack_.back();
  }
  u32 pop() {
    u32 out = top();
    stack_.pop_back();
    return out;
  }
  std::vector<u32> above_mark() {
    if (marks_.empty()) refuse("it is damaged");
    std::vector<u32> out(stack_.begin() + std::ptrdiff_t(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return out;
  }
  void append(const std::vector<u32>& items, bool dictionary) {
    Node& to = nodes_[top()];
    if (dictionary ? !to.is_dictionary || items.size() % 2 : !to.is_list) refuse("it is damaged");
    to.items.insert(to.items.end(), items.begin(), items.end());
  }
  void recall(u64 index) {
    auto known = memo_.find(index);
    if (known == memo_.end()) refuse("it is damaged");
    stack_.push_back(known->second);
  }

  // A value may be used in several places: what it becomes in all of them together is bounded.
  Json json_of(u32 index, size_t depth) {
    const Node& node = nodes_[index];
    if (depth > DumpBounds::kDeepest) refuse("it is nested too deeply, or holds too many values");
    bounds_.add_value();
    if (node.is_list) {
      Json out = Json::array();
      for (u32 item : node.items) out.push_back(json_of(item, depth + 1));
      return out;
    }
    if (node.scalar.is_string()) bounds_.add_text(node.scalar.text().size());
    if (!node.is_dictionary) return node.scalar;
    Json out = Json::object();
    for (size_t i = 0; i + 1 < node.items.size(); i += 2) {
      Json key = json_of(node.items[i], depth + 1);
      std::string name = key.is_string() ? key.text() : json_line(key);
      bounds_.add_key(out.size());
      out[name] = json_of(node.items[i + 1], depth + 1);
    }
    return out;
  }

  std::string_view left_;
  std::vector<Node> nodes_;
  std::vector<u32> stack_;
  std::vector<size_t> marks_;
  std::map<u64, u32> memo_;
  DumpBounds bounds_;
};

}  // namespace

Json read_pickle(std::string_view bytes) { return Reader(bytes).run(); }

}  // namespace tprof::hang
