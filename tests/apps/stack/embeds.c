// A program that has Python built in: by whatever name, it is the interpreter.
#include <Python.h>

int main(int argc, char** argv) { return Py_BytesMain(argc, argv); }
