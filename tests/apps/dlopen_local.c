// A program that links nothing and loads a plug-in on libtorch with RTLD_LOCAL: dlopen_local PLUGIN
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  (void)argc;
  void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!plugin) {
    puts(dlerror());
    return 2;
  }
  int (*run_ops)(void) = (int (*)(void))dlsym(plugin, "run_ops");
  printf("caught %d\n", run_ops());
  return 6;
}
