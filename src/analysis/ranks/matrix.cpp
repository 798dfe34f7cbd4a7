#include "analysis/ranks/matrix.h"

#include <algorithm>
#include <map>

namespace tprof {
namespace {

// How the data of an operator gets around; `bytes` of a call are the larger of its input and output.
enum class Way {
  none,
  to_each_part,
  twice_to_each_part,
  root_to_all,
  root_to_each_part,
  all_to_root,
  each_part_to_root,
  send,
  receive
};

// WAY(part of the name, way), the first that fits
struct WayRow {
  const char* word;
  Way way;
};
constexpr WayRow kWays[] = {
    {"allreduce", Way::twice_to_each_part},
    {"reducescatter", Way::to_each_part},
    {"allgather", Way::to_each_part},
    {"alltoall", Way::to_each_part},
    {"broadcast", Way::root_to_all},
    {"barrier", Way::none},
    {"scatter", Way::root_to_each_part},
    {"gather", Way::each_part_to_root},
    {"reduce", Way::all_to_root},
    {"recv", Way::receive},
    {"send", Way::send},
};

const WayRow* way_of(const std::string& op) {
  std::string name = plain_name(op);
  for (const WayRow& row : kWays)
    if (name.find(row.word) != name.npos) return &row;
  return nullptr;
}

class MatrixMaker {
 public:
  explicit MatrixMaker(const std::vector<Rank>& ranks) : ranks_(ranks) {}

  CommunicationMatrix run() {
    for (const MatchedCalls& calls : match_calls(ranks_)) {
      const WayRow* row = way_of(calls.op);
      if (row && row->way == Way::none) continue;
      if (row && (row->way == Way::send || row->way == Way::receive))
        add_pairs(calls, row->way);
      else if (!row || !add_collective(calls, row->way))
        out_.unknown++;
    }
    for (const auto& [pair, transfer] : found_) out_.transfers.push_back(transfer);
    return std::move(out_);
  }

 private:
  void add(i32 from, i32 to, i64 bytes) {
    Transfer& transfer = found_.try_emplace({from, to}, Transfer{from, to}).first->second;
    transfer.calls++;
    transfer.bytes += bytes;
  }

  // A receiver's call counts only where the sender's trace is not here.
  void add_pairs(const MatchedCalls& calls, Way way) {
    for (const MatchedCall& m : calls.members) {
      i32 own = ranks_[m.rank].number, peer = peer_of(*m.call);
      if (way == Way::receive && peer < 0 && calls.complete) continue;  // from any source, whose send is here
      if (own < 0 || peer < 0 || m.call->bytes < 0) {
        out_.unknown++;
        continue;
      }
      bool here = std::any_of(ranks_.begin(), ranks_.end(), [&](const Rank& r) { return r.number == peer; });
      if (way == Way::send) add(own, peer, m.call->bytes);
      if (way == Way::receive && !here) add(peer, own, m.call->bytes);
    }
  }

  bool add_collective(const MatchedCalls& calls, Way way) {
    const CollectiveCall& first = *calls.members[0].call;
    i64 bytes = first.bytes;
    for (const MatchedCall& m : calls.members) bytes = std::max(bytes, m.call->bytes);  // only the root has all parts
    std::vector<i32> members = group_members(first);
    if (members.empty())
      for (const MatchedCall& m : calls.members) members.push_back(ranks_[m.rank].number);
    bool whole = first.ranks < 0 ? calls.complete : members.size() == size_t(first.ranks);
    if (bytes < 0 || !whole || std::any_of(members.begin(), members.end(), [](i32 n) { return n < 0; })) return false;
    auto n = i64(members.size());
    bool from_root = way == Way::root_to_all || way == Way::root_to_each_part;
    if (from_root || way == Way::all_to_root || way == Way::each_part_to_root) {
      i32 root = peer_of(first);
      if (root < 0) return false;
      i64 each = way == Way::root_to_each_part || way == Way::each_part_to_root ? bytes / n : bytes;
      for (i32 other : members)
        if (other != root) from_root ? add(root, other, each) : add(other, root, each);
      return true;
    }
    for (i32 from : members)
      for (i32 to : members)
        if (from != to) add(from, to, (way == Way::twice_to_each_part ? 2 : 1) * bytes / n);
    return true;
  }

  const std::vector<Rank>& ranks_;
  std::map<std::pair<i32, i32>, Transfer> found_;
  CommunicationMatrix out_;
};

}  // namespace

CommunicationMatrix communication_matrix(const std::vector<Rank>& ranks) { return MatrixMaker(ranks).run(); }

}  // namespace tprof
