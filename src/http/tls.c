/*
 * A BIO of our own connects OpenSSL with the caller's memory: reading takes from the bytes that
 * tls_feed() was given, writing appends to the output queue of the call that is running. Nothing is
 * copied twice and nothing grows here: OpenSSL keeps at most one incomplete record.
 */
#include "http/tls.h"

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

struct tls_context {
	SSL_CTX *ssl;
};

struct tls {
	SSL *ssl;
	const uint8_t *in;
	size_t in_size;
	struct outq *out;
};

/* ---- the BIO ---- */

static int bio_read(BIO *bio, char *data, size_t room, size_t *ret)
{
	struct tls *t = BIO_get_data(bio);
	size_t n = MIN(room, t->in_size);
	BIO_clear_retry_flags(bio);
	*ret = n;
	if (n == 0) {
		BIO_set_retry_read(bio);
		return 0;
	}
	memcpy(data, t->in, n);
	t->in += n;
	t->in_size -= n;
	return 1;
}

static int bio_write(BIO *bio, const char *data, size_t size, size_t *ret)
{
	struct tls *t = BIO_get_data(bio);
	BIO_clear_retry_flags(bio);
	if (!t->out || outq_append(t->out, data, size) < 0)
		return 0;
	*ret = size;
	return 1;
}

static long bio_control(BIO *bio, int command, long n, void *p)
{
	(void)bio;
	(void)n;
	(void)p;
	return command == BIO_CTRL_FLUSH;
}

static int bio_create(BIO *bio)
{
	BIO_set_init(bio, 1);
	return 1;
}

static BIO *bio_new(struct tls *t)
{
	static BIO_METHOD *method;
	if (!method) {
		method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "queue");
		if (!method)
			return NULL;
		BIO_meth_set_read_ex(method, bio_read);
		BIO_meth_set_write_ex(method, bio_write);
		BIO_meth_set_ctrl(method, bio_control);
		BIO_meth_set_create(method, bio_create);
	}
	BIO *bio = BIO_new(method);
	if (bio)
		BIO_set_data(bio, t);
	return bio;
}

/* ---- contexts ---- */

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_size,
			   const unsigned char *in, unsigned in_size, void *unused)
{
	static const unsigned char ours[] = "\x02h2\x08http/1.1";
	(void)ssl;
	(void)unused;
	unsigned char *chosen;
	int r = SSL_select_next_proto(&chosen, out_size, ours, sizeof(ours) - 1, in, in_size);
	*out = chosen;
	/* A client that wants neither is not told so by silence. */
	return r == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static int openssl_error(struct error *err, const char *what)
{
	char text[200];
	unsigned long code = ERR_get_error();
	ERR_error_string_n(code, text, sizeof(text));
	ERR_clear_error();
	return error_set(err, 0, "%s: %s", what, code ? text : "failed");
}

static void set_options(SSL_CTX *ssl)
{
	SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
					 SSL_OP_CIPHER_SERVER_PREFERENCE |
					 SSL_OP_IGNORE_UNEXPECTED_EOF);
	/* Partial writes never happen: the queue takes everything. Idle connections stay small. */
	SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
}

int tls_context_new(const char *certificate, const char *key, struct tls_context **ret,
		    struct error *err)
{
	struct tls_context *c = calloc(1, sizeof(*c));
	if (!c)
		return error_set(err, ENOMEM, "TLS");
	ERR_clear_error();
	c->ssl = SSL_CTX_new(TLS_server_method());
	int r = 0;
	if (!c->ssl || SSL_CTX_set_min_proto_version(c->ssl, TLS1_2_VERSION) != 1 ||
	    /* TLS 1.2: forward secrecy and authenticated encryption, which HTTP/2 requires. */
	    SSL_CTX_set_cipher_list(c->ssl, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1)
		r = openssl_error(err, "TLS");
	else if (SSL_CTX_use_certificate_chain_file(c->ssl, certificate) != 1)
		r = openssl_error(err, certificate);
	else if (SSL_CTX_use_PrivateKey_file(c->ssl, key, SSL_FILETYPE_PEM) != 1)
		r = openssl_error(err, key);
	else if (SSL_CTX_check_private_key(c->ssl) != 1)
		r = openssl_error(err, key);
	if (r < 0) {
		tls_context_free(c);
		return r;
	}
	set_options(c->ssl);
	SSL_CTX_set_alpn_select_cb(c->ssl, choose_protocol, NULL);
	*ret = c;
	return 0;
}

void tls_context_free(struct tls_context *c)
{
	if (c)
		SSL_CTX_free(c->ssl);
	free(c);
}

/* ---- connections ---- */

static struct tls *tls_new(SSL_CTX *context)
{
	struct tls *t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->ssl = SSL_new(context);
	BIO *bio = t->ssl ? bio_new(t) : NULL;
	if (!bio) {
		tls_free(t);
		return NULL;
	}
	SSL_set_bio(t->ssl, bio, bio);
	return t;
}

struct tls *tls_new_server(struct tls_context *c)
{
	struct tls *t = tls_new(c->ssl);
	if (t)
		SSL_set_accept_state(t->ssl);
	return t;
}

/* One for all upstreams: making it takes long. */
static SSL_CTX *client_context(void)
{
	static SSL_CTX *context;
	if (context)
		return context;
	context = SSL_CTX_new(TLS_client_method());
	if (!context)
		return NULL;
	set_options(context);
	SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
	return context;
}

struct tls *tls_new_client(const char *name)
{
	SSL_CTX *context = client_context();
	struct tls *t = context ? tls_new(context) : NULL;
	if (!t)
		return NULL;
	SSL_set_connect_state(t->ssl);
	static const unsigned char http1[] = "\x08http/1.1";
	bool ok = SSL_set_alpn_protos(t->ssl, http1, sizeof(http1) - 1) == 0;
	char sni[256] = ""; /* OpenSSL's macro takes no const */
	if (name && name[0] != '[' && strlen(name) < sizeof(sni))
		memcpy(sni, name, strlen(name) + 1);
	if (ok && sni[0])
		ok = SSL_set_tlsext_host_name(t->ssl, sni) == 1;
	if (!ok) {
		tls_free(t);
		return NULL;
	}
	return t;
}

void tls_free(struct tls *t)
{
	if (t)
		SSL_free(t->ssl);
	free(t);
}

/* The result of an OpenSSL call that failed. */
static int reason(struct tls *t, int result)
{
	switch (SSL_get_error(t->ssl, result)) {
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	default:
		ERR_clear_error();
		return -EPROTO;
	}
}

int tls_begin(struct tls *t, struct outq *out)
{
	t->out = out;
	ERR_clear_error();
	int n = SSL_is_server(t->ssl) ? 1 : SSL_do_handshake(t->ssl);
	int r = n == 1 ? 0 : reason(t, n);
	return r == -EAGAIN ? 0 : r;
}

void tls_feed(struct tls *t, const uint8_t *data, size_t size)
{
	t->in = data;
	t->in_size = size;
}

ssize_t tls_decrypt(struct tls *t, uint8_t *data, size_t room, struct outq *out)
{
	t->out = out;
	ERR_clear_error();
	int n = SSL_read(t->ssl, data, (int)MIN(room, INT32_MAX));
	return n > 0 ? n : reason(t, n);
}

int tls_encrypt(struct tls *t, const void *data, size_t size, struct outq *out)
{
	t->out = out;
	ERR_clear_error();
	if (!SSL_is_init_finished(t->ssl))
		return -EPROTO;
	for (const uint8_t *p = data; size > 0;) {
		size_t written;
		if (SSL_write_ex(t->ssl, p, size, &written) != 1)
			return -EPROTO;
		p += written;
		size -= written;
	}
	return 0;
}

void tls_end(struct tls *t, struct outq *out)
{
	t->out = out;
	ERR_clear_error();
	if (SSL_is_init_finished(t->ssl))
		(void)SSL_shutdown(t->ssl);
	ERR_clear_error();
}

bool tls_is_secure(const struct tls *t)
{
	return SSL_is_init_finished(t->ssl);
}

bool tls_is_h2(const struct tls *t)
{
	const unsigned char *name;
	unsigned size;
	SSL_get0_alpn_selected(t->ssl, &name, &size);
	return size == 2 && memcmp(name, "h2", 2) == 0;
}
