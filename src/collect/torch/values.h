// The layout of c10::IValue, c10::TensorImpl and the containers that an IValue points to, in this torch.
//
// Nothing is looked up by version. TensorImpl's exported accessors read a modified copy of the undefined tensor,
// IValue's exported predicates are applied to IValues that we made, and c10's exported names of dispatch keys show
// which bits mean sparse and nested. If an accessor is missing, the three layouts seen so far are candidates, of which
// calibration_end() must confirm one.
#pragma once
#include "base/elf.h"
#include "base/types.h"

namespace tprof {

// What an IValue tag means to the encoder; indices of ValueLayout::kind.
enum class ValueKind : u8 { other, none, tensor, integer, floating, complex, boolean, string, list, object };

constexpr int kValueTags = 64;  // torch has 27, and 32 at most by its own limit

struct ValueLayout {
  // In c10::TensorImpl. Sizes: {u64 ndim; ndim <= 5 ? i64 sizes[5], strides[5] : i64* to sizes and strides}.
  int sizes = -1;
  int dtype = -1;      // u16, the ScalarType number
  int flags = -1;      // u8 that holds has_symbolic_sizes_strides_, -1 unproven
  int keys = -1;       // u64, the dispatch key set
  u64 plain_keys = 0;  // dense and CPU, both in the set of any ordinary CPU tensor; for checks only
  u64 nested_keys = 0;
  u64 strideless_keys = 0;             // sparse, sparse compressed, mkldnn
  const void* undefined = nullptr;     // the impl of an undefined tensor
  const void* tensor_class = nullptr;  // first word of a c10::TensorType, the element type of tensor lists

  // In the object that the payload of an IValue points to.
  u8 kind[kValueTags] = {};     // ValueKind by tag; `other` unless proven
  int list = -1;                // {const IValue* begin, end}
  int list_type = -1;           // c10::Type*
  int string = -1;              // {const char*, u64 length}
  bool counted_string = false;  // pre-cxx11 std::string: {const char*}, the length lies 24 bytes before the text
  int complex = -1;             // {double, double}
  int slots = -1;               // {const IValue* begin, end} of an object, see groups.h
};

constexpr u8 kSymbolicFlag = 0x10;    // in the byte at `flags`
constexpr int kMaxDimensions = 64;    // torch's own limit for most operators
constexpr u64 kInlineDimensions = 5;  // dimensions that TensorImpl keeps inline

// Fills all of it with the help of torch. False, with a reason in `why` (at least 80 bytes), if something essential is
// missing or contradicts itself. It may fault: run it guarded.
bool discover_values(const ElfObject& torch, ValueLayout& values, char* why);

// Known layouts, one of which calibration must confirm: candidates 0, 1, ... until it returns false.
bool candidate_values(int index, const ElfObject& torch, ValueLayout& values);

}  // namespace tprof
