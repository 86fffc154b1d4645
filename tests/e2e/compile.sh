# needs: gcc g++ make
# status: 0
## gcc
cat > m.c <<'X'
#include <stdio.h>
#include <pthread.h>
#include <math.h>
static void *f(void *p) { return (char *)p + 1; }
int main(int c, char **v) { void *r; pthread_t t; pthread_create(&t, 0, f, (void *)41); pthread_join(t, &r); printf("%ld %.3f %d %s\n", (long)r, sqrt(2), c, v[1]); return 0; }
X
gcc -O2 -Wall -o m m.c -lm -pthread && ./m arg; gcc -static -o s m.c -lm -pthread && ./s static; gcc -c -fPIC m.c && file -b m.o 2>/dev/null | cut -c1-3; gcc -shared -o libx.so -fPIC -xc - <<< 'int x(void) { return 7; }'; gcc -o u -xc - -L. -lx -Wl,-rpath,'$ORIGIN' <<< 'int x(void); int main() { return x() == 7 ? 0 : 1; }'; ./u; echo $?; gcc -o e -xc - <<< 'int main( {' 2>/dev/null; echo $?; gcc -S -o - m.c | grep -c main; nm m | grep -c ' T main'; strip m && ./m stripped; ldd u | grep -c libx; objdump -d m | head -2 | tail -1; size s | wc -l; gcc -g -fsanitize=undefined -o ub -xc - <<< 'int main(int c, char **v) { return 1 << (c + 40); }' 2>/dev/null && ./ub 2>&1 | grep -c runtime
## g++
cat > m.cc <<'X'
#include <iostream>
#include <thread>
#include <vector>
#include <map>
#include <future>
#include <filesystem>
#include <stdexcept>
int main() { std::vector<std::thread> t; std::atomic<int> n{0}; for (int i = 0; i < 8; i++) t.emplace_back([&] { n += 1; }); for (auto &x : t) x.join(); auto f = std::async(std::launch::async, [] { return 6 * 7; }); std::map<std::string, int> m{{"a", 1}}; try { throw std::runtime_error("caught"); } catch (std::exception &e) { std::cout << e.what() << std::endl; } std::cout << n << ' ' << f.get() << ' ' << m["a"] << ' ' << std::filesystem::exists("m.cc") << "\n"; }
X
g++ -std=c++20 -O1 -o m m.cc -pthread && ./m
## make
for i in $(seq 12); do echo "int f$i(void) { return $i; }" > f$i.c; done; { echo '#include <stdio.h>'; for i in $(seq 12); do echo "int f$i(void);"; done; echo 'int main(void) { printf("%d\n", f1() + f12()); return 0; }'; } > main.c
printf 'O = $(patsubst %%.c,%%.o,$(wildcard *.c))\nall: p\np: $O\n\tgcc -o $@ $^\n%%.o: %%.c\n\t@gcc -c -o $@ $<\n.PHONY: all clean\nclean:\n\trm -f *.o p\n' > Makefile
make -j4 > log; tail -c 30 log | wc -l; ./p; make; touch f1.c; make -n | head -1; make clean; ls | wc -l; printf 'a: b c\n\t@echo $@ $^\nb c:\n\t@sleep 0.1; echo $@ > $@.txt\nfail:\n\t@exit 3\n' > M; make -j8 -f M a; make -f M fail 2>/dev/null; echo $?; make -f M none 2>&1 | tail -1
