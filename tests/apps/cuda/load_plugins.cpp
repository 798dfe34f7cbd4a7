// load_plugins LIBRARY...: loads libraries that use CUDA with RTLD_LOCAL, with two majors if so given, and runs each.
#include <dlfcn.h>

#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  std::vector<void*> plugins;
  for (int i = 1; i < argc; i++) {
    void* plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) return printf("%s\n", dlerror()), 1;
    plugins.push_back(plugin);
  }
  for (int round = 2; round <= 4; round++) {
    for (void* plugin : plugins) {
      auto run = reinterpret_cast<int (*)(int)>(dlsym(plugin, "plugin_run"));
      auto version = reinterpret_cast<int (*)()>(dlsym(plugin, "plugin_version"));
      printf("CUDA %d: %d\n", version() / 1000, run(round));
    }
  }
  return 0;
}
