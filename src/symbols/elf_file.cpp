#include "symbols/elf_file.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/plain_file.h"

namespace tprof {
namespace {

constexpr u64 kMaxBytes = 1ull << 30;  // of one table; a larger one is damage
constexpr u32 kMaxSections = 1 << 16;

template <class T>
T item(const std::string& bytes, size_t i) {
  T value;
  memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
  return value;
}

// Global names are those that people know; weak ones are often aliases. The lowest rank is shown.
u8 rank_of(u8 info) {
  switch (ELF64_ST_BIND(info)) {
    case STB_GLOBAL: return 0;
    case STB_WEAK: return 1;
    default: return 2;
  }
}

}  // namespace

struct ElfFile::Section {
  Elf64_Shdr header;
  std::string name;
};

std::unique_ptr<ElfFile> ElfFile::open(const std::string& path, std::map<std::string, u64>* objects) {
  std::unique_ptr<ElfFile> file(new ElfFile);
  file->path_ = path;
  file->objects_ = objects;
  file->fd_ = open_plain(path.c_str(), O_RDONLY);
  if (file->fd_ < 0 || !file->read()) return nullptr;
  ::close(file->fd_);
  file->fd_ = -1;
  file->objects_ = nullptr;
  return file;
}

ElfFile::~ElfFile() {
  if (fd_ >= 0) ::close(fd_);
}

bool ElfFile::read_bytes(u64 offset, u64 bytes, std::string& out) const {
  out.clear();
  if (bytes > kMaxBytes || offset > bytes_ || bytes_ - offset < bytes) return false;
  out.resize(bytes);
  for (u64 done = 0; done < bytes;) {
    ssize_t n = pread(fd_, out.data() + done, bytes - done, static_cast<off_t>(offset + done));
    if (n <= 0) return false;
    done += u64(n);
  }
  return true;
}

bool ElfFile::read() {
  struct stat s;
  if (fstat(fd_, &s) != 0) return false;
  bytes_ = u64(s.st_size);
  std::vector<Section> sections;
  if (!read_sections(sections)) return false;
  read_segments();
  std::string bytes;
  for (const Section& section : sections) {
    u32 type = section.header.sh_type;
    if (type == SHT_NOTE) read_notes(section);
    if (section.name == ".debug_line" && type != SHT_NOBITS) has_lines_ = true;
    if (section.name == ".gnu_debuglink" &&
        read_bytes(section.header.sh_offset, std::min<u64>(section.header.sh_size, 4096), bytes))
      debug_link_ = bytes.c_str();
    if (type == SHT_SYMTAB) has_symtab_ = true;
  }
  // .symtab holds all that .dynsym has.
  u32 wanted = has_symtab_ ? SHT_SYMTAB : SHT_DYNSYM;
  for (const Section& section : sections)
    if (section.header.sh_type == wanted && section.header.sh_link < sections.size())
      read_symbols(section, sections[section.header.sh_link]);
  sort_functions();
  return true;
}

// The section headers and their names.
bool ElfFile::read_sections(std::vector<Section>& sections) const {
  std::string bytes;
  if (!read_bytes(0, sizeof(Elf64_Ehdr), bytes)) return false;
  auto h = item<Elf64_Ehdr>(bytes, 0);
  if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 ||
      h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_shentsize != sizeof(Elf64_Shdr))
    return false;
  u32 count = h.e_shnum, names_at = h.e_shstrndx;
  // Numbers that do not fit the header of the file are in the first section header.
  if ((count == 0 || names_at == SHN_XINDEX) && read_bytes(h.e_shoff, sizeof(Elf64_Shdr), bytes)) {
    auto first = item<Elf64_Shdr>(bytes, 0);
    if (count == 0) count = u32(std::min<u64>(first.sh_size, kMaxSections));
    if (names_at == SHN_XINDEX) names_at = first.sh_link;
  }
  if (count > kMaxSections || !read_bytes(h.e_shoff, u64(count) * sizeof(Elf64_Shdr), bytes)) return false;
  sections.resize(count);
  for (u32 i = 0; i < count; i++) sections[i].header = item<Elf64_Shdr>(bytes, i);
  std::string names;
  if (names_at < count) read_bytes(sections[names_at].header.sh_offset, sections[names_at].header.sh_size, names);
  names.push_back(0);
  for (Section& section : sections)
    if (section.header.sh_name < names.size()) section.name = names.c_str() + section.header.sh_name;
  return true;
}

void ElfFile::read_segments() {
  std::string bytes;
  if (!read_bytes(0, sizeof(Elf64_Ehdr), bytes)) return;
  auto h = item<Elf64_Ehdr>(bytes, 0);
  if (h.e_phentsize != sizeof(Elf64_Phdr) || !read_bytes(h.e_phoff, u64(h.e_phnum) * sizeof(Elf64_Phdr), bytes)) return;
  for (u32 i = 0; i < h.e_phnum; i++)
    if (auto p = item<Elf64_Phdr>(bytes, i); p.p_type == PT_LOAD)
      segments_.push_back({p.p_offset, p.p_filesz, p.p_vaddr});
}

// A mapping starts on a page, the segment inside of it perhaps not.
std::optional<u64> ElfFile::address_of(u64 offset) const {
  constexpr u64 kPage = 4096;
  for (const Segment& s : segments_)
    if (offset >= (s.offset & ~(kPage - 1)) && offset < s.offset + s.bytes) return s.address - s.offset + offset;
  return std::nullopt;
}

void ElfFile::read_notes(const Section& section) {
  std::string bytes;
  if (section.header.sh_size > (1 << 20) || !read_bytes(section.header.sh_offset, section.header.sh_size, bytes))
    return;
  for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= bytes.size();) {
    Elf64_Nhdr note;
    memcpy(&note, bytes.data() + at, sizeof note);
    at += sizeof note;
    u64 name = (u64(note.n_namesz) + 3) & ~u64(3), text = (u64(note.n_descsz) + 3) & ~u64(3);
    if (bytes.size() - at < name + text) return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(bytes.data() + at, "GNU", 4))
      build_id_ = bytes.substr(at + name, note.n_descsz);
    at += name + text;
  }
}

void ElfFile::read_symbols(const Section& table, const Section& names) {
  std::string bytes, text;
  if (table.header.sh_entsize != sizeof(Elf64_Sym) ||
      !read_bytes(table.header.sh_offset, table.header.sh_size, bytes) ||
      !read_bytes(names.header.sh_offset, names.header.sh_size, text) || names_.size() + text.size() >= kMaxBytes)
    return;
  u32 base = u32(names_.size());
  for (size_t i = 0; i < bytes.size() / sizeof(Elf64_Sym); i++) {
    auto symbol = item<Elf64_Sym>(bytes, i);
    u8 type = ELF64_ST_TYPE(symbol.st_info);
    if (objects_) {
      if (type != STT_OBJECT || symbol.st_shndx == SHN_UNDEF || symbol.st_name >= text.size()) continue;
      if (auto wanted = objects_->find(text.c_str() + symbol.st_name); wanted != objects_->end())
        wanted->second = symbol.st_value;
      continue;
    }
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF || symbol.st_name >= text.size() ||
        !text[symbol.st_name] || symbol.st_value + symbol.st_size < symbol.st_value)
      continue;
    functions_.push_back(
        {symbol.st_value, symbol.st_value + symbol.st_size, base + symbol.st_name, rank_of(symbol.st_info)});
  }
  names_ += text;
  names_.push_back(0);
}

// One function per address, in order; those without a size reach to the next one.
void ElfFile::sort_functions() {
  std::sort(functions_.begin(), functions_.end(), [](const Function& a, const Function& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    if (a.rank != b.rank) return a.rank < b.rank;
    return a.name < b.name;
  });
  u64 longest = 0;  // the latest end of those at one address
  size_t kept = 0;
  for (const Function& f : functions_) {
    if (kept && functions_[kept - 1].begin == f.begin) {
      functions_[kept - 1].end = longest = std::max(longest, f.end);
      continue;
    }
    longest = f.end;
    functions_[kept++] = f;
  }
  functions_.resize(kept);
  for (size_t i = 0; i + 1 < kept; i++)
    if (functions_[i].end == functions_[i].begin) functions_[i].end = functions_[i + 1].begin;
}

std::string_view ElfFile::function_at(u64 address) const {
  auto next = std::upper_bound(functions_.begin(), functions_.end(), address,
                               [](u64 a, const Function& f) { return a < f.begin; });
  // A function may lie inside another one's extent (a part that was split off), so the few before it may hold it too.
  for (int i = 0; i < 4 && next != functions_.begin(); i++) {
    --next;
    if (address < next->end) return names_.c_str() + next->name;
  }
  return {};
}

}  // namespace tprof
