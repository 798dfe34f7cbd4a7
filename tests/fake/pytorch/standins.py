"""Writes C++ for the functions of a library of NVIDIA's that nobody has written by hand, from its header.

A function gets a body by what its declaration says: one that makes or destroys something, sets something or tells how much
memory it needs succeeds; one that takes the library's handle launches a kernel that is named after it. All others, and those
that no header declares, answer "not supported".
"""
import re
import subprocess

# Kernels that users know by other names than the function's.
KERNELS = [
    (r"cublas([SDCZ])gemv", "void gemv2T_kernel_val<int, int, {type}, 128, 16, 4, 4, false>(cublasGemvParamsEx)"),
    (r"cublas([SDCZ])dot", "void dot_kernel<{type}, 128, 0, cublasDotParams>(cublasDotParams)"),
    (r"cublas([SDCZ])trsmBatched", "void trsmBatched_left_kernel<{type}>(cublasTrsmBatchedParams)"),
    (r"cudnnBatchNormalizationForwardTraining", "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1>()"),
    (r"cudnnBatchNormalizationForwardInference", "void cudnn::bn_fw_inf_1C11_kernel_NCHW<float, float, true, 1>()"),
    (r"cudnnBatchNormalizationBackward", "void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>()"),
    (r"cudnnRNNForward", "void RNN_blockPersist_fp_LSTM<float, float, float, 128>()"),
    (r"cudnnRNNBackwardData", "void RNN_blockPersist_bp_LSTM<float, float, float, 128>()"),
    (r"cudnnRNNBackwardWeights", "void cudnn::cublas_gemm_rnn_wgrad<float>()"),
    (r"cusolverDn([SDCZX])getrf", "void getrf_wo_pivot_params_kernel<{type}>()"),
]
TYPES = {"S": "float", "D": "double", "C": "float2", "Z": "double2", "X": "double"}
ONE_INFO = "(geqrf|gels|getrs|potrs)Batched"  # their `info` is about the arguments
WORKSPACE = 256  # bytes or elements; nothing is written there
NOT_SUPPORTED = 15  # of the libraries that answer so; NCCL has 5, invalid usage


def declarations(header, include):
    """{name: (type of its result, its parameters as (type, name) or None where they are not understood)}"""
    flags = [word for folder in include for word in ("-I", str(folder))]
    text = subprocess.run(["g++", "-E", "-P", "-x", "c++", *flags, "-"], input="#include <%s>\n" % header, text=True,
                          capture_output=True, check=True).stdout
    found = {}
    pattern = r"([\w*][\w\s*]*?)\s*\b((?:cublas|cusolver|cusparse|cufft|cudnn)\w+)\s*\(([^;{}]*)\)\s*;"
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)+|\[\[.*?\]\]", " ", text)
    for result, name, inside in re.findall(pattern, text):
        found[name] = (" ".join(result.replace("extern", "").split()), parameters(inside))
    return found


def parameters(inside):
    if "(" in inside:
        return None
    made = []
    for one in filter(None, (" ".join(one.split()) for one in inside.split(","))):
        match = re.fullmatch(r"(.*?[\s*])(\w+)\s*((?:\[\w*\])*)", one)
        if one != "void":
            made.append((match.group(1).strip() + "*" * match.group(3).count("["), match.group(2)) if match else (one, ""))
    return made


def kernel_name(name):
    for pattern, kernel in KERNELS:
        if match := re.match(pattern, name):
            return kernel.format(type=TYPES[match.group(1)] if match.groups() else "")
    library, short = re.match(r"(cublas|cusolver|cusparse|cudnn)(?:Dn)?(\w*)", name).groups()
    short = re.sub(r"(_v\d+|_64)+$", "", short)
    if match := re.match(r"([SDCZX])([a-z]\w*)", short):
        return "void %s::%s_kernel<%s>()" % (library, match.group(2), TYPES[match.group(1)])
    return "void %s::%s_kernel()" % (library, short)


def body(name, given):
    """The statements of that function, or None: it becomes a stub."""
    writes = [at for of, at in given if "const" not in of and re.fullmatch(r"(int|size_t)\s*\*", of)]
    sizes = [at for at in writes if re.search("(?i)work|size|bytes|space", at)]
    first = given[0] if given else ("", "")
    lines = ["  if (%s != nullptr) *%s = %d;" % (at, at, WORKSPACE) for at in sizes]
    if re.search("(?i)create", name) and first[0].endswith("*"):
        return ["  return make(%s) ? R(0) : R(1);" % first[1]]
    if sizes and re.search("(?i)size", name) or re.search("(?i)destroy|(Set|Restore)[A-Z]|zeroPivot", name):
        return [*lines, "  return R(0);"]
    if re.search("Get[A-Z]|Logger", name) or not re.search("[hH]andle_t$", first[0]) or not first[1]:
        return None
    batch = next((at for of, at in given if at == "batchSize"), "1")
    for at in writes:
        if re.search("(?i)info", at):  # nothing went wrong: one number for each matrix, or for all
            count = "1" if re.search(ONE_INFO, name) and at != "devInfoArray" else batch
            lines.append("  if (%s != nullptr) memset(%s, 0, sizeof(int) * size_t(%s));" % (at, at, count))
    return [*lines, '  return launch("%s", at(%s).stream) ? R(0) : R(1);' % (kernel_name(name), first[1])]


def bodies(header, include, wanted):
    """C++ for those of the names that the header declares in a way that is understood, and which these are."""
    declared = declarations(header, include)
    lines = ["#include <%s>" % header, '#include "standin.h"', "using namespace sim::standin;", 'extern "C" {']
    made = set()
    for name in sorted(wanted & set(declared)):
        result, given = declared[name]
        inside = body(name, given) if given is not None and result.endswith(("tatus_t", "Result")) else None
        if inside is None:
            continue
        made.add(name)
        lines += ["%s %s(%s) {" % (result, name, ", ".join("%s %s" % one for one in given)), "  using R = %s;" % result,
                  *inside, "}"]
    return "\n".join([*lines, "}", ""]), made


STUB = """#include <stdio.h>
#include <stdlib.h>
static int stub(const char* name, int* told, int status) {
  const char* wanted = getenv("SIMCUDA_STUBS");
  if (!*told && wanted && *wanted && *wanted != '0') fprintf(stderr, "simulated CUDA: %s is a stub\\n", name);
  *told = 1;
  return status;
}
extern "C" {
"""


def stubs(names, status=NOT_SUPPORTED):
    """C++ for functions that do nothing: whatever their parameters are, they answer with that status."""
    line = 'int %s() { static int told; return stub("%s", &told, %d); }'
    return "\n".join([STUB, *(line % (name, name, status) for name in sorted(names)), "}", ""])
