// The options of the user, as plain data. Parsed from the environment by the library (no malloc, no throw) and
// by the tool, from the one table in options.def.
#pragma once
#include "base/types.h"

namespace tprof {

// torch.profiler.schedule's numbers, all in steps and >= 0. `given` is false when everything from start to
// exit is to be recorded.
struct Schedule {
  bool given = false;
  i64 skip_first = 0;
  i64 wait = 0;
  i64 warmup = 0;
  i64 active = 0;
  i64 repeat = 0;                // 0: for ever
  bool skip_first_wait = false;  // true: no wait before the first window (torch: skip_first_wait=1)
};

enum class StepMode : u8 { automatic, optimizer, dataloader, backward, range, nvtx };

struct StepSource {
  StepMode mode = StepMode::automatic;
  bool given = false;      // false: the default
  i64 every = 1;           // backward:N
  char pattern[256] = {};  // range:REGEX and nvtx:REGEX, POSIX extended
};

// Opens and closes windows.
struct WindowSource {
  bool profiler_api = false;  // cudaProfilerStart and Stop, else the schedule
  i64 limit = 0;              // maximum number of windows, 0: no limit
};

// flight: what is kept of the newest data, by size or by time.
struct Mode {
  bool flight = false;
  u64 bytes = 0;    // 0: by time
  i64 seconds = 0;  // 0: by size
};
constexpr u64 kDefaultFlightBytes = 256ull << 20, kMinFlightBytes = 16ull << 20, kMaxFlightBytes = 4ull << 30;
// TPROF_MAX_SIZE is at least so many times as large: what is kept, two traces that are being written, and the rest.
constexpr u64 kFlightParts = 4;

// What asks for a trace beside the signal.
struct Triggers {
  bool given = false;
  double slow_step = 0;  // times the median, 0: off
  bool out_of_memory = false;
  u32 hang_seconds = 0;    // 0: off
  bool only_hang = false;  // nothing else is given
};

struct OptionText {
  char value[1024] = {};
  explicit operator bool() const { return value[0] != 0; }
};

// A command for the shell. Whoever runs it takes it from the environment; it may hold secrets, and is not recorded.
struct CommandText : OptionText {};

// A set of words: bit n stands for the n-th word of the row's METAVAR, words separated by |.
struct WordSet {
  u32 bits = 0;
  bool has(u32 bit) const { return bits & bit; }
};
// with_stack: 0|1|calls|native
enum StackWord : u32 { kStackOperators = 2, kStackCalls = 4, kStackNative = 8 };
// stack_on: launch|alloc|sync
enum StackOnWord : u32 { kStackOnLaunch = 1, kStackOnAlloc = 2, kStackOnSync = 4 };

// python:HZ or native:HZ
struct Sampling {
  u32 hz = 0;           // 0: off
  bool native = false;  // also the native frames
  explicit operator bool() const { return hz != 0; }
};
constexpr u32 kDefaultHz = 100, kMaxHz = 1000;

// Ranks of a job: all, or those of a list.
struct RankSet {
  static constexpr u32 kMaxParts = 64;
  struct Part {
    i32 first, last;
  } parts[kMaxParts];
  u32 count = 0;  // of parts; 0: all ranks
  bool has(i32 rank) const {
    for (u32 i = 0; i < count; i++)
      if (parts[i].first <= rank && rank <= parts[i].last) return true;
    return count == 0;
  }
};

// What is wrong, in one line: the variable, its value, and the remedy.
struct OptionError {
  char text[640] = {};
  explicit operator bool() const { return text[0] != 0; }
};

// One member per row of options.def, with a type per kind.
struct Options {
  using flag_t = bool;
  using text_t = OptionText;
  using command_t = CommandText;
  using preset_t = OptionText;
  using words_t = WordSet;
  using schedule_t = Schedule;
  using steps_t = OptionText;  // folded into `schedule` once parsed
  using step_source_t = StepSource;
  using window_t = WindowSource;
  using mode_t = Mode;
  using trigger_t = Triggers;
  using sampling_t = Sampling;
  using ranks_t = RankSet;
  using signal_t = int;  // 0: none
  using bytes_t = u64;
  using seconds_t = double;

#define OPTION(field, kind, env, flag, metavar, fallback, help) kind##_t field{};
#include "base/options.def"
#undef OPTION
};

struct OptionRow {
  const char* field;
  const char* kind;
  const char* env;  // with the TPROF_ prefix
  const char* flag;
  const char* metavar;
  const char* fallback;
  const char* help;
};
extern const OptionRow kOptionRows[];
extern const int kOptionRowCount;

// Fills `options` from the environment. Returns false and one line in `error` at the first bad value; the options of
// the rows after it then have their defaults.
bool parse_options(Options& options, OptionError& error);

// The effective value of a row, in the form of its environment variable; it differs from that variable where a preset
// sets it, and of a command it is "set". `buffer` may hold the text that is returned.
const char* option_value(const Options& options, int row, char (&buffer)[256]);

// The parsers of single options, for tests and for the tool.
bool parse_schedule(const char* text, Schedule& out, OptionError& error);
bool parse_steps(const char* text, Schedule& out, OptionError& error);
bool parse_step_source(const char* text, StepSource& out, OptionError& error);
bool parse_window(const char* text, WindowSource& out, OptionError& error);
bool parse_mode(const char* text, Mode& out, OptionError& error);
bool parse_triggers(const char* text, Triggers& out, OptionError& error);
bool parse_sampling(const char* text, Sampling& out, OptionError& error);
bool parse_ranks(const char* text, RankSet& out, OptionError& error);
bool parse_signal(const char* text, int& out, OptionError& error);
// `allowed`: the row's METAVAR. A 0 excludes other words.
bool parse_words(const char* text, const char* allowed, WordSet& out, OptionError& error);
bool parse_bytes(const char* text, u64& out, OptionError& error);

}  // namespace tprof
