// A library whose constructor calls back into the program.
extern "C" void constructor_runs();

__attribute__((constructor)) static void loaded() { constructor_runs(); }
