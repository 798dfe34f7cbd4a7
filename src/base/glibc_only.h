// How `tprof run` names libtprof.so in LD_PRELOAD: kGlibcOnly, then its absolute path.
//
// glibc's loader puts the name of its directory of libraries in the place of $LIB ("lib64", "lib/x86_64-linux-gnu"),
// and comes from there to the root. musl's takes the whole for the name of a file, does not find it and passes over
// it. It cannot load the library, and would end the program with status 127.
#pragma once

namespace tprof {

constexpr char kGlibcOnly[] = "/usr/$LIB/../../../../../../../..";
constexpr char kToRoot[] = "/../../../../../../../..";  // its end

}  // namespace tprof
