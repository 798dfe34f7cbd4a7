#include "base/options.h"

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmath>

#include "base/job.h"

namespace tprof {

const OptionRow kOptionRows[] = {
#define OPTION(field, kind, env, flag, metavar, fallback, help) \
  {#field, #kind, "TPROF_" env, flag, metavar, fallback, help},
#include "base/options.def"
#undef OPTION
};

namespace {

constexpr i64 kMaxSteps = 1'000'000'000'000;  // per schedule word; sums of a few cannot overflow

bool fail(OptionError& error, const char* format, ...) __attribute__((format(printf, 2, 3)));
bool fail(OptionError& error, const char* format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(error.text, sizeof error.text, format, args);
  va_end(args);
  return false;
}

// Parses a text that is nothing but a non-negative decimal number of at most kMaxSteps.
bool parse_whole(const char* text, i64& out) {
  if (!*text || strlen(text) > 18) return false;
  i64 value = 0;
  for (const char* c = text; *c; c++) {
    if (*c < '0' || *c > '9') return false;
    value = value * 10 + (*c - '0');
  }
  out = value;
  return value <= kMaxSteps;
}

bool copy(const char* text, char* out, size_t size) {
  if (strlen(text) >= size) return false;
  strcpy(out, text);
  return true;
}

// One overload per kind of options.def. Each fills the field, or returns false and the reason.
bool parse(const char*, const char* text, bool& out, OptionError& error) {
  if (!strcmp(text, "0")) return out = false, true;
  if (!strcmp(text, "1")) return out = true, true;
  return fail(error, "'%s' is not 0 or 1", text);
}

bool parse(const char* field, const char* text, OptionText& out, OptionError& error) {
  if (!copy(text, out.value, sizeof out.value)) return fail(error, "longer than %zu characters", sizeof out.value - 1);
  if (!strcmp(field, "preset") && strcmp(text, "light") && strcmp(text, "default") && strcmp(text, "full"))
    return fail(error, "'%s' is not light, default or full", text);
  if (!strcmp(field, "activities") && strcmp(text, "cpu") && strcmp(text, "cuda") && strcmp(text, "cpu,cuda") &&
      strcmp(text, "cuda,cpu"))
    return fail(error, "'%s' is not cpu, cuda or cpu,cuda", text);
  if (!strcmp(field, "graph") && strcmp(text, "node") && strcmp(text, "graph"))
    return fail(error, "'%s' is not node or graph", text);
  if (!strcmp(field, "worker_name") && strchr(text, '/'))
    return fail(error, "'%s' holds a slash; give a file name, and the directory as TPROF_LOGDIR", text);
  return true;
}

bool parse(const char* field, const char* text, WordSet& out, OptionError& error) {
  for (const OptionRow& row : kOptionRows)
    if (!strcmp(row.field, field)) return parse_words(text, row.metavar, out, error);
  return false;
}

bool parse(const char*, const char* text, Schedule& out, OptionError& error) {
  return !*text || parse_schedule(text, out, error);
}

bool parse(const char*, const char* text, StepSource& out, OptionError& error) {
  return parse_step_source(text, out, error);
}

bool parse(const char*, const char* text, WindowSource& out, OptionError& error) {
  return parse_window(text, out, error);
}

bool parse(const char*, const char* text, Mode& out, OptionError& error) { return parse_mode(text, out, error); }

bool parse(const char*, const char* text, Triggers& out, OptionError& error) {
  return !*text || parse_triggers(text, out, error);
}

bool parse(const char*, const char* text, Sampling& out, OptionError& error) {
  return parse_sampling(text, out, error);
}

bool parse(const char*, const char* text, RankSet& out, OptionError& error) {
  return !*text || parse_ranks(text, out, error);
}

bool parse(const char*, const char* text, int& out, OptionError& error) { return parse_signal(text, out, error); }

bool parse(const char*, const char* text, u64& out, OptionError& error) { return parse_bytes(text, out, error); }

bool parse(const char*, const char* text, double& out, OptionError& error) {
  char* end = nullptr;
  out = strtod(text, &end);
  if (end == text || *end || !(out >= 0) || (out > 86400 && !std::isinf(out)))
    return fail(error, "'%s' is not a number of seconds from 0 to 86400, nor inf", text);
  return true;
}

// Sets what the preset changes in the defaults of the table.
void apply_preset(Options& options) {
  bool full = !strcmp(options.preset.value, "full");
  if (!strcmp(options.preset.value, "light")) options.record_shapes = false;
  if (!full) return;
  options.record_shapes = options.profile_memory = options.with_modules = options.with_flops = true;
  options.with_stack.bits = kStackOperators;
  options.sample.hz = kDefaultHz;
}

// Only flags, sets of words and sampling are changed by presets.
template <class T>
const char* show(const T&, const OptionRow& row, char (&)[256]) {
  const char* text = getenv(row.env);
  return text && *text ? text : row.fallback;
}

const char* show(const CommandText& command, const OptionRow&, char (&)[256]) { return command ? "set" : ""; }

const char* show(const bool& on, const OptionRow&, char (&)[256]) { return on ? "1" : "0"; }

const char* show(const Sampling& sampling, const OptionRow&, char (&buffer)[256]) {
  if (!sampling) return "0";
  snprintf(buffer, sizeof buffer, "%s:%u", sampling.native ? "native" : "python", sampling.hz);
  return buffer;
}

const char* show(const WordSet& set, const OptionRow& row, char (&buffer)[256]) {
  size_t used = 0;
  u32 bit = 1;
  buffer[0] = 0;
  for (const char* word = row.metavar; *word; bit <<= 1) {
    int bytes = int(strcspn(word, "|"));
    if (set.has(bit) && used < sizeof buffer)
      used += size_t(snprintf(buffer + used, sizeof buffer - used, "%s%.*s", used ? "," : "", bytes, word));
    word += bytes;
    if (*word) word++;
  }
  return used ? buffer : "0";
}

// Flight mode with options that it excludes, or with too little room.
bool check_flight(const Options& options, OptionError& error) {
  const char* other = options.steps                 ? "TPROF_STEPS"
                      : options.schedule.given      ? "TPROF_SCHEDULE"
                      : options.window.profiler_api ? "TPROF_WINDOW"
                                                    : nullptr;
  if (other) return fail(error, "TPROF_MODE=flight and %s are both given; give one", other);
  u64 least = kFlightParts * (options.mode.bytes ? options.mode.bytes : kMinFlightBytes);
  if (options.max_size >= least) return true;
  return fail(error,
              "TPROF_MAX_SIZE is too small for TPROF_MODE=flight, which takes up to %lluM here; raise it or keep less",
              static_cast<unsigned long long>(least >> 20));
}

}  // namespace

const char* option_value(const Options& options, int row, char (&buffer)[256]) {
  int i = 0;
#define OPTION(field, kind, env, flag, metavar, fallback, help) \
  if (i++ == row) return show(options.field, kOptionRows[row], buffer);
#include "base/options.def"
#undef OPTION
  return "";
}

const int kOptionRowCount = sizeof kOptionRows / sizeof kOptionRows[0];

bool parse_options(Options& options, OptionError& error) {
  bool ok = true;
  OptionError why;
#define OPTION(field, kind, env, flag, metavar, fallback, help) parse(#field, fallback, options.field, why);
#include "base/options.def"
#undef OPTION
  // The preset first: single options override it.
  if (const char* preset = getenv("TPROF_PRESET"); preset && parse("preset", preset, options.preset, why))
    apply_preset(options);
#define OPTION(field, kind, env, flag, metavar, fallback, help)                                    \
  if (const char* text = getenv("TPROF_" env); ok && text && *text) {                              \
    why = {};                                                                                      \
    if (!parse(#field, text, options.field, why)) ok = fail(error, "TPROF_%s: %s", env, why.text); \
  }
#include "base/options.def"
#undef OPTION
  if (ok && options.steps) {
    if (options.schedule.given) return fail(error, "TPROF_STEPS and TPROF_SCHEDULE are both given; give one");
    if (!parse_steps(options.steps.value, options.schedule, why)) return fail(error, "TPROF_STEPS: %s", why.text);
  }
  if (ok && options.window.profiler_api && options.schedule.given)
    return fail(error, "TPROF_WINDOW=cudaProfilerApi and %s are both given; give one",
                options.steps ? "TPROF_STEPS" : "TPROF_SCHEDULE");
  if (ok && options.trigger.given && !options.trigger.only_hang && !options.mode.flight && !options.schedule.given)
    return fail(error,
                "TPROF_TRIGGER needs TPROF_MODE=flight or a TPROF_SCHEDULE; without them all is recorded anyway, and "
                "only hang>60s can be asked for");
  if (ok && options.on_hang && !options.trigger.hang_seconds)
    return fail(error, "TPROF_ON_HANG needs TPROF_TRIGGER=hang>60s, or another time");
  return ok && (!options.mode.flight || check_flight(options, error));
}

bool parse_schedule(const char* text, Schedule& out, OptionError& error) {
  char copy_of[512];
  if (!copy(text, copy_of, sizeof copy_of)) return fail(error, "longer than %zu characters", sizeof copy_of - 1);
  Schedule s;
  i64 skip_first_wait = 0;
  struct Word {
    const char* name;
    i64* value;
    bool seen;
  } words[] = {{"skip_first", &s.skip_first, false}, {"wait", &s.wait, false},
               {"warmup", &s.warmup, false},         {"active", &s.active, false},
               {"repeat", &s.repeat, false},         {"skip_first_wait", &skip_first_wait, false}};
  char* rest = copy_of;
  while (char* item = strsep(&rest, ",")) {
    while (*item == ' ') item++;
    char* value = strchr(item, '=');
    if (!value) return fail(error, "'%s': '%s' is not of the form word=number", text, item);
    *value++ = 0;
    Word* word = nullptr;
    for (Word& w : words)
      if (!strcmp(w.name, item)) word = &w;
    if (!word)
      return fail(error, "'%s': unknown word '%s'; use skip_first, wait, warmup, active, repeat, skip_first_wait", text,
                  item);
    if (word->seen) return fail(error, "'%s': '%s' is given twice", text, item);
    word->seen = true;
    if (!parse_whole(value, *word->value))
      return fail(error, "'%s': %s=%s is not a whole number from 0 to %lld", text, item, value,
                  static_cast<long long>(kMaxSteps));
  }
  if (s.active < 1) return fail(error, "'%s': active must be at least 1, or nothing would be recorded", text);
  if (skip_first_wait > 1) return fail(error, "'%s': skip_first_wait is 0 or 1", text);
  s.skip_first_wait = skip_first_wait;
  s.given = true;
  out = s;
  return true;
}

bool parse_steps(const char* text, Schedule& out, OptionError& error) {
  char from[32] = {}, to[32] = {};
  i64 a = 0, b = 0;
  const char* colon = strchr(text, ':');
  if (!colon || size_t(colon - text) >= sizeof from || strlen(colon + 1) >= sizeof to)
    return fail(error, "'%s' is not of the form A:B", text);
  memcpy(from, text, colon - text);
  strcpy(to, colon + 1);
  if (!parse_whole(from, a) || !parse_whole(to, b) || b <= a)
    return fail(error, "'%s': A and B must be whole numbers with A < B (steps A to B-1 are recorded)", text);
  out = Schedule{};
  out.given = true;
  out.warmup = a > 0;
  out.skip_first = a - out.warmup;
  out.active = b - a;
  out.repeat = 1;
  return true;
}

// REGEX of range:REGEX and nvtx:REGEX.
static bool parse_pattern(const char* text, const char* pattern, StepSource& out, OptionError& error) {
  if (!*pattern || !copy(pattern, out.pattern, sizeof out.pattern))
    return fail(error, "'%s': the pattern has 1 to %zu characters", text, sizeof out.pattern - 1);
  regex_t compiled;
  if (int rc = regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB)) {
    char why[128];
    regerror(rc, &compiled, why, sizeof why);
    return fail(error,
                "'%s': bad regular expression: %s; it is a POSIX extended one, \\ before a character takes it as it is",
                text, why);
  }
  regfree(&compiled);
  return true;
}

bool parse_step_source(const char* text, StepSource& out, OptionError& error) {
  StepSource s;
  if (!strcmp(text, "auto")) {
    s.mode = StepMode::automatic;
  } else if (!strcmp(text, "optimizer")) {
    s.mode = StepMode::optimizer;
  } else if (!strcmp(text, "dataloader")) {
    s.mode = StepMode::dataloader;
  } else if (!strncmp(text, "backward", 8) && (!text[8] || text[8] == ':')) {
    s.mode = StepMode::backward;
    if (text[8] && (!parse_whole(text + 9, s.every) || s.every < 1))
      return fail(error, "'%s': N in backward:N must be a whole number of at least 1", text);
  } else if (!strncmp(text, "range:", 6)) {
    s.mode = StepMode::range;
    if (!parse_pattern(text, text + 6, s, error)) return false;
  } else if (!strncmp(text, "nvtx:", 5)) {
    s.mode = StepMode::nvtx;
    if (!parse_pattern(text, text + 5, s, error)) return false;
  } else {
    return fail(error, "'%s' is not auto, optimizer, dataloader, backward:N, range:REGEX or nvtx:REGEX", text);
  }
  s.given = s.mode != StepMode::automatic;
  out = s;
  return true;
}

bool parse_window(const char* text, WindowSource& out, OptionError& error) {
  constexpr char kApi[] = "cudaProfilerApi";
  constexpr size_t kApiLength = sizeof kApi - 1;
  WindowSource w;
  if (!strncmp(text, kApi, kApiLength) && (!text[kApiLength] || text[kApiLength] == ':')) {
    w.profiler_api = true;
    if (text[kApiLength] && (!parse_whole(text + kApiLength + 1, w.limit) || w.limit < 1))
      return fail(error, "'%s': N in cudaProfilerApi:N must be a whole number of at least 1", text);
  } else if (strcmp(text, "schedule")) {
    return fail(error, "'%s' is not schedule, cudaProfilerApi or cudaProfilerApi:N", text);
  }
  out = w;
  return true;
}

bool parse_mode(const char* text, Mode& out, OptionError& error) {
  if (!strcmp(text, "schedule")) return out = {}, true;
  constexpr size_t kLength = sizeof "flight" - 1;
  if (strncmp(text, "flight", kLength) || (text[kLength] && text[kLength] != ':'))
    return fail(error, "'%s' is not schedule, flight or flight:BUDGET", text);
  Mode mode{true, kDefaultFlightBytes, 0};
  const char* budget = text[kLength] ? text + kLength + 1 : nullptr;
  char digits[16] = {};
  size_t length = budget ? strlen(budget) : 0;
  if (length > 1 && length <= sizeof digits && budget[length - 1] == 's') {
    memcpy(digits, budget, length - 1);
    mode.bytes = 0;
    if (!parse_whole(digits, mode.seconds) || mode.seconds < 1 || mode.seconds > 86400)
      return fail(error, "'%s': the time must be a whole number of seconds from 1s to 86400s", text);
  } else if (budget) {
    OptionError ignored;
    if (!parse_bytes(budget, mode.bytes, ignored) || mode.bytes < kMinFlightBytes || mode.bytes > kMaxFlightBytes)
      return fail(error, "'%s': what is kept must be a size from %lluM to %lluG, such as 64M, or a time, such as 60s",
                  text, static_cast<unsigned long long>(kMinFlightBytes >> 20),
                  static_cast<unsigned long long>(kMaxFlightBytes >> 30));
  }
  out = mode;
  return true;
}

bool parse_triggers(const char* text, Triggers& out, OptionError& error) {
  constexpr char kStep[] = "step>";
  constexpr size_t kStepLength = sizeof kStep - 1;
  constexpr char kHang[] = "hang>";
  constexpr size_t kHangLength = sizeof kHang - 1;
  Triggers triggers;
  triggers.given = triggers.only_hang = true;
  for (const char* word = text;; word++) {
    size_t length = strcspn(word, ",");
    auto is = [&](const char* name) { return strlen(name) == length && !memcmp(word, name, length); };
    char* end = nullptr;
    if (is("oom")) {
      triggers.out_of_memory = true;
    } else if (length > kStepLength && !memcmp(word, kStep, kStepLength) && word[kStepLength] != ' ') {
      triggers.slow_step = strtod(word + kStepLength, &end);
      if (end != word + length - 1 || *end != 'x' || !(triggers.slow_step > 1) || triggers.slow_step > 1000)
        return fail(error, "'%.*s': the factor must be above 1 and at most 1000, as in step>1.5x",
                    static_cast<int>(length), word);
    } else if (length > kHangLength && !memcmp(word, kHang, kHangLength) && isdigit(word[kHangLength])) {
      unsigned long seconds = strtoul(word + kHangLength, &end, 10);
      if (end != word + length - 1 || *end != 's' || seconds < 1 || seconds > 86400)
        return fail(error, "'%.*s': the time must be from 1 to 86400 whole seconds, as in hang>60s",
                    static_cast<int>(length), word);
      triggers.hang_seconds = u32(seconds);
    } else if (!is("file")) {
      return fail(error, "'%.*s' is not file, oom, step>1.5x or hang>60s", static_cast<int>(length), word);
    }
    triggers.only_hang &= end && *end == 's';
    word += length;
    if (!*word) break;
  }
  out = triggers;
  return true;
}

bool parse_words(const char* text, const char* allowed, WordSet& out, OptionError& error) {
  WordSet set;
  u32 zero = 0;
  for (const char* word = text;; word++) {
    size_t length = strcspn(word, ",");
    u32 bit = 0, number = 0;
    for (const char* a = allowed;; a++, number++) {
      size_t bytes = strcspn(a, "|");
      if (bytes == length && !memcmp(a, word, length)) bit = 1u << number;
      if (bytes == 1 && *a == '0') zero = 1u << number;
      a += bytes;
      if (!*a) break;
    }
    if (!bit) return fail(error, "'%.*s' is not one of %s", static_cast<int>(length), word, allowed);
    set.bits |= bit;
    word += length;
    if (!*word) break;
  }
  if (set.bits & zero && set.bits != zero) return fail(error, "'%s': 0 excludes the others", text);
  set.bits &= ~zero;
  out = set;
  return true;
}

bool parse_sampling(const char* text, Sampling& out, OptionError& error) {
  if (!strcmp(text, "0")) return out = {}, true;
  size_t length = strcspn(text, ":");
  bool native = length == 6 && !strncmp(text, "native", length);
  if (!native && (length != 6 || strncmp(text, "python", length)))
    return fail(error, "'%s' is not 0, python, native, python:HZ or native:HZ", text);
  i64 hz = kDefaultHz;
  if (text[length] && (!parse_whole(text + length + 1, hz) || hz < 1 || hz > kMaxHz))
    return fail(error, "'%s': HZ must be a whole number from 1 to %u", text, kMaxHz);
  out = {u32(hz), native};
  return true;
}

bool parse_ranks(const char* text, RankSet& out, OptionError& error) {
  RankSet set;
  for (const char* part = text;; part++) {
    char words[24] = {};
    size_t length = strcspn(part, ",");
    if (length < sizeof words) memcpy(words, part, length);
    char* dash = strchr(words, '-');
    if (dash) *dash = 0;
    i32 first = rank_number(words), last = dash ? rank_number(dash + 1) : first;
    if (first < 0 || last < first)
      return fail(error, "'%.*s' is not a rank or a range of ranks such as 8-15", static_cast<int>(length), part);
    if (set.count == RankSet::kMaxParts) return fail(error, "more than %u ranks and ranges", RankSet::kMaxParts);
    set.parts[set.count++] = {first, last};
    part += length;
    if (!*part) break;
  }
  out = set;
  return true;
}

bool parse_signal(const char* text, int& out, OptionError& error) {
  static const struct {
    const char* name;
    int number;
  } names[] = {{"none", 0},         {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP},
               {"WINCH", SIGWINCH}, {"URG", SIGURG},   {"IO", SIGIO},     {"PWR", SIGPWR}};
  const char* bare = strncmp(text, "SIG", 3) ? text : text + 3;
  for (const auto& n : names)
    if (!strcmp(n.name, bare)) return out = n.number, true;
  i64 number = 0;
  if (!strncmp(bare, "RTMIN+", 6) && parse_whole(bare + 6, number) && SIGRTMIN + number <= SIGRTMAX)
    return out = static_cast<int>(SIGRTMIN + number), true;
  return fail(error, "'%s' is not none, USR1, USR2, HUP, WINCH, URG, IO, PWR or RTMIN+N", text);
}

bool parse_bytes(const char* text, u64& out, OptionError& error) {
  char digits[32] = {};
  size_t n = strspn(text, "0123456789");
  i64 value = 0;
  int shift = 0;
  bool ok = n > 0 && n < sizeof digits;
  if (ok) {
    memcpy(digits, text, n);
    ok = parse_whole(digits, value);
    const char* unit = text + n;
    if (!strcmp(unit, "K"))
      shift = 10;
    else if (!strcmp(unit, "M"))
      shift = 20;
    else if (!strcmp(unit, "G"))
      shift = 30;
    else if (*unit)
      ok = false;
    ok = ok && value <= (i64(1) << 50 >> shift) && (u64(value) << shift) >= (u64(1) << 20);
  }
  if (!ok) return fail(error, "'%s' is not a size of at least 1M, such as 64M or 4G", text);
  out = u64(value) << shift;
  return true;
}

}  // namespace tprof
