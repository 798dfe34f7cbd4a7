"""tprof's walker of native stacks beside libunwind, on the functions of tests/native_corpus, compiled in many ways.

Both look at the same stack, at calls, after single instructions and at random moments, and must find the same frames;
what may differ, and why, is said in tests/native_corpus/look.cpp. Static programs are left out: nothing can be preloaded
there, and Debian's libunwind.a is not made for static-pie.
"""
import re
import shutil
import subprocess

import pytest

from harness import BUILD, TESTS

CORPUS = TESTS / "native_corpus"
ORACLE = BUILD / "tests" / "native_corpus" / "native_oracle"
CXX = {"gcc": "g++", "clang": "clang++"}
LINKING = ("-Wl,", "-fuse-ld", "-no-pie")
THROWING = ["catches", "cleanups", "rethrows", "std_thread"]  # 60000 instructions each, most of them libgcc's
EVERY = "1000000000"  # instruction

# The levels; without frame pointers stubs bind at their first call, with them all at once.
LEVELS = [(compiler, "-O" + level, *more) for compiler in CXX for level in "0123s"
          for more in (["-fomit-frame-pointer", "-Wl,-z,lazy"], ["-fno-omit-frame-pointer", "-Wl,-z,now"])]
# What else moves the stack pointer or changes where the code lies.
OTHERS = [
    ("gcc", "-O2", "-mstackrealign"),
    ("gcc", "-O2", "-fcf-protection=full", "-Wl,-z,lazy", "-Wl,-z,ibtplt"),
    ("gcc", "-O2", "-fcf-protection=none", "-fno-plt"),
    ("gcc", "-O2", "-flto"),
    ("gcc", "-O2", "-fstack-protector-all", "-fstack-clash-protection"),
    ("gcc", "-O1", "-mno-push-args", "-maccumulate-outgoing-args", "-freorder-blocks-and-partition"),
    ("gcc", "-Os", "-mpush-args", "-mno-accumulate-outgoing-args", "-fno-pie", "-no-pie"),
    ("clang", "-O2", "-mstackrealign", "-mno-red-zone"),
    ("clang", "-O3", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer", "-fcf-protection=full", "-fuse-ld=lld"),
    ("clang", "-O1", "-fno-pie", "-no-pie"),
]
STORMY = [LEVELS[4], LEVELS[5], LEVELS[14], OTHERS[-1]]
STEPPED_THROUGH = [LEVELS[4], LEVELS[15]]


def named(variants):
    return pytest.mark.parametrize("variant", variants, ids=" ".join)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """corpus(variant) -> the command words that name it: a shared library, or a program with the corpus inside."""
    done = {}

    def compile_all(variant, directory):
        compiler, *flags = variant
        compile_flags = [f for f in flags if not f.startswith(LINKING)]
        place = [] if "-no-pie" in flags else ["-fPIC"]
        running, objects = [], []
        for source in sorted(CORPUS.glob("*.[cS]")) + [CORPUS / "classes.cpp"]:
            if source.suffix == ".c" and source.stem == "main" and "-no-pie" not in flags:
                continue
            words = {".c": [compiler, "-D_GNU_SOURCE", "-std=gnu11"], ".cpp": [CXX[compiler], "-std=c++17"],
                     ".S": [compiler]}[source.suffix]
            objects.append(directory / (source.stem + ".o"))
            running.append(subprocess.Popen([*words, *compile_flags, *place, "-w", "-g0", "-c", source, "-o", objects[-1]],
                                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                            text=True))
        said = [process.communicate()[0] for process in running]
        assert not any(process.returncode for process in running), "".join(said)
        return objects

    def link(variant, directory, objects):
        compiler, *flags = variant
        words = [CXX[compiler], *flags, *objects, "-pthread", "-w"]
        if "-no-pie" in flags:  # libgcc's functions for exceptions are to be found before libunwind's
            out, how = directory / "program", ["-rdynamic", "-Wl,--no-as-needed", "-lgcc_s", "-L", ORACLE.parent,
                                               "-lnative_oracle", "-Wl,-rpath," + str(ORACLE.parent)]
        else:
            out, how = directory / "corpus.so", ["-shared"]
        linked = subprocess.run([*words, *how, "-o", out], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert linked.returncode == 0, linked.stderr
        return (out, "-") if "-no-pie" in flags else (ORACLE, out)

    def build(variant):
        if not ORACLE.exists():
            pytest.skip("built without libunwind (Debian: libunwind-dev): there is nothing to compare with")
        for needed in (variant[0], "ld.lld" if "-fuse-ld=lld" in variant else variant[0]):
            if not shutil.which(needed):
                pytest.skip(f"there is no {needed}")
        if variant not in done:
            directory = tmp_path_factory.mktemp("corpus")
            done[variant] = link(variant, directory, compile_all(variant, directory))
        return done[variant]
    return build


def compared(program_and_corpus, mode, names=(), timeout=240):
    """What native_oracle counted; it must have found no difference."""
    program, corpus = program_and_corpus
    done = subprocess.run([program, *mode, corpus, *names], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=timeout)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    return {word: int(number) for word, number in re.findall(r"(\w+) (\d+)", done.stdout.splitlines()[-1])}


@pytest.mark.spread(7)
@named(LEVELS + OTHERS)
def test_both_walkers_find_the_same_frames_at_calls_and_after_single_instructions(corpus, variant):
    at_calls = compared(corpus(variant), ["calls"])
    assert at_calls["functions"] >= 49 and at_calls["checkpoints"] >= 130 and at_calls["deepest"] > 60
    without = ["-" + name for name in THROWING]
    stepped = compared(corpus(variant), ["steps", "300", "17", "2000"], without)
    assert stepped["checkpoints"] > 7000 and stepped["known"] < stepped["checkpoints"] / 50


@named(STEPPED_THROUGH)
def test_both_find_the_same_frames_while_an_exception_is_thrown_and_caught(corpus, variant):
    stepped = compared(corpus(variant), ["steps", "1000", "31", EVERY], THROWING)
    assert stepped["steps"] > 50000 and stepped["known"] < stepped["checkpoints"] / 50


@named(STORMY)
def test_both_find_the_same_frames_at_random_moments_and_through_nested_signals(corpus, variant):
    assert compared(corpus(variant), ["storm", "5"])["checkpoints"] > 1000


@pytest.mark.full
@named(LEVELS + OTHERS)
def test_both_find_the_same_frames_after_every_instruction(corpus, variant):
    stepped = compared(corpus(variant), ["steps", EVERY, "1", EVERY])
    assert stepped["checkpoints"] > 100000 and stepped["known"] < stepped["checkpoints"] / 50
    compared(corpus(variant), ["storm", "50"])
