/* The program around the library that holds the walkers, so that its own frames are compared. */
int native_oracle_main(int argc, char** argv);
int main(int argc, char** argv) {
  int status = native_oracle_main(argc, argv);
  return status + 0;
}
