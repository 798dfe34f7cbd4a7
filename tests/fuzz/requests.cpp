// The head of a request to tprof view: who is let in knows the token and means this server, and asks for what there is.
#include "request.h"

#include <string.h>

#include <memory>

#include "scratch.h"

using namespace tprof;
using namespace tprof::view;

namespace {

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  const Door door{"00112233445566778899aabbccddeeff", 6006};
  std::string received(reinterpret_cast<const char*>(data), size);
  std::optional<size_t> end = end_of_head(received);
  if (!end || *end > kLongestHead) return 0;
  // In a place of its own, so that what is read behind it is found.
  std::unique_ptr<char[]> head(new char[*end]);
  memcpy(head.get(), received.data(), *end);
  received.resize(*end);
  auto asked = read_request({head.get(), *end}, door);
  if (auto* refusal = std::get_if<Refusal>(&asked)) {
    fuzz::require(refusal->status >= 400 && refusal->status < 600 && !refusal->sentence.empty(), "a refusal says why");
    return 0;
  }
  const Wanted& wanted = std::get<Wanted>(asked);
  fuzz::require(received.starts_with("GET /" + door.token + "/") || received.starts_with("HEAD /" + door.token + "/"),
                "who is let in reads, and knows the token");
  std::string small = received;
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? char(c + 32) : c;
  fuzz::require(holds(small, "\nhost:") && (holds(small, "127.0.0.1:6006") || holds(small, "localhost:6006")),
                "who is let in means this server");
  for (const std::string* name : {&wanted.run, &wanted.name})
    fuzz::require(!holds(*name, std::string(1, '\0')), "a name holds no zero byte");
  fuzz::require(!holds(wanted.name, "/") && !holds(wanted.name, ".."), "no name of a file leads elsewhere");
  if (wanted.what == Wanted::What::page) {
    std::string again =
        "GET /" + door.token + "/page?run=" + percent_encoded(wanted.run) + " HTTP/1.1\r\nHost: localhost:6006\r\n\r\n";
    auto same = read_request(again, door);
    if (again.size() <= kLongestHead) fuzz::require(std::get<Wanted>(same).run == wanted.run, "an encoded name stays");
  }
  return 0;
}
