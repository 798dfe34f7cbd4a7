// How a program ended that did not pass an exit.
#pragma once
#include "model/trace.h"

namespace tprof {

constexpr u32 kSignals = 64;  // a number above is damaged

// "killed by SIGSEGV (segmentation fault)", which "was" may precede.
std::string killed_text(int signal);
constexpr char kUnknownDeath[] = "without passing an exit, for example by a signal";

// The same of the end of a trace, as a sentence: "the program was killed by ..."; "" if it did not die in it.
std::string death_text(const Model& model);

// Whether the program died before it had done a step: what it had done by then says nothing about its usual steps. A
// program without steps that somebody ended, such as a server, is no such case.
bool died_in_first_step(const Model& model);

}  // namespace tprof
