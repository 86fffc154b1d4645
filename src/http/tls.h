/*
 * TLS 1.2 and 1.3 over OpenSSL, without descriptors: bytes in, bytes out. The server side offers
 * "h2" and "http/1.1" by ALPN; the client side, for upstreams in sandboxes, verifies nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "http/outq.h"

struct tls_context;
struct tls;

/* Certificate chain and key are files in PEM. */
int tls_context_new(const char *certificate, const char *key, struct tls_context **ret,
		    struct error *err);
/* Connections that use it keep what they need. NULL is fine. */
void tls_context_free(struct tls_context *c);

/* NULL = out of memory. */
struct tls *tls_new_server(struct tls_context *c);
/* name: for SNI; NULL or an address literal = none. */
struct tls *tls_new_client(const char *name);
void tls_free(struct tls *t);

/* The client's first message. */
int tls_begin(struct tls *t, struct outq *out);
/* Bytes from the peer, to be taken by tls_decrypt(), which is called until it returns <= 0. */
void tls_feed(struct tls *t, const uint8_t *data, size_t size);
/* Plain bytes; -EAGAIN = more input is needed; 0 = the peer has closed; -EPROTO, -ENOMEM. */
ssize_t tls_decrypt(struct tls *t, uint8_t *data, size_t room, struct outq *out);
/* -EPROTO, -ENOMEM. Only when secure. */
int tls_encrypt(struct tls *t, const void *data, size_t size, struct outq *out);
/* Says good-bye. */
void tls_end(struct tls *t, struct outq *out);
bool tls_is_secure(const struct tls *t);
/* ALPN chose HTTP/2. */
bool tls_is_h2(const struct tls *t);
