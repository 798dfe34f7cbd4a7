#include "collect/session/notes.h"

#include <string.h>

#include "record/writer.h"

namespace tprof {

void Notes::info(const char* key, const char* value) {
  if (g_writer.is_open()) g_writer.add_info(key, value);
  keep(What::info, key, value);
}

void Notes::capability(const char* name, bool on, const char* why) {
  if (g_writer.is_open()) g_writer.add_capability(name, on, why);
  keep(on ? What::on : What::off, name, why);
}

void Notes::keep(What what, const char* key, const char* value) {
  size_t key_bytes = strlen(key) + 1, value_bytes = strlen(value) + 1;
  if (used_ + 1 + key_bytes + value_bytes > sizeof text_) return;
  char* at = text_ + used_;
  *at = char(what);
  memcpy(at + 1, key, key_bytes);
  memcpy(at + 1 + key_bytes, value, value_bytes);
  used_ += u32(1 + key_bytes + value_bytes);
}

void Notes::write() const {
  for (const char *at = text_, *end = text_ + used_; at < end;) {
    What what = static_cast<What>(*at);
    const char* key = at + 1;
    const char* value = key + strlen(key) + 1;
    if (what == What::info)
      g_writer.add_info(key, value);
    else
      g_writer.add_capability(key, what == What::on, value);
    at = value + strlen(value) + 1;
  }
}

}  // namespace tprof
