// Session, continued: triggers, which ask for a trace before its time. In flight mode the ring is written. With a
// schedule, a window that is open is written as far as it is; if none is, the next step opens one, beside those of the
// schedule.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "collect/recorder/recorder.h"
#include "collect/session/collector.h"
#include "collect/session/control_file.h"
#include "collect/session/helper.h"
#include "collect/session/session.h"
#include "record/trigger_file.h"

namespace tprof {
namespace {

// Triggers that come sooner after the last one, or while so many rings are not written yet, are refused and counted.
constexpr u64 kLeastBetween_ns = 1'000'000'000;         // asked for by somebody
constexpr u64 kLeastBetweenByRule_ns = 60'000'000'000;  // asked for by a rule, which may fire at each step
constexpr u32 kMaxUnwritten = 2;
static_assert(kMaxUnwritten + 2 == kFlightParts);  // the ring, and what it holds too much for a moment
constexpr u64 kLookEvery_ns = 50'000'000;
constexpr u64 kMeetWithin_ns = 3'000'000'000;  // an appointment about a second ahead is not kept for longer

bool is_rule(TriggerWhy why) {
  return why == TriggerWhy::slow_step || why == TriggerWhy::out_of_memory || why == TriggerWhy::hang;
}

}  // namespace

// What this process is told in TPROF_TRIGGER needs a recording and the helper thread from now on.
void Session::listen() {
  if (!options_.trigger.given || !leads() || !open_recording()) return;
  listening_.store(true);
  helper_start();
}

void Session::ask(const Asked& asked) {
  SpinGuard guard(lock_);
  if (!live() || !leads() || !g_writer.is_open()) return;
  if (has_asked_) {
    g_writer.header()->refused_triggers.fetch_add(1);
    return;
  }
  asked_ = asked;
  has_asked_.store(true);
  helper_wake();
}

bool Session::ask_by_signal() {
  bool steps_count = level_ != Level::none;
  if (!live() || !leads() || !options_.schedule.given || !steps_count) return false;
  signal_asked_.store(true);
  return true;
}

void Session::triggered(const Asked& asked) {
  bool flush;
  {
    SpinGuard guard(lock_);
    if (!live()) return;
    flush = windows_.current() && !ring_.is_on();
    bool hangs = asked.why == TriggerWhy::hang;
    if (flush && is_rule(asked.why) && !hangs) return;  // the trace of the window will show it
    if (!flush && !may_trigger(asked.why)) return;
    // In a hang no rank comes to a later step, and each sees it for itself.
    if (!flush && (hangs || !is_in_job())) return carry_out(asked, now_ticks());
  }
  flush ? write_flush() : make_appointment(asked);
}

// Under the lock.
void Session::carry_out(const Asked& asked, u64 ticks) {
  if (ring_.is_on()) return cut_ring(asked, ticks);
  asked_window_ = asked;
  window_asked_ = !windows_.current();
}

// ---------------------------------------------------------------- ranks of one job

// Tells the other ranks of a step that is about a second ahead.
void Session::make_appointment(const Asked& asked) {
  RankRequest request{family_.place().rank, 0, asked.steps, clock_ns(CLOCK_REALTIME)};
  {
    SpinGuard guard(lock_);
    if (appointment_.step >= 0) {  // the trace that it asks for will show this, too
      if (FileHeader* h = g_writer.header()) h->refused_triggers.fetch_add(1);
      return;
    }
    request.step = detector_.number() + 2 + steps_a_second_;
    appointment_ = {request.step, clock_ns(CLOCK_MONOTONIC), asked};
    rank_request_ns_ = request.at_ns;
  }
  write_rank_request(family_.logdir(), request);
}

// The step that was named begins, or a later one.
void Session::meet(i64 number, u64 ticks) {
  if (appointment_.step < 0 || number < appointment_.step) return;
  appointment_.step = -1;
  carry_out(appointment_.asked, ticks);
}

// What another rank was asked for. A step that does not come is not waited for.
void Session::look_for_ranks(u64 ns) {
  RankRequest request;
  const char* why_not = nullptr;
  bool there = read_rank_request(family_.logdir(), request, why_not) == Request::taken;
  SpinGuard guard(lock_);
  if (!live()) return;
  i64 number = detector_.number();
  if (ns - rate_ns_ >= 1'000'000'000) {
    steps_a_second_ = rate_ns_ ? std::max<i64>(number - rate_number_, 0) : 0;  // counting may have restarted
    rate_number_ = number;
    rate_ns_ = ns;
  }
  if (appointment_.step >= 0 && ns - appointment_.since_ns > kMeetWithin_ns) meet(appointment_.step, now_ticks());
  bool news = there && request.at_ns != rank_request_ns_;
  if (there) rank_request_ns_ = request.at_ns;
  if (!std::exchange(knows_ranks_, true) || !news || request.rank == family_.place().rank) return;
  if (!may_trigger(TriggerWhy::rank)) return;
  bool past = number >= request.step;
  Asked asked{TriggerWhy::rank, request.steps, {u64(request.rank), u64(request.step) | (past ? kStepWasPast : 0)}};
  appointment_ = {past ? number : request.step, ns, asked};
  if (past) meet(number, now_ticks());
}

// ---------------------------------------------------------------- who asks

// What other threads asked for, and the file of `tprof trigger`.
void Session::look_for_requests() {
  if (has_asked_) {
    Asked asked = asked_;
    has_asked_.store(false);
    triggered(asked);
  }
  u64 ns = clock_ns(CLOCK_MONOTONIC);
  if ((!ring_.is_on() && !listening_) || ns - looked_ns_ < kLookEvery_ns) return;
  looked_ns_ = ns;
  FileHeader* h = g_writer.header();
  if (u64 hang = h ? h->hang.exchange(0) : 0) triggered({TriggerWhy::hang, 0, {hang >> 1, hang & 1}});
  if (is_in_job()) look_for_ranks(ns);
  i64 steps = 0;
  const char* why_not = nullptr;
  Request request = take_request(g_writer.path(), steps, why_not);
  if (request == Request::taken) triggered({TriggerWhy::file, steps});
  if (request != Request::refused || said_no_request_) return;
  said_no_request_ = true;
  if (speaks_) say("%s%s is left alone: %s", g_writer.path(), kTriggerSuffix, why_not);
}

// Whether a trigger is taken now. Under the lock.
bool Session::may_trigger(TriggerWhy why) {
  FileHeader* h = g_writer.header();
  u64 ns = clock_ns(CLOCK_MONOTONIC);
  bool paces_itself = why == TriggerWhy::hang;  // see hang::Stillness
  u64 least = is_rule(why) && !paces_itself ? kLeastBetweenByRule_ns : kLeastBetween_ns;
  bool soon = last_trigger_ns_ && ns - last_trigger_ns_ < least;
  if (h) ring_.kept_epoch(h->given_back.load(std::memory_order_acquire));  // learns what is written
  bool full = ring_.pinned() >= kMaxUnwritten;
  if (soon && why == TriggerWhy::rank) return false;  // this rank was asked by itself, or by two others
  if (!soon && !full) {
    last_trigger_ns_ = ns;
    said_refused_ = false;
    return true;
  }
  if (h) h->refused_triggers.fetch_add(1);
  if (h && full && h->unfinished.load() == 0) h->unfinished.fetch_add(1);  // writing failed: it is tried again
  if (speaks_ && !said_refused_ && !is_rule(why))
    say(full ? "this trigger is left out and counted: the traces of the last two are still being written"
             : "this trigger is left out and counted: the last one was less than a second ago");
  said_refused_ = true;
  return false;
}

// The window that is open is written for this reason.
void Session::note_trigger(const Asked& asked, u64 ticks) {
  if (!windows_.current()) return;
  TriggerRecord record{{}, ticks, u32(asked.why), 0, asked.steps, {asked.detail[0], asked.detail[1]}, 0, 0};
  record.first_step = g_writer.header()->ring_first_step.load(std::memory_order_relaxed);
  record.ended_step = detector_.number() - !step_.ended;
  g_writer.add_trigger(u32(windows_.number()), record);
}

// Flight mode: tprof_start() or tprof_stop() ends the window.
void Session::note_hand(u64 ticks) {
  if (ring_.is_on()) note_trigger({TriggerWhy::hand}, ticks);
}

// Whether a trigger asks for a window from this step on, where the schedule wants none. It ends where the schedule's
// next one begins; those come one number later then.
bool Session::plan_extra(i64 number) {
  if (signal_asked_.exchange(false) && !window_asked_ && !windows_.current() && may_trigger(TriggerWhy::signal)) {
    asked_window_ = {TriggerWhy::signal};
    window_asked_ = true;
  }
  if (!window_asked_ || windows_.current() || !options_.schedule.given) return false;
  window_asked_ = false;
  i64 end = number, most = number + (asked_window_.steps ? asked_window_.steps : options_.schedule.active);
  while (end < most && !records(plan_of(options_.schedule, end - first_number_).phase)) end++;
  if (end == number) return false;
  extra_ = {windows_.next(), number, end};
  window_base_++;
  return true;
}

// The step before has its end now.
void Session::judge_step() {
  const OpenStep& step = previous_step_;
  i64 number = detector_.number() - 1;
  if (!slow_steps_.is_on() || number < 0 || step.evaluates || !leads()) return;
  double times = slow_steps_.add((step.ended ? step.end : step_.ticks) - step.ticks);
  if (times == 0 || has_asked_) return;
  asked_ = {TriggerWhy::slow_step, 0, {u64(number), u64(times * 1000)}};
  has_asked_.store(true);
  helper_wake();
}

void Session::write_flush() {
  FileHeader* h = g_writer.header();
  if (!h) return;
  tell_collectors(&Collector::flush);
  u64 ticks = now_ticks();
  g_writer.add_clock(read_clocks());  // timestamps before it convert the same way now and later
  g_writer.add_flush(++flushes_, ticks);
  h->unfinished.fetch_add(1, std::memory_order_release);
}

}  // namespace tprof
