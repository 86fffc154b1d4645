#include "cli/verbs.h"
int verb_doctor(const struct verb_context *ctx, int argc, char **argv)
{
	return 0;
}
