#include "parquet/writer.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "base/file_modes.h"
#include "parquet/levels.h"
#include "parquet/thrift.h"

namespace tprof::parquet {
namespace {

static_assert(std::endian::native == std::endian::little, "plain values are written as they lie in memory");

constexpr char kMagic[] = "PAR1";
constexpr size_t kTextBytesOfGroup = 16 << 20;
constexpr size_t kLongestBound = 64;  // longer texts are no bounds: they would make the footer large

// Numbers of parquet.thrift.
constexpr int kDataPage = 0, kDictionaryPage = 2;
constexpr int kPlain = 0, kRle = 3, kRleDictionary = 8;
constexpr int kGzip = 2, kUtf8 = 0;
constexpr int kRequired = 0, kOptional = 1;
int number_of(Type type) { return type == Type::integer ? 2 : type == Type::real ? 5 : 6; }

template <class T>
std::string bytes_of(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string gzipped(std::string_view bytes) {
  constexpr int kGzipWindow = 15 + 16, kMemory = 8;
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
    throw Error(Fault::partial, "zlib has no memory");
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = uInt(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = uInt(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// A page with its header.
struct Page {
  std::string bytes;
  u64 uncompressed;  // with the header, too
};

Page page_of(int type, std::string_view content, size_t values, int encoding) {
  std::string packed = gzipped(content);
  ThriftWriter t;
  std::string header = t.document([&] {
    t.i32_field(1, type);
    t.i32_field(2, i64(content.size()));
    t.i32_field(3, i64(packed.size()));
    t.struct_field(type == kDataPage ? 5 : 7, [&] {
      t.i32_field(1, i64(values));
      t.i32_field(2, encoding);
      if (type != kDataPage) return;
      t.i32_field(3, kRle);  // definition levels
      t.i32_field(4, kRle);  // repetition levels, of which there are none
    });
  });
  return {header + packed, header.size() + content.size()};
}

// The least and the largest value of a chunk, as Parquet's plain encoding has them.
struct Bounds {
  std::string least, largest;
};

// What the footer says of a chunk.
struct ChunkFacts {
  u64 begin = 0, data_page = 0;  // offsets in the file
  u64 bytes = 0, uncompressed = 0, values = 0, nulls = 0;
  std::optional<Bounds> bounds;
};

}  // namespace

class Writer::Chunk {
 public:
  explicit Chunk(ColumnType column) : column(std::move(column)) {}

  void add(i64 value) {
    integers_.push_back(value);
    defined();
  }
  void add(double value) {
    reals_.push_back(value);
    defined();
  }
  // Returns how many bytes the text takes in the dictionary; 0: it has it already.
  size_t add(std::string_view text) {
    defined();
    auto at = index_.find(text);
    bool is_new = at == index_.end();
    if (is_new) at = index_.emplace(texts_.emplace_back(text), u32(index_.size())).first;
    indices_.push_back(at->second);
    return is_new ? text.size() + sizeof(u32) : 0;
  }
  void add_null() {
    levels_.push_back(0);
    nulls_++;
  }

  // Its pages, and what is known of them but where they lie; empties it.
  std::string take(ChunkFacts& facts) {
    facts.values = values_ + nulls_;
    facts.nulls = nulls_;
    facts.bounds = bounds();
    std::string out;
    if (column.type == Type::text) {
      Page page = page_of(kDictionaryPage, dictionary(), texts_.size(), kPlain);
      out = std::move(page.bytes);
      facts.uncompressed += page.uncompressed;
    }
    facts.data_page = out.size();
    Page page = page_of(kDataPage, content(), values_ + nulls_, column.type == Type::text ? kRleDictionary : kPlain);
    out += page.bytes;
    facts.uncompressed += page.uncompressed;
    facts.bytes = out.size();
    *this = Chunk(std::move(column));
    return out;
  }

  ColumnType column;

 private:
  void defined() {
    values_++;
    if (column.nullable) levels_.push_back(1);
  }

  std::string dictionary() const {
    std::string out;
    for (const std::string& text : texts_) out += bytes_of(u32(text.size())) + text;
    return out;
  }

  std::string content() const {
    std::string out;
    if (column.nullable) {
      std::string levels = encode_levels(levels_, 1);
      out = bytes_of(u32(levels.size())) + levels;
    }
    if (column.type == Type::text) {
      u32 bits = bits_for(texts_.size());
      out += char(bits);
      out += encode_levels(indices_, bits);
    }
    out.append(reinterpret_cast<const char*>(integers_.data()), integers_.size() * sizeof(i64));
    out.append(reinterpret_cast<const char*>(reals_.data()), reals_.size() * sizeof(double));
    return out;
  }

  std::optional<Bounds> bounds() const {
    if (!values_) return {};
    if (column.type == Type::integer) {
      auto [least, largest] = std::minmax_element(integers_.begin(), integers_.end());
      return Bounds{bytes_of(*least), bytes_of(*largest)};
    }
    if (column.type == Type::real) {
      if (std::any_of(reals_.begin(), reals_.end(), [](double x) { return std::isnan(x); })) return {};
      auto [least, largest] = std::minmax_element(reals_.begin(), reals_.end());
      // The format asks for these signs of zero.
      return Bounds{bytes_of(*least == 0 ? -0.0 : *least), bytes_of(*largest == 0 ? 0.0 : *largest)};
    }
    auto [least, largest] = std::minmax_element(texts_.begin(), texts_.end());
    if (std::max(least->size(), largest->size()) > kLongestBound) return {};
    return Bounds{*least, *largest};
  }

  std::vector<u32> levels_;  // of a nullable column: 1 there is a value, 0 null
  std::vector<i64> integers_;
  std::vector<double> reals_;
  std::vector<u32> indices_;       // into texts_
  std::deque<std::string> texts_;  // the dictionary; texts do not move
  std::unordered_map<std::string_view, u32> index_;
  u64 values_ = 0, nulls_ = 0;  // values_: without nulls
};

struct Writer::Group {
  u64 rows = 0;
  std::vector<ChunkFacts> chunks;
};

Writer::Writer(const std::string& path, const std::vector<ColumnType>& columns,
               std::vector<std::pair<std::string, std::string>> facts, size_t rows_of_group)
    : path_(path), facts_(std::move(facts)), rows_of_group_(rows_of_group) {
  fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kUmaskMode);
  if (fd_ < 0) throw Error(Fault::partial, path + ": cannot be created: " + strerror(errno));
  for (const ColumnType& column : columns) chunks_.push_back(std::make_unique<Chunk>(column));
  write(kMagic);
}

Writer::~Writer() {
  if (fd_ >= 0) close(fd_);
}

void Writer::put(i64 value) { chunks_[column_++]->add(value); }
void Writer::put(double value) { chunks_[column_++]->add(value); }
void Writer::put(std::string_view text) { text_bytes_ += chunks_[column_++]->add(text); }
void Writer::put_null() { chunks_[column_++]->add_null(); }

void Writer::end_row() {
  column_ = 0;
  rows_++;
  if (++rows_here_ == rows_of_group_ || text_bytes_ > kTextBytesOfGroup) flush_group();
}

void Writer::flush_group() {
  if (!rows_here_) return;
  Group& group = groups_.emplace_back();
  group.rows = rows_here_;
  for (auto& chunk : chunks_) {
    ChunkFacts& facts = group.chunks.emplace_back();
    std::string bytes = chunk->take(facts);
    facts.begin = written_;
    facts.data_page += written_;
    write(bytes);
  }
  rows_here_ = text_bytes_ = 0;
}

void Writer::write(std::string_view bytes) {
  written_ += bytes.size();
  while (!bytes.empty()) {
    ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error(Fault::partial, path_ + ": cannot be written: " + strerror(errno));
    bytes.remove_prefix(size_t(n));
  }
}

void Writer::finish() {
  flush_group();
  ThriftWriter t;
  auto element = [&](const Chunk& chunk) {
    bool text = chunk.column.type == Type::text;
    t.i32_field(1, number_of(chunk.column.type));
    t.i32_field(3, chunk.column.nullable ? kOptional : kRequired);
    t.text_field(4, chunk.column.name);
    if (!text) return;
    t.i32_field(6, kUtf8);  // as older readers know it
    t.struct_field(10, [&] { t.struct_field(1, [] {}); });
  };
  auto statistics = [&](const ChunkFacts& facts) {
    t.i64_field(3, i64(facts.nulls));
    if (!facts.bounds) return;
    t.text_field(5, facts.bounds->largest);
    t.text_field(6, facts.bounds->least);
  };
  auto chunk_of = [&](const ChunkFacts& facts, const ColumnType& column) {
    bool text = column.type == Type::text;
    t.i64_field(2, i64(facts.begin));
    t.struct_field(3, [&] {
      t.i32_field(1, number_of(column.type));
      t.i32_list(2, text ? std::vector<i64>{kPlain, kRle, kRleDictionary} : std::vector<i64>{kPlain, kRle});
      t.text_list(3, {column.name});
      t.i32_field(4, kGzip);
      t.i64_field(5, i64(facts.values));
      t.i64_field(6, i64(facts.uncompressed));
      t.i64_field(7, i64(facts.bytes));
      t.i64_field(9, i64(facts.data_page));
      if (text) t.i64_field(11, i64(facts.begin));
      t.struct_field(12, [&] { statistics(facts); });
    });
  };
  std::string footer = t.document([&] {
    t.i32_field(1, 1);
    std::vector<const Chunk*> elements = {nullptr};  // the table itself, then its columns
    for (const auto& chunk : chunks_) elements.push_back(chunk.get());
    t.struct_list(2, elements, [&](const Chunk* chunk) {
      if (chunk) return element(*chunk);
      t.text_field(4, "schema");
      t.i32_field(5, i64(chunks_.size()));
    });
    t.i64_field(3, i64(rows_));
    t.struct_list(4, groups_, [&](const Group& group) {
      u64 bytes = 0, uncompressed = 0;
      for (const ChunkFacts& facts : group.chunks) bytes += facts.bytes, uncompressed += facts.uncompressed;
      size_t i = 0;
      t.struct_list(1, group.chunks, [&](const ChunkFacts& facts) { chunk_of(facts, chunks_[i++]->column); });
      t.i64_field(2, i64(uncompressed));
      t.i64_field(3, i64(group.rows));
      t.i64_field(5, i64(group.chunks[0].begin));
      t.i64_field(6, i64(bytes));
    });
    t.struct_list(5, facts_, [&](const auto& fact) {
      t.text_field(1, fact.first);
      t.text_field(2, fact.second);
    });
    t.text_field(6, "tprof version " TPROF_VERSION);
    t.struct_list(7, chunks_, [&](const auto&) { t.struct_field(1, [] {}); });  // bounds are in the types' order
  });
  write(footer + bytes_of(u32(footer.size())) + kMagic);
  if (int fd = std::exchange(fd_, -1); close(fd) != 0)
    throw Error(Fault::partial, path_ + ": cannot be written: " + strerror(errno));
}

}  // namespace tprof::parquet
