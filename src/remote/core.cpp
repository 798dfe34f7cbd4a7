#include "remote/core.h"

#include <string.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/elf_machine.h"
#include "base/error.h"
#include "base/plain_file.h"

namespace tprof::remote {
namespace {

constexpr u64 kMaxNotes = 64 << 20;
constexpr int kNotTried = -2;

bool read_at(int fd, u64 offset, void* to, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    ssize_t n = pread(fd, static_cast<char*>(to) + done, bytes - done, off_t(offset + done));
    if (n <= 0) return false;
    done += size_t(n);
  }
  return true;
}

}  // namespace

std::unique_ptr<Core> Core::open(const std::string& path) {
  auto refuse = [&](const char* why) { return Error(Fault::unreadable, path + ": " + why); };
  std::unique_ptr<Core> core(new Core);
  mode_t kind;
  core->fd_ = open_plain_at(AT_FDCWD, path.c_str(), O_RDONLY, kind);
  struct stat s;
  if (kind) throw refuse("is no core file");
  if (core->fd_ < 0 || fstat(core->fd_, &s) != 0) throw refuse(strerror(errno));
  Elf64_Ehdr header;
  if (!read_at(core->fd_, 0, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_type != ET_CORE)
    throw refuse("is no core file; compressed ones must be unpacked first (coredumpctl dump)");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kOwnMachine)
    throw refuse("is the core file of a program for another architecture");
  u64 count = header.e_phnum;
  if (Elf64_Shdr first; count == PN_XNUM && read_at(core->fd_, header.e_shoff, &first, sizeof first))
    count = first.sh_info;
  for (u64 i = 0; i < count; i++) {
    Elf64_Phdr p;
    if (!read_at(core->fd_, header.e_phoff + i * sizeof p, &p, sizeof p)) throw refuse("is cut off");
    if (p.p_type == PT_LOAD) {
      core->segments_.push_back({p.p_vaddr, p.p_memsz, p.p_filesz, p.p_offset});
    } else if (p.p_type == PT_NOTE && p.p_filesz <= kMaxNotes) {
      std::string notes(p.p_filesz, 0);
      if (!read_at(core->fd_, p.p_offset, notes.data(), notes.size())) throw refuse("is cut off");
      core->read_notes(notes);
    }
  }
  if (core->threads_.empty()) throw refuse("holds no thread");
  for (const Segment& segment : core->segments_)
    if (segment.offset + segment.in_file > u64(s.st_size))
      throw refuse("is cut off; raise the limit: ulimit -c unlimited");
  std::sort(core->mappings_.begin(), core->mappings_.end(),
            [](const Mapping& a, const Mapping& b) { return a.begin < b.begin; });
  core->files_.assign(core->mappings_.size(), kNotTried);
  return core;
}

Core::~Core() {
  if (fd_ >= 0) close(fd_);
  for (int file : files_)
    if (file >= 0) close(file);
}

void Core::read_notes(const std::string& notes) {
  for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
    Elf64_Nhdr note;
    memcpy(&note, notes.data() + at, sizeof note);
    at += sizeof note;
    u64 name = (u64(note.n_namesz) + 3) & ~u64(3), bytes = (u64(note.n_descsz) + 3) & ~u64(3);
    if (notes.size() - at < name + bytes) return;
    std::string text = notes.substr(at + name, note.n_descsz);
    at += name + bytes;
    if (note.n_type == NT_PRSTATUS && text.size() >= sizeof(elf_prstatus)) {
      elf_prstatus status;
      memcpy(&status, text.data(), sizeof status);
      if (threads_.empty()) signal_ = status.pr_cursig;
      threads_.push_back(status.pr_pid);
    } else if (note.n_type == NT_PRPSINFO && text.size() >= sizeof(elf_prpsinfo)) {
      elf_prpsinfo info;
      memcpy(&info, text.data(), sizeof info);
      pid_ = info.pr_pid;
      command_.assign(info.pr_psargs, strnlen(info.pr_psargs, sizeof info.pr_psargs));
    } else if (note.n_type == NT_FILE) {
      read_files(text);
    }
  }
}

// NT_FILE: count, page size, for each file (begin, end, offset in pages), then the paths, each with its terminator.
void Core::read_files(const std::string& note) {
  auto word = [&](size_t i) {
    u64 value = 0;
    if ((i + 1) * sizeof value <= note.size()) memcpy(&value, note.data() + i * sizeof value, sizeof value);
    return value;
  };
  u64 count = word(0), page = word(1);
  if (count > note.size() / 24) return;
  size_t path = (2 + 3 * count) * sizeof(u64);
  for (u64 i = 0; i < count && path < note.size(); i++) {
    std::string name = note.c_str() + path;
    path += name.size() + 1;
    // Which pages hold code is not in the file; every mapping may.
    mappings_.push_back({word(2 + 3 * i), word(3 + 3 * i), word(4 + 3 * i) * page, true, name});
  }
}

bool Core::read(u64 address, void* to, size_t bytes) const {
  while (bytes) {
    size_t part = 0;
    for (const Segment& s : segments_)
      if (address >= s.begin && address < s.begin + s.in_file) {
        part = size_t(std::min<u64>(bytes, s.begin + s.in_file - address));
        if (!read_at(fd_, s.offset + (address - s.begin), to, part)) return false;
        break;
      }
    for (size_t i = 0; i < mappings_.size() && !part; i++) {
      const Mapping& m = mappings_[i];
      if (address < m.begin || address >= m.end) continue;
      if (files_[i] == kNotTried) files_[i] = open_plain(m.path.c_str(), O_RDONLY);
      part = size_t(std::min<u64>(bytes, m.end - address));
      if (files_[i] < 0 || !read_at(files_[i], m.offset + (address - m.begin), to, part)) return false;
    }
    if (!part) return false;
    address += part;
    to = static_cast<char*>(to) + part;
    bytes -= part;
  }
  return true;
}

}  // namespace tprof::remote
