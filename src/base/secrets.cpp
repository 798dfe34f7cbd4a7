#include "base/secrets.h"

#include <string.h>

#include "base/process.h"

namespace tprof {
namespace {

constexpr char kMark = 1;  // in place of each character of a secret
constexpr char kShown[] = "***";

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return is_lower(c) || is_upper(c); }
// `set` without its NUL.
bool is_one_of(char c, const char* set) { return c && strchr(set, c); }
bool is_space(char c) { return is_one_of(c, " \t\r\n"); }

// The alphabets of secrets.def.
bool letters(char c) { return is_letter(c) || is_digit(c); }
bool name(char c) { return letters(c) || c == '_' || c == '-'; }
bool any(char c) { return name(c) || is_one_of(c, ".+/=~"); }

bool is_name(char c) { return name(c) || c == '.'; }

enum class Numbers { plain, secret };

struct SecretWord {
  const char* word;
  Numbers numbers;
};
const SecretWord kSecretWords[] = {
#define SECRET_WORD(word, numbers) {word, Numbers::numbers},
#include "base/secrets.def"
};
const char* const kPlainBefore[] = {
#define PLAIN_BEFORE(word) word,
#include "base/secrets.def"
};
const char* const kPlainAtEnd[] = {
#define PLAIN_AT_END(word) word,
#include "base/secrets.def"
};

struct SecretShape {
  const char* prefix;
  int least;
  bool (*alphabet)(char);
};
const SecretShape kSecretShapes[] = {
#define SECRET_SHAPE(prefix, least, alphabet) {prefix, least, alphabet},
#include "base/secrets.def"
};

// A stretch of text.
struct Part {
  const char* begin = nullptr;
  const char* end = nullptr;

  // In lower case.
  bool is(const char* word) const {
    const char* at = begin;
    for (; at < end && *word && (is_upper(*at) ? *at + ('a' - 'A') : *at) == *word; at++) word++;
    return at == end && !*word;
  }
};

template <size_t n>
bool is_listed(const Part& part, const char* const (&words)[n]) {
  for (const char* word : words)
    if (part.is(word)) return true;
  return false;
}

// The next word of a name, and moves `at` behind it: apiKey, API_KEY and APIKey are two words each.
Part next_word(const char*& at, const char* end) {
  while (at < end && !is_letter(*at)) at++;
  Part out{at, at};
  while (at < end && is_upper(*at)) at++;
  if (at - out.begin > 1 && at < end && is_lower(*at)) at--;  // the K of APIKey
  if (at - out.begin <= 1)
    while (at < end && is_lower(*at)) at++;
  out.end = at;
  return out;
}

// What the name of a value says of it.
enum class Says { nothing, secret_unless_number, secret };

Says what_says(const Part& name) {
  Says out = Says::nothing;
  Part before, word;
  for (const char* at = name.begin; (word = next_word(at, name.end)).begin < word.end; before = word)
    for (const SecretWord& row : kSecretWords)
      if (out != Says::secret && word.is(row.word) && !is_listed(before, kPlainBefore))
        out = row.numbers == Numbers::secret ? Says::secret : Says::secret_unless_number;
  return is_listed(before, kPlainAtEnd) ? Says::nothing : out;
}

bool is_number(const Part& value) {
  constexpr int kLongest = 18;
  bool digits = false;
  for (const char* at = value.begin; at < value.end; at++) {
    digits |= is_digit(*at);
    if (!is_digit(*at) && !is_one_of(*at, "+-.eE")) return false;
  }
  return digits && value.end - value.begin <= kLongest;
}

bool is_flag(const Part& value) {
  constexpr const char* kWords[] = {"true", "false", "yes", "no", "on", "off", "none", "null", "auto"};
  return is_listed(value, kWords);
}

class Masker {
 public:
  Masker(char* words, int bytes) : begin_(words), end_(words + bytes) {}

  void mark_shapes() {
    for (char* at = begin_; at < end_; at++) {
      if (at > begin_ && letters(at[-1])) continue;
      for (const SecretShape& row : kSecretShapes) {
        size_t bytes = strlen(row.prefix);
        if (bytes > size_t(end_ - at) || memcmp(at, row.prefix, bytes) != 0) continue;
        char *from = at + bytes, *to = from;
        while (row.alphabet(peek(to))) to++;
        if (to - from >= row.least) mark(at, to);
      }
    }
  }

  // scheme://USER:PASSWORD@host
  void mark_users() {
    for (char* at = begin_; end_ - at > 3; at++) {
      if (memcmp(at, "://", 3) != 0) continue;
      char* from = at + 3;
      char *to = from, *word_end = from, *user_end = nullptr;
      while (peek(word_end) && !is_space(*word_end) && !is_one_of(*word_end, "'\"<>")) word_end++;
      while (to < word_end && !is_one_of(*to, "/?#")) to++;
      // A password with such a character in it: it stands where a port would.
      char* colon = static_cast<char*>(memchr(from, ':', to - from));
      if (!memchr(from, '@', to - from) && colon && *from != '[' && !is_number({colon + 1, to})) to = word_end;
      for (char* c = from; c < to; c++)
        if (*c == '@') user_end = c;
      if (user_end) mark(from, user_end);
    }
  }

  void mark_named() {
    for (char* at = begin_; at < end_;) {
      char* from = at;
      while (is_name(peek(at))) at++;
      if (at == from) {
        at++;
        continue;
      }
      Says says = what_says({from, at});
      if (says == Says::nothing) continue;
      Value value = value_after(from, at);
      if (value.begin == value.end) continue;
      Part text{value.begin, value.end};
      if (!is_flag(text) && !(says == Says::secret_unless_number && is_number(text))) mark(value.begin, value.end);
      at = value.end;
    }
  }

  int copy(char* out, int size) const {
    int used = 0;
    for (const char* at = begin_; at < end_;) {
      bool secret = *at == kMark;
      int bytes = secret ? int(sizeof kShown) - 1 : 1;
      if (bytes > size - used) break;
      memcpy(out + used, secret ? kShown : at, bytes);
      used += bytes;
      do at++;
      while (secret && peek(at) == kMark);
    }
    return used;
  }

 private:
  struct Value {
    char *begin, *end;
  };

  char peek(const char* at) const { return at < end_ ? *at : 0; }
  char* end_of_word(char* at) const {
    while (peek(at)) at++;
    return at;
  }
  static void mark(char* from, char* to) { memset(from, kMark, to - from); }

  // Whether only names stand before this one in its word of the command line, as in --env=NAME or +a.b=: its value is
  // then the rest, or the next word.
  bool leads_word(const char* name) const {
    while (name > begin_ && (is_name(name[-1]) || is_one_of(name[-1], "+~="))) name--;
    return name == begin_ || !name[-1];
  }

  // Empty: there is none.
  Value value_after(char* name, char* end) const {
    char* at = end;
    while (is_one_of(peek(at), "'\"\\] \t")) at++;
    if (is_one_of(peek(at), "=:") && !(peek(at + 1) == '/' && peek(at + 2) == '/')) {
      bool whole = at == end && leads_word(name);
      while (is_space(peek(at)) || is_one_of(peek(at), "=:")) at++;
      return whole ? Value{at, end_of_word(at)} : value_inside(at);
    }
    if (*name != '-') return {end, end};
    at = end;
    bool whole = !peek(at);
    if (whole) at++;
    while (!whole && is_one_of(peek(at), "'\"\\")) at++;
    char* gap = at;
    while (!whole && (is_space(peek(at)) || peek(at) == ',')) at++;
    bool option = peek(at) == '-' && (is_letter(peek(at + 1)) || peek(at + 1) == '-');
    if ((!whole && at == gap) || option || at >= end_) return {end, end};
    return whole ? Value{at, end_of_word(at)} : value_inside(at);
  }

  // A value within a word of the command line, such as JSON, a query of a URL, or a line for a shell.
  Value value_inside(char* at) const {
    while (peek(at) == '\\') at++;
    if (is_one_of(peek(at), "[{")) return {at, end_of_word(at)};
    char* from = at;
    char quote = peek(at);
    if (is_one_of(quote, "'\"")) {
      from = ++at;
      while (peek(at) && *at != quote) at++;
    } else {
      while (peek(at) && !is_space(*at) && !is_one_of(*at, "'\"&;,|<>)]}")) at++;
    }
    return {from, at};
  }

  char* const begin_;
  char* const end_;
};

}  // namespace

int mask_secrets(char* words, int bytes, char* out, int size) {
  Masker masker(words, bytes);
  masker.mark_shapes();
  masker.mark_users();
  masker.mark_named();
  return masker.copy(out, size);
}

int read_own_command(char* out, int size) {
  char words[4096];
  int bytes = read_small_file("/proc/self/cmdline", words, sizeof words);
  if (bytes < 0) return -1;
  // The half of a word does not always show that it is a secret.
  if (bytes == int(sizeof words) - 1)
    while (bytes > 0 && words[bytes - 1]) bytes--;
  bytes = mask_secrets(words, bytes, out, size - 1);
  out[bytes] = 0;
  return bytes;
}

}  // namespace tprof
