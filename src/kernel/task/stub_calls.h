/* The stub's private calls; see abi/stub.h. */
#pragma once

struct call;

long stub_call(struct call *c);
