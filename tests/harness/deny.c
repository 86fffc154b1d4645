/*
 * A host that lacks something: runs a command whose system calls fail as told.
 *
 *	deny RULE... -- COMMAND [ARGUMENT...]
 *	RULE: CALL=ERRNO, or CALL:INDEX:VALUE=ERRNO when argument INDEX has that value, or
 *	CALL:INDEX&VALUE=ERRNO when it has all of these bits (lower 32 bits; VALUE as of strtoul)
 *
 * Done by a seccomp filter, so it holds for everything that the command starts.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CODE_MAX 200

static const struct {
	const char *name;
	unsigned int number;
} calls[] = {
#define SYSCALL(name, number, ...) { #name, number },
#include "../../src/kernel/abi/syscalls.def"
};

static const struct {
	const char *name;
	unsigned int number;
} errors[] = {
	{ "EPERM", EPERM },   { "ENOSYS", ENOSYS }, { "EINVAL", EINVAL }, { "EBUSY", EBUSY },
	{ "EACCES", EACCES }, { "ENOSPC", ENOSPC }, { "EAGAIN", EAGAIN }, { "EOPNOTSUPP", EOPNOTSUPP },
	{ "EROFS", EROFS },   { "ENOMEM", ENOMEM },
};

static struct sock_filter code[CODE_MAX];
static unsigned short count;

static void add(struct sock_filter f)
{
	if (count == CODE_MAX) {
		fprintf(stderr, "deny: too many rules\n");
		exit(2);
	}
	code[count++] = f;
}

static unsigned int find_call(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strlen(calls[i].name) == length && !memcmp(calls[i].name, name, length))
			return calls[i].number;
	fprintf(stderr, "deny: no system call %.*s\n", (int)length, name);
	exit(2);
}

static unsigned int find_error(const char *name)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (!strcmp(errors[i].name, name))
			return errors[i].number;
	fprintf(stderr, "deny: unknown error %s\n", name);
	exit(2);
}

static void add_rule(const char *rule)
{
	const char *equals = strchr(rule, '='), *colon = strchr(rule, ':');
	size_t length = strcspn(rule, ":=");
	unsigned int number = find_call(rule, length);
	if (!equals) {
		fprintf(stderr, "deny: %s: no '='\n", rule);
		exit(2);
	}
	unsigned int verdict = SECCOMP_RET_ERRNO | find_error(equals + 1);
	add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
	add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, colon ? 4 : 1));
	if (colon) {
		char *rest;
		unsigned int index = (unsigned int)strtoul(colon + 1, &rest, 10);
		unsigned int value = (unsigned int)strtoul(rest + 1, NULL, 0);
		unsigned int mask = *rest == '&' ? value : ~0u;
		add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 (unsigned int)offsetof(struct seccomp_data, args) + 8 * index));
		add((struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
		add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
	}
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict));
}

int main(int argc, char **argv)
{
	int i = 1;
	for (; i < argc && strcmp(argv[i], "--") != 0; i++)
		add_rule(argv[i]);
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	if (i + 1 >= argc) {
		fprintf(stderr, "usage: deny RULE... -- COMMAND [ARGUMENT...]\n");
		return 2;
	}
	struct sock_fprog program = { count, code };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0) {
		perror("deny: seccomp");
		return 2;
	}
	execvp(argv[i + 1], argv + i + 1);
	perror(argv[i + 1]);
	return 127;
}
