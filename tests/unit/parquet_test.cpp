// Levels are read back by a decoder that follows Parquet's Encodings.md alone; whole files are read by three engines in
// run/test_export_tables.py.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <random>

#include "base/error.h"
#include "parquet/levels.h"
#include "parquet/thrift.h"
#include "parquet/writer.h"

namespace tprof::parquet {
namespace {

class Decoder {
 public:
  Decoder(std::string bytes, u32 bits) : bytes_(std::move(bytes)), bits_(bits) {}

  std::vector<u32> values(size_t count) {
    std::vector<u32> out;
    while (out.size() < count) {
      u64 header = varint();
      if (header & 1) {
        for (u64 i = 0; i < (header >> 1) * 8; i++) out.push_back(packed(i));
        at_ += (header >> 1) * bits_;
      } else {
        u32 value = 0;
        for (u32 i = 0; i < (bits_ + 7) / 8; i++) value |= u32(byte(at_ + i)) << 8 * i;
        at_ += (bits_ + 7) / 8;
        out.insert(out.end(), header >> 1, value);
      }
    }
    EXPECT_EQ(at_, bytes_.size());
    EXPECT_LT(out.size(), count + 8);
    out.resize(count);
    return out;
  }

 private:
  u32 byte(size_t i) const { return static_cast<unsigned char>(bytes_.at(i)); }
  u32 packed(u64 index) const {
    u32 out = 0;
    for (u32 b = 0; b < bits_; b++) {
      u64 bit = index * bits_ + b;
      out |= (byte(at_ + bit / 8) >> bit % 8 & 1) << b;
    }
    return out;
  }
  u64 varint() {
    u64 out = 0;
    for (u32 shift = 0;; shift += 7) {
      u32 one = byte(at_++);
      out |= u64(one & 0x7f) << shift;
      if (!(one & 0x80)) return out;
    }
  }

  const std::string bytes_;
  const u32 bits_;
  size_t at_ = 0;
};

TEST(Levels, AreReadBackWhateverTheyAre) {
  std::mt19937 random(1);
  for (u32 bits : {0, 1, 2, 7, 8, 9, 17, 31, 32})
    for (u32 longest : {1, 3, 8, 9, 100})
      for (size_t size : {0, 1, 7, 8, 9, 64, 1000}) {
        std::vector<u32> values;
        while (values.size() < size) {
          u32 value = bits ? u32(random()) >> (32 - bits) : 0;
          values.insert(values.end(), 1 + random() % longest, value);
        }
        values.resize(size);
        EXPECT_EQ(Decoder(encode_levels(values, bits), bits).values(size), values) << bits << " bits, " << size;
      }
}

TEST(Levels, ARunTakesAFewBytes) {
  EXPECT_LE(encode_levels(std::vector<u32>(1 << 17, 1), 1).size(), 4u);
  EXPECT_EQ(encode_levels(std::vector<u32>(100, 0), 0).size(), 2u);
}

TEST(Levels, BitsHoldTheLargestIndex) {
  EXPECT_EQ(bits_for(0), 0u);
  EXPECT_EQ(bits_for(1), 0u);
  EXPECT_EQ(bits_for(2), 1u);
  EXPECT_EQ(bits_for(256), 8u);
  EXPECT_EQ(bits_for(257), 9u);
}

TEST(Thrift, FieldsAreThoseOfTheCompactProtocol) {
  ThriftWriter t;
  std::string got = t.document([&] {
    t.i32_field(1, -1);  // one after the last: its difference and type in a byte, then zigzag
    t.struct_field(20, [&] { t.text_field(1, "ab"); });  // 16 ids and more apart: the id follows
    t.i32_list(21, {300});
    t.i32_list(22, std::vector<i64>(15, 0));  // 15 and more: the size follows
  });
  std::string list = std::string("\x19\xf5\x0f", 3) + std::string(15, '\0');
  EXPECT_EQ(got, std::string("\x15\x01", 2) + std::string("\x0c\x28\x18\x02", 4) + "ab" + std::string(1, '\0') +
                     std::string("\x19\x15\xd8\x04", 4) + list + std::string(1, '\0'));
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Writer, WritesAGroupWhenItIsFullSoThatMemoryIsBounded) {
  std::string path = testing::TempDir() + "groups." + std::to_string(getpid()) + ".parquet";
  Writer writer(path, {{"number", Type::integer, false}, {"name", Type::text, true}}, {}, 10);
  EXPECT_EQ(bytes_of(path), "PAR1");
  size_t before = 4;
  for (i64 i = 0; i < 25; i++) {
    writer.put(i);
    i % 3 ? writer.put(std::string_view("name")) : writer.put_null();
    writer.end_row();
    size_t now = bytes_of(path).size();
    EXPECT_EQ(now > before, i % 10 == 9) << i;
    before = now;
  }
  writer.finish();
  std::string all = bytes_of(path);
  EXPECT_GT(all.size(), before);
  EXPECT_EQ(all.substr(all.size() - 4), "PAR1");
  EXPECT_EQ(writer.rows(), 25u);
  unlink(path.c_str());
}

TEST(Writer, SaysThatADiskIsFull) {
  EXPECT_THROW(
      {
        Writer writer("/dev/full", {{"number", Type::integer, false}}, {});
        writer.finish();
      },
      Error);
  EXPECT_THROW(Writer("/nowhere/at/all", {{"number", Type::integer, false}}, {}), Error);
}

}  // namespace
}  // namespace tprof::parquet
