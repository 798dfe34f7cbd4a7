// Who is let in to the pages of tprof view, and what is asked for.
#include "request.h"

#include <gtest/gtest.h>

namespace tprof::view {
namespace {

const Door kDoor{"00112233445566778899aabbccddeeff", 6006};
const std::string kFields = "Host: 127.0.0.1:6006\r\n";

std::string request(const std::string& target, const std::string& fields = kFields, const std::string& method = "GET") {
  return method + " " + target + " HTTP/1.1\r\n" + fields + "\r\n";
}
std::string in(const std::string& rest) { return "/" + kDoor.token + "/" + rest; }

// 0: let in.
int refusal_of(const std::string& head) {
  auto asked = read_request(head, kDoor);
  auto* refusal = std::get_if<Refusal>(&asked);
  EXPECT_FALSE(refusal && refusal->sentence.empty()) << head;
  return refusal ? refusal->status : 0;
}
Wanted wanted(const std::string& rest) {
  auto asked = read_request(request(in(rest)), kDoor);
  EXPECT_TRUE(std::holds_alternative<Wanted>(asked)) << rest;
  auto* out = std::get_if<Wanted>(&asked);
  return out ? *out : Wanted{};
}

TEST(ViewRequest, SaysWhatIsAskedFor) {
  using What = Wanted::What;
  EXPECT_EQ(wanted("").what, What::file);
  EXPECT_EQ(wanted("").name, "");
  EXPECT_EQ(wanted("index.css").name, "index.css");
  EXPECT_EQ(wanted("list").what, What::list);
  Wanted part = wanted("parts/7/12");
  EXPECT_EQ(part.what, What::part);
  EXPECT_EQ(part.page, 7u);
  EXPECT_EQ(part.part, 12u);
  Wanted page = wanted("page?run=a%20b%2Fc%ff&span=1&worker=");
  EXPECT_EQ(page.what, What::page);
  EXPECT_EQ(page.run, "a b/c\xff");
  EXPECT_EQ(page.worker, "");
  EXPECT_EQ(page.span, "1");
  EXPECT_FALSE(wanted("page?run=.").worker);
}

TEST(ViewRequest, AnAnswerToHeadHasNoBody) {
  auto asked = read_request(request(in(""), kFields, "HEAD"), kDoor);
  EXPECT_TRUE(std::get<Wanted>(asked).head_only);
  EXPECT_FALSE(wanted("").head_only);
}

TEST(ViewRequest, NamesSurviveAnAddress) {
  std::string name;
  for (int c = 1; c < 256; c++) name += char(c);
  EXPECT_EQ(wanted("page?run=" + percent_encoded(name)).run, name);
}

TEST(ViewRequest, NobodyIsLetInWithoutTheToken) {
  EXPECT_EQ(refusal_of(request("/")), 403);
  EXPECT_EQ(refusal_of(request("/list")), 403);
  EXPECT_EQ(refusal_of(request("/00112233445566778899aabbccddeefe/")), 403);
  EXPECT_EQ(refusal_of(request("/" + kDoor.token.substr(1) + "/")), 403);
  EXPECT_EQ(refusal_of(request("/" + kDoor.token + "0/")), 403);
  EXPECT_EQ(refusal_of(request("/" + kDoor.token)), 404);
  EXPECT_EQ(refusal_of(request(in(""))), 0);
}

TEST(ViewRequest, AnotherHostOrOriginIsRefused) {
  for (const char* host : {"localhost:6006", "LOCALHOST:6006", "127.0.0.1:6006 "})
    EXPECT_EQ(refusal_of(request(in(""), "Host: " + std::string(host) + "\r\n")), 0) << host;
  for (const char* host : {"", "example.org:6006", "127.0.0.1", "127.0.0.1:6007", "127.0.0.1:60060",
                           "127.0.0.1:6006.org", "x@127.0.0.1:6006", "[::1]:6006"})
    EXPECT_EQ(refusal_of(request(in(""), "Host: " + std::string(host) + "\r\n")), 403) << host;
  EXPECT_EQ(refusal_of(request(in(""), "")), 403);
  EXPECT_EQ(refusal_of(request(in(""), kFields + kFields)), 400);
  EXPECT_EQ(refusal_of(request(in(""), kFields + "Origin: http://localhost:6006\r\n")), 0);
  for (const char* origin : {"null", "https://127.0.0.1:6006", "http://example.org", "http://127.0.0.1:6007"})
    EXPECT_EQ(refusal_of(request(in(""), kFields + "Origin: " + origin + "\r\n")), 403) << origin;
}

TEST(ViewRequest, OnlyReadingIsAnswered) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "get", "CONNECT", "TRACE"})
    EXPECT_EQ(refusal_of(request(in(""), kFields, method)), 405) << method;
  EXPECT_EQ(refusal_of(request(in(""), kFields + "Content-Length: 0\r\n")), 0);
  EXPECT_EQ(refusal_of(request(in(""), kFields + "Content-Length: 5\r\n")), 413);
  EXPECT_EQ(refusal_of(request(in(""), kFields + "Transfer-Encoding: chunked\r\n")), 413);
}

TEST(ViewRequest, WhatIsNoAddressHereIsRefused) {
  for (const char* rest :
       {"../list", "%2e%2e/list", "list/", "index.css?x", "list?run=a", "Index.css", "etc/passwd", "parts/", "parts/1",
        "parts/1/", "parts/1/2/3", "parts/-1/2", "parts/1/99999999999999999999", "index..css", ".."})
    EXPECT_EQ(refusal_of(request(in(rest))), 404) << rest;
  for (const char* rest : {"page", "page?", "page?span=1", "page?run=%", "page?run=%4", "page?run=%g0", "page?run=a%00",
                           "page?run=a&run=b", "page?run=a&path=b"})
    EXPECT_EQ(refusal_of(request(in(rest))), 400) << rest;
  EXPECT_EQ(refusal_of(request("http://127.0.0.1:6006" + in(""))), 400);
  EXPECT_EQ(refusal_of(request("*", kFields, "GET")), 400);
}

TEST(ViewRequest, WhatIsNoRequestIsRefused) {
  EXPECT_EQ(refusal_of("GET / HTTP/2.0\r\n\r\n"), 505);
  EXPECT_EQ(refusal_of("GET /\r\n\r\n"), 505);
  for (const char* head : {"\r\n\r\n", "GET\r\n\r\n", "GET  / HTTP/1.1\r\n\r\n", "G T / HTTP/1.1\r\n\r\n",
                           "GET /a\tb HTTP/1.1\r\n\r\n", "GET /\x80 HTTP/1.1\r\n\r\n"})
    EXPECT_NE(refusal_of(head), 0) << head;
  for (const char* fields : {"Host\r\n", "Host : 127.0.0.1:6006\r\n", " Host: a\r\n", ": a\r\n", "A: b\nC: d\r\n",
                             "A: b\x01\r\n", "A: b\r\n folded\r\n"})
    EXPECT_EQ(refusal_of(request(in(""), kFields + fields)), 400) << fields;
  std::string many;
  for (size_t i = 0; i < kMostFields; i++) many += "A: b\r\n";
  EXPECT_EQ(refusal_of(request(in(""), kFields + many)), 431);
  EXPECT_EQ(refusal_of(request(in(""), kFields + many.substr(6))), 0);
}

TEST(ViewRequest, AHeadEndsWithAnEmptyLine) {
  EXPECT_FALSE(end_of_head("GET / HTTP/1.1\r\nHost: a\r\n"));
  EXPECT_FALSE(end_of_head("GET / HTTP/1.1\n\n"));
  EXPECT_EQ(end_of_head("GET / HTTP/1.1\r\n\r\nmore\r\n\r\n"), 18u);
}

}  // namespace
}  // namespace tprof::view
