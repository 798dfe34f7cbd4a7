#include "kineto/write/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "kineto/names.h"
#include "kineto/read/scan.h"
#include "kineto/read/values.h"
#include "kineto/write/lines.h"
#include "kineto/write/members.h"
#include "kineto/write/merge_ids.h"
#include "kineto/write/output.h"

namespace tprof::kineto {
namespace {

// What is done with a member of an event.
enum class Change { process, thread, time, id, optional_id, args };  // optional: 0 means none

struct MemberRow {
  std::string_view key;
  Change change;
};
constexpr MemberRow kEventMembers[] = {{"pid", Change::process}, {"tid", Change::thread}, {"ts", Change::time},
                                       {"id", Change::id},       {"sf", Change::id},      {"args", Change::args}};
constexpr MemberRow kArgs[] = {{kExternalId, Change::optional_id},
                               {kLegacyExternalId, Change::optional_id},
                               {kCorrelation, Change::optional_id},
                               {kKernelCorrelation, Change::optional_id},
                               {"Record function id", Change::optional_id},
                               {"wait_on_cuda_event_record_corr_id", Change::optional_id},
                               {"Ev Idx", Change::id},
                               {"Profiler Event Index", Change::id},
                               {kSequenceNumber, Change::id},
                               {kPythonId, Change::id},
                               {kPythonParentId, Change::id}};

// The text that precedes `end`, for a file that is put together at the end of another.
class Spill {
 public:
  Spill() : file_(tmpfile()) {
    if (!file_) throw Error(Fault::partial, std::string("no temporary file: ") + strerror(errno));
  }
  void put(std::string_view text) {
    if (fwrite(text.data(), 1, text.size(), file_.get()) != text.size())
      throw Error(Fault::partial, std::string("a temporary file cannot be written: ") + strerror(errno));
    empty_ = false;
  }
  bool empty() const { return empty_; }
  void copy_to(OutputFile& out) {
    rewind(file_.get());
    char block[1 << 16];
    while (size_t n = fread(block, 1, sizeof block, file_.get())) out.put({block, n});
  }

 private:
  struct Close {
    void operator()(FILE* file) const { fclose(file); }
  };
  std::unique_ptr<FILE, Close> file_;
  bool empty_ = true;
};

class Merger {
 public:
  Merger(const std::vector<MergePart>& parts, const std::string& path, bool gzip)
      : parts_(parts), path_(path), out_(path, gzip), base_ns_(INT64_MAX) {
    for (const MergePart& part : parts) base_ns_ = std::min(base_ns_, part.base_ns + part.begin_ns + part.shift_ns);
    if (parts.empty()) base_ns_ = 0;
  }

  MergeResult run(const Json& about) {
    put_header(about);
    for (const MergePart& part : parts_) {
      part_ = &part;
      delta_ns_ = part.base_ns + part.shift_ns - base_ns_;
      ids_.next_part();
      put_process();
      copy_part();
    }
    put_tail();
    out_.finish();
    return result_;
  }

 private:
  void put_member(const char* key, const Json& value) {
    out_.put(std::string("  \"") + key + "\": " + json_ascii_spaced(value) + ",\n");
  }

  void put_header(const Json& about) {
    out_.put("{\n");
    put_member(kSchemaVersion, 1);
    put_member(kDeviceProperties, devices());
    put_member(kDisplayTimeUnit, "ms");
    put_member(kBaseTime, base_ns_);
    put_member(kMerge, about);
    out_.put("  \"traceEvents\": [");
  }

  // Every device of any trace, each once. In a trace they stand before the events.
  Json devices() const {
    Json out = Json::array();
    for (const MergePart& part : parts_) {
      TraceScanner scanner(part.path, 64 << 10);
      for (Piece piece; scanner.next(piece) && !piece.event;) {
        if (piece.key != kDeviceProperties) continue;
        for (const Json& device : bounded_json(piece.text))
          if (!out.has(device)) out.push_back(device);
      }
    }
    return out;
  }

  void begin_event() {
    out_.put(first_ ? "\n" : ",\n");
    first_ = false;
  }

  void put_metadata(const char* name, i64 pid, const Json& args) {
    begin_event();
    out_.put(json_ascii_spaced({{"ph", "M"}, {"name", name}, {"ts", 0}, {"pid", pid}, {"tid", 0}, {"args", args}}));
  }

  void put_process() {
    i64 pid = process(std::to_string(part_->pid));
    put_metadata("process_name", pid, {{"name", part_->name}});
    put_metadata("process_labels", pid, {{"labels", part_->label.empty() ? "CPU" : "CPU, " + part_->label}});
    put_metadata("process_sort_index", pid, {{"sort_index", part_->track * kRowsOfTrack}});
  }

  // A number in quotes, as torch 1.8 and 1.9 wrote them, and "stream 7"; another text as it is.
  static std::string_view number_in(std::string_view text) {
    std::string_view inner = text.size() > 2 && text.starts_with('"') ? text.substr(1, text.size() - 2) : text;
    if (inner.starts_with(kStreamRow)) inner.remove_prefix(kStreamRow.size());
    i64 number;
    return to_integer(inner, number) ? inner : text;
  }

  // A text stands for the row of the profiler ("Spans") or for none.
  i64 process(std::string_view value) {
    std::string_view text = number_in(value);
    if (text == "\"\"") return rows_(part_->track, 0, std::to_string(part_->pid));
    if (text.starts_with('"')) return rows_(part_->track, 0, std::to_string(kSpansRow));
    return rows_(part_->track, 0, text);
  }

  void copy_part() {
    TraceScanner scanner(part_->path);
    for (Piece piece; scanner.next(piece);) {
      if (piece.event)
        copy_event(piece.text);
      else if (piece.key == kStackFrames)
        copy_frames(piece.text);
      else if (piece.key == kSamples)
        copy_samples(piece.text);
      else if (piece.key == kLedger)
        add_dropped(bounded_json(piece.text));
    }
    if (scanner.end() != ScanEnd::whole) throw Error(Fault::unreadable, part_->path + ": " + scanner.why());
  }

  void copy_event(std::string_view text) {
    if (is_process_metadata(text)) return;
    std::string& line = line_;
    line.clear();
    i64 pid = 0;
    for (Members m(text); m.next();)  // a thread's number depends on it, whichever comes first
      if (m.key() == "pid") pid = process(m.value());
    if (!change(text, kEventMembers, pid, line)) {
      result_.left_out++;
      return;
    }
    begin_event();
    out_.put(line);
    result_.events++;
  }

  // Appends the object with its members changed; false if it is no object.
  template <size_t rows>
  bool change(std::string_view text, const MemberRow (&table)[rows], i64 pid, std::string& line) {
    size_t copied = 0;
    Members m(text);
    while (m.next()) {
      for (const MemberRow& row : table) {
        if (row.key != m.key()) continue;
        size_t at = size_t(m.value().data() - text.data());
        line.append(text, copied, at - copied);
        copied = at + m.value().size();
        if (!put_changed(row.change, m.value(), pid, line)) return false;
        break;
      }
    }
    line.append(text, copied);
    return m.good();
  }

  bool put_changed(Change how, std::string_view value, i64 pid, std::string& line) {
    i64 number;
    switch (how) {
      case Change::process: line += std::to_string(pid); return true;
      case Change::thread:
        value = number_in(value);
        line += std::to_string(value.starts_with('"') ? 0 : threads_(part_->track, pid, value));
        return true;
      case Change::time: {
        bool quoted = value.size() > 2 && value.front() == '"' && value.back() == '"';
        std::optional<i64> ns = ns_of_text(quoted ? value.substr(1, value.size() - 2) : value);
        if (ns) put_us(*ns + delta_ns_, line);
        return ns.has_value();
      }
      case Change::id:
      case Change::optional_id:
        if (to_integer(value, number))
          line += std::to_string(number == 0 && how == Change::optional_id ? 0 : ids_(number));
        else if (value.size() > 2 && value[0] == '"')
          put_text_id(value.substr(1, value.size() - 2), line);
        else
          line += value;
        return true;
      case Change::args:
        if (value.starts_with('{')) return change(value, kArgs, pid, line);
        line += value;
        return true;
    }
    return false;
  }

  // Numbers in quotes stay numbers in quotes.
  void put_text_id(std::string_view id, std::string& line) {
    i64 number;
    line += '"';
    if (to_integer(id, number))
      line += std::to_string(ids_(number));
    else
      line += std::to_string(part_ - parts_.data()) + ":" + std::string(id);
    line += '"';
  }

  static void put_us(i64 ns, std::string& line) {
    char text[40];
    i64 size = llabs(ns);
    snprintf(text, sizeof text, "%s%lld.%03d", ns < 0 ? "-" : "", static_cast<long long>(size / 1000),
             int(size % 1000));
    line += text;
  }

  // The names of processes are those of the tracks. Those of the process itself were written already.
  bool is_process_metadata(std::string_view text) {
    constexpr std::string_view kStart = "process_";
    if (!memmem(text.data(), text.size(), kStart.data(), kStart.size())) return false;
    const Json event = bounded_json(text);
    if (event["ph"] != "M" || !event.contains("pid")) return false;
    const Json &name = event["name"], &args = event["args"];
    if (name != "process_name" && name != "process_labels" && name != "process_sort_index") return false;
    std::string old = json_ascii(event["pid"]);
    if (old == std::to_string(part_->pid)) return true;
    i64 pid = process(old), number = 0;
    bool device = to_integer(old, number) && number >= 0 && number < kDevices;
    if (name == "process_name") {
      std::string what = args.value("name", old.c_str());
      put_metadata("process_name", pid, {{"name", part_->name + ": " + (device ? "GPU " + old : what)}});
    } else if (name == "process_labels") {
      put_metadata("process_labels", pid, args);
    } else {
      i64 place = device ? 1 + number : kRowsOfTrack - 1;
      put_metadata("process_sort_index", pid, {{"sort_index", part_->track * kRowsOfTrack + place}});
    }
    return true;
  }

  void copy_frames(std::string_view text) {
    static constexpr MemberRow kFrame[] = {{"parent", Change::id}};
    for (Members m(text); m.next();) {
      std::string line = frames_.empty() ? "\n" : ",\n";
      put_text_id(m.key(), line);
      line += ": ";
      if (change(m.value(), kFrame, 0, line)) frames_.put(line);
    }
  }

  void copy_samples(std::string_view text) {
    static constexpr MemberRow kSample[] = {{"tid", Change::thread}, {"ts", Change::time}, {"sf", Change::id}};
    i64 pid = process(std::to_string(part_->pid));
    size_t at = 1;
    while ((at = text.find('{', at)) != text.npos) {
      std::string_view rest = text.substr(at);
      Members m(rest);
      while (m.next()) {
      }
      size_t size = rest.find('}', m.value().empty() ? 0 : size_t(m.value().data() + m.value().size() - rest.data()));
      if (!m.good() || size == rest.npos) return;
      std::string line = samples_.empty() ? "\n" : ",\n";
      if (change(rest.substr(0, size + 1), kSample, pid, line)) samples_.put(line);
      at += size + 1;
    }
  }

  void add_dropped(const Json& ledger) {
    for (const auto& [reason, count] : ledger["dropped"].items())
      if (count.is_natural()) dropped_[reason] += count.natural();
  }

  void put_tail() {
    out_.put("\n  ],\n");
    if (!frames_.empty()) {
      out_.put("  \"stackFrames\": {");
      frames_.copy_to(out_);
      out_.put("\n  },\n");
    }
    if (!samples_.empty()) {
      out_.put("  \"samples\": [");
      samples_.copy_to(out_);
      out_.put("\n  ],\n");
    }
    if (result_.left_out) dropped_["not_json"] += result_.left_out;
    u64 seen = result_.events;
    for (const auto& [reason, count] : dropped_) seen += count;
    put_member(kTraceName, path_);
    out_.put("  \"tprof\": " +
             json_ascii_spaced({{"schema", 1},
                                {"version", TPROF_VERSION},
                                {"seen", seen},
                                {"written", result_.events},
                                {"dropped", dropped_.empty() ? Json::object() : Json(dropped_)}}) +
             "\n}\n");
  }

  static constexpr i64 kRowsOfTrack = 1000;  // places in the order of rows
  static constexpr i64 kDevices = 64;        // processes with lower numbers are GPUs

  const std::vector<MergePart>& parts_;
  const std::string path_;
  OutputFile out_;
  i64 base_ns_;
  const MergePart* part_ = nullptr;
  i64 delta_ns_ = 0;  // between the times of the part and of the result
  MergeIds ids_;
  MergeRows rows_, threads_;
  Spill frames_, samples_;
  std::map<std::string, u64> dropped_;
  std::string line_;
  bool first_ = true;
  MergeResult result_;
};

}  // namespace

MergeResult merge_traces(const std::vector<MergePart>& parts, const Json& about, const std::string& path, bool gzip) {
  return Merger(parts, path, gzip).run(about);
}

}  // namespace tprof::kineto
