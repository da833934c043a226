// Each program twice, in processes of their own; inputs and outputs are files of the working directory.
static void file_name(char *name, int number, int pass, const char *suffix) { sprintf(name, "%d.%d.%s", number, pass, suffix); }

static void run_one(int number, int pass, int seconds) {
  char name[64];
  struct rlimit time = {(rlim_t)seconds, (rlim_t)seconds + 1}, core = {0, 0}, file_size = {1 << 28, 1 << 28};
  setrlimit(RLIMIT_CPU, &time), setrlimit(RLIMIT_CORE, &core), setrlimit(RLIMIT_FSIZE, &file_size);
  alarm((unsigned)seconds * 4);
  file_name(rule_file, number, pass, "rule");
  file_name(name, number, pass, "err");
  dup2(open(name, O_WRONLY | O_CREAT, 0600), 2);
  backwards = pass;
  int count = programs[number].buffers;
  void **arguments = calloc((size_t)count + 1, sizeof(void *));
  uint64_t *sizes = calloc((size_t)count + 1, sizeof(uint64_t));
  sprintf(name, "%d.in", number);
  FILE *file = fopen(name, "rb");
  for (int i = 0; i < count; i++) {
    if (fread(&sizes[i], 8, 1, file) != 1) _exit(4);
    arguments[i] = malloc(sizes[i]);
    if (fread(arguments[i], 1, sizes[i], file) != sizes[i]) _exit(4);
  }
  programs[number].run(arguments);
  file_name(name, number, pass, "out");
  file = fopen(name, "wb");
  for (int i = 0; i < count; i++) fwrite(arguments[i], 1, sizes[i], file);
  if (fclose(file)) _exit(4);
  _exit(0);
}

int main(int argc, char **argv) {
  int seconds = argc > 1 ? atoi(argv[1]) : 10;
  for (int number = 0; number < (int)(sizeof programs / sizeof *programs); number++)
    for (int pass = 0; pass < 2; pass++) {
      int status = 0;
      fflush(stdout);
      pid_t child = fork();
      if (child == 0) run_one(number, pass, seconds);
      waitpid(child, &status, 0);
      printf("%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
      if (status != 0 && pass == 0) { printf("0\n"); break; }
    }
  return 0;
}
