/*
 * `hotcell cert`: an authority of this machine's own and a certificate for a domain and everything
 * right below it, so that https://PORT-ID.DOMAIN works without buying anything. The authority's key
 * is thrown away: it signs this one certificate and never another.
 */
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "client/client.h"

#define DAYS		825 /* what clients accept at most */
#define SECONDS_PER_DAY 86400L

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX context;

	X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
	X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	bool ok = e && X509_add_ext(cert, e, -1) == 1;
	X509_EXTENSION_free(e);
	return ok;
}

static bool set_basics(X509 *cert, EVP_PKEY *key, const char *name)
{
	unsigned char serial[16];
	BIGNUM *number = NULL;
	X509_NAME *subject = X509_get_subject_name(cert);

	bool ok = RAND_bytes(serial, sizeof(serial)) == 1;
	serial[0] &= 0x7f;
	number = BN_bin2bn(serial, sizeof(serial), NULL);
	ok = ok && number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert)) &&
	     X509_set_version(cert, X509_VERSION_3) == 1 &&
	     X509_gmtime_adj(X509_getm_notBefore(cert), -3600) &&
	     X509_gmtime_adj(X509_getm_notAfter(cert), DAYS * SECONDS_PER_DAY) &&
	     X509_set_pubkey(cert, key) == 1 &&
	     X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)name,
					-1, -1, 0) == 1;
	BN_free(number);
	return ok;
}

static bool sign_authority(X509 *ca, EVP_PKEY *key)
{
	return set_basics(ca, key, "Hotcell, this machine only") &&
	       X509_set_issuer_name(ca, X509_get_subject_name(ca)) == 1 &&
	       add_extension(ca, ca, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
	       add_extension(ca, ca, NID_key_usage, "critical,keyCertSign") &&
	       add_extension(ca, ca, NID_subject_key_identifier, "hash") &&
	       X509_sign(ca, key, EVP_sha256()) != 0;
}

static bool sign_leaf(X509 *leaf, EVP_PKEY *key, X509 *ca, EVP_PKEY *ca_key, const char *domain)
{
	char names[700];

	snprintf(names, sizeof(names), "DNS:%s,DNS:*.%s,DNS:localhost,IP:127.0.0.1", domain,
		 domain);
	return set_basics(leaf, key, domain) &&
	       X509_set_issuer_name(leaf, X509_get_subject_name(ca)) == 1 &&
	       add_extension(leaf, ca, NID_basic_constraints, "critical,CA:FALSE") &&
	       add_extension(leaf, ca, NID_key_usage, "critical,digitalSignature") &&
	       add_extension(leaf, ca, NID_ext_key_usage, "serverAuth") &&
	       add_extension(leaf, ca, NID_subject_alt_name, names) &&
	       add_extension(leaf, ca, NID_authority_key_identifier, "keyid") &&
	       X509_sign(leaf, ca_key, EVP_sha256()) != 0;
}

static int write_pem(const char *directory, const char *name, mode_t mode, X509 *a, X509 *b,
		     EVP_PKEY *key, struct error *err)
{
	char path[4096];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory, name) >= sizeof(path))
		return error_set(err, ENAMETOOLONG, "%.100s", directory);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!f)
		return error_set(err, errno, "%s", path);
	bool ok = (!a || PEM_write_X509(f, a) == 1) && (!b || PEM_write_X509(f, b) == 1) &&
		  (!key || PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL) == 1);
	if (fclose(f) != 0 || !ok)
		return error_set(err, errno ? errno : EIO, "write %s", path);
	return 0;
}

/* A pair of which one half is new would be of no use. */
static int check_absent(const char *directory, struct error *err)
{
	static const char *const names[] = { "ca.pem", "cert.pem", "key.pem" };
	char path[4096];
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory, names[i]) >=
		    sizeof(path))
			return error_set(err, ENAMETOOLONG, "%.100s", directory);
		if (lstat(path, &st) == 0)
			return error_set(err, EEXIST,
					 "%s (remove it, or name another directory with --dir)",
					 path);
	}
	return 0;
}

static int make(const char *directory, const char *domain, struct error *err)
{
	EVP_PKEY *ca_key = EVP_EC_gen("P-256"), *key = EVP_EC_gen("P-256");
	X509 *ca = X509_new(), *leaf = X509_new();
	int r = check_absent(directory, err);

	if (r == 0 && !(ca_key && key && ca && leaf && sign_authority(ca, ca_key) &&
			sign_leaf(leaf, key, ca, ca_key, domain)))
		r = error_set(err, 0, "make the certificates");
	if (r == 0)
		r = write_pem(directory, "ca.pem", 0644, ca, NULL, NULL, err);
	if (r == 0)
		r = write_pem(directory, "cert.pem", 0644, leaf, ca, NULL, err);
	if (r == 0)
		r = write_pem(directory, "key.pem", 0600, NULL, NULL, key, err);
	X509_free(ca);
	X509_free(leaf);
	EVP_PKEY_free(ca_key);
	EVP_PKEY_free(key);
	return r;
}

static int run_cert(struct client_options *o)
{
	const char *domain = o->count ? o->arguments[0] : "e2b.localhost";
	struct error err;

	if (!*domain || strlen(domain) > 200 ||
	    domain[strspn(domain, "abcdefghijklmnopqrstuvwxyz0123456789.-")]) {
		error_set(&err, 0, "'%.100s' is not a domain name in lower case", domain);
		return client_fail(&err);
	}
	if (mkdir(o->directory, 0755) < 0 && errno != EEXIST) {
		error_set(&err, errno, "%s", o->directory);
		return client_fail(&err);
	}
	if (make(o->directory, domain, &err) < 0)
		return client_fail(&err);
	printf("A certificate for %s and *.%s lies in %s. To serve it:\n\n"
	       "  hotcell serve --listen-tls 127.0.0.1:8443 --tls-certificate %s/cert.pem "
	       "--tls-key %s/key.pem --domain %s:8443\n\n"
	       "and for clients to trust it:\n\n  export NODE_EXTRA_CA_CERTS=%s/ca.pem "
	       "SSL_CERT_FILE=%s/ca.pem\n",
	       domain, domain, o->directory, o->directory, o->directory, domain, o->directory,
	       o->directory);
	return 0;
}

static const struct option_spec cert_options[] = {
	CLIENT_HELP,
	{ .name = "dir",
	  .letter = 'd',
	  .kind = OPTION_TEXT,
	  .offset = offsetof(struct client_options, directory),
	  .metavar = "DIR",
	  .initial = "hotcell-tls",
	  .help = "where ca.pem, cert.pem and key.pem are written" },
};

const struct client_verb verb_cert = {
	"cert",
	"[OPTIONS] [DOMAIN]",
	"Makes a certificate for DOMAIN (e2b.localhost) and the hosts below it, for use on one machine.",
	cert_options,
	ARRAY_SIZE(cert_options),
	0,
	1,
	run_cert,
	true,
	0,
	false,
};
