// A program that goes on to another, named by LEADS_TO, with the words it got, for tests/e2e/hand_over_test.sh: what a
// compiled wrapper called ssh does.
#include <unistd.h>

#include <cstdlib>

int main(int, char** argv) {
  const char* program = std::getenv("LEADS_TO");
  if (program != nullptr) execv(program, argv);
  return 1;
}
