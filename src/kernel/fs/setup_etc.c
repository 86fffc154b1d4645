/*
 * /etc and the dotfiles.
 *
 * Two kinds of names: texts of our own (users, groups, host names, PAM, sudo, shells), and an
 * allow-list of the host's files that installed programs need to start: linker cache, certificates,
 * alternatives, time zone, fonts, language runtimes. The list names nothing that is meant to hold
 * secrets or describes the host's users, services or network: no ssl/private, gitconfig, wgetrc,
 * pip.conf, npmrc, maven settings, apt sources, server configuration.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/system_path.h"
#include "base/util.h"
#include "kernel/fs/setup_internal.h"
#include "kernel/fs/tree/tree.h"
#include "kernel/fs/vfs.h"

struct text {
	const char *dir; /* below /etc; "" = /etc itself */
	const char *name;
	uint16_t mode;
	const char *content;
};

#define PAM_OPEN                                                                                   \
	"auth required pam_permit.so\naccount required pam_permit.so\n"                            \
	"session required pam_permit.so\n"

#define BASHRC                                                                                     \
	"# Interactive shells.\n"                                                                  \
	"case $- in *i*) ;; *) return ;; esac\n"                                                   \
	"HISTCONTROL=ignoreboth\n"                                                                 \
	"HISTSIZE=1000\n"                                                                          \
	"HISTFILESIZE=2000\n"                                                                      \
	"shopt -s histappend checkwinsize\n"                                                       \
	"PS1='\\u@\\h:\\w\\$ '\n"                                                                  \
	"if [ -x /usr/bin/dircolors ]; then\n"                                                     \
	"    eval \"$(dircolors -b)\"\n"                                                           \
	"    alias ls='ls --color=auto' grep='grep --color=auto'\n"                                \
	"fi\n"                                                                                     \
	"alias ll='ls -alF'\n"

#define PROFILE                                                                                    \
	"# Login shells.\n"                                                                        \
	"if [ -n \"$BASH_VERSION\" ] && [ -f \"$HOME/.bashrc\" ]; then\n"                          \
	"    . \"$HOME/.bashrc\"\n"                                                                \
	"fi\n"                                                                                     \
	"for d in \"$HOME/bin\" \"$HOME/.local/bin\"; do\n"                                        \
	"    [ -d \"$d\" ] && PATH=\"$d:$PATH\"\n"                                                 \
	"done\n"                                                                                   \
	"unset d\n"

static const struct text texts[] = {
	{ "", "bash.bashrc", 0644,
	  "# Every interactive bash.\n[ -z \"$PS1\" ] && return\nshopt -s checkwinsize\n"
	  "PS1='\\u@\\h:\\w\\$ '\n" },
	{ "", "environment", 0644, "PATH=\"" SYSTEM_PATH "\"\n" },
	{ "", "host.conf", 0644, "multi on\n" },
	{ "", "inputrc", 0644,
	  "set input-meta on\nset output-meta on\n"
	  "\"\\e[1~\": beginning-of-line\n\"\\e[4~\": end-of-line\n"
	  "\"\\e[3~\": delete-char\n\"\\e[2~\": quoted-insert\n"
	  "\"\\e[1;5C\": forward-word\n\"\\e[1;5D\": backward-word\n" },
	{ "", "issue", 0644, "Hotcell sandbox\n" },
	{ "", "login.defs", 0644,
	  "MAIL_DIR /var/mail\nUMASK 022\nHOME_MODE 0750\nUID_MIN 1000\nUID_MAX 60000\n"
	  "SYS_UID_MIN 100\nSYS_UID_MAX 999\nGID_MIN 1000\nGID_MAX 60000\nSYS_GID_MIN 100\n"
	  "SYS_GID_MAX 999\nUSERGROUPS_ENAB yes\nENCRYPT_METHOD YESCRYPT\n"
	  "ENV_SUPATH PATH=" SYSTEM_PATH "\n"
	  "ENV_PATH PATH=/usr/local/bin:/usr/bin:/bin:" STAND_INS "\n" },
	{ "", "networks", 0644, "loopback 127.0.0.0\n" },
	{ "", "nsswitch.conf", 0644,
	  "passwd: files\ngroup: files\nshadow: files\ngshadow: files\nhosts: files dns\n"
	  "networks: files\nprotocols: files\nservices: files\nethers: files\nrpc: files\n" },
	/* Every command of an SDK is a login shell: bash knows its user without another program. */
	{ "", "profile", 0644,
	  "if [ \"${EUID:-$(id -u)}\" -eq 0 ]; then\n"
	  "    PATH=\"" SYSTEM_PATH "\"\n"
	  "else\n"
	  "    PATH=\"" USER_PATH "\"\n"
	  "fi\n"
	  "export PATH\n"
	  "if [ -n \"$PS1\" ] && [ -n \"$BASH\" ] && [ \"$BASH\" != /bin/sh ]; then\n"
	  "    [ -f /etc/bash.bashrc ] && . /etc/bash.bashrc\n"
	  "fi\n"
	  "for f in /etc/profile.d/*.sh; do\n"
	  "    [ -r \"$f\" ] && . \"$f\"\n"
	  "done\n"
	  "unset f\n" },
	/* Nothing listens there: a name that /etc/hosts does not have fails at once. */
	{ "", "resolv.conf", 0644, "nameserver 127.0.0.53\noptions timeout:1 attempts:1\n" },
	{ "", "shells", 0644,
	  "/bin/sh\n/usr/bin/sh\n/bin/bash\n/usr/bin/bash\n/bin/dash\n/usr/bin/dash\n"
	  "/bin/rbash\n/usr/bin/rbash\n/usr/bin/zsh\n/usr/bin/fish\n" },
	{ "default", "locale", 0644, "LANG=C.UTF-8\n" },
	{ "skel", ".bashrc", 0644, BASHRC },
	{ "skel", ".profile", 0644, PROFILE },
	/* Passwords are locked; root may become anybody, the user may become root through sudo. */
	{ "pam.d", "other", 0644,
	  "auth required pam_deny.so\naccount required pam_deny.so\n"
	  "password required pam_deny.so\nsession required pam_deny.so\n" },
	{ "pam.d", "sudo", 0644, PAM_OPEN },
	{ "pam.d", "sudo-i", 0644, PAM_OPEN },
	{ "pam.d", "runuser", 0644, "auth sufficient pam_rootok.so\nsession required pam_permit.so\n" },
	{ "pam.d", "runuser-l", 0644,
	  "auth sufficient pam_rootok.so\nsession required pam_permit.so\n" },
	{ "pam.d", "su", 0644,
	  "auth sufficient pam_rootok.so\nauth required pam_unix.so\n"
	  "account required pam_permit.so\nsession required pam_permit.so\n" },
	{ "pam.d", "su-l", 0644,
	  "auth sufficient pam_rootok.so\nauth required pam_unix.so\n"
	  "account required pam_permit.so\nsession required pam_permit.so\n" },
	{ "pam.d", "passwd", 0644, "password required pam_unix.so yescrypt\n" },
	{ "pam.d", "chpasswd", 0644, "password required pam_unix.so yescrypt\n" },
	{ "pam.d", "chsh", 0644, "auth sufficient pam_rootok.so\naccount required pam_permit.so\n" },
};

/* System accounts of a Debian base system: packages expect the names and numbers. */
static const char passwd_base[] =
	"root:x:0:0:root:/root:/bin/bash\n"
	"daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
	"bin:x:2:2:bin:/bin:/usr/sbin/nologin\n"
	"sys:x:3:3:sys:/dev:/usr/sbin/nologin\n"
	"sync:x:4:65534:sync:/bin:/bin/sync\n"
	"games:x:5:60:games:/usr/games:/usr/sbin/nologin\n"
	"man:x:6:12:man:/var/cache/man:/usr/sbin/nologin\n"
	"lp:x:7:7:lp:/var/spool/lpd:/usr/sbin/nologin\n"
	"mail:x:8:8:mail:/var/mail:/usr/sbin/nologin\n"
	"news:x:9:9:news:/var/spool/news:/usr/sbin/nologin\n"
	"uucp:x:10:10:uucp:/var/spool/uucp:/usr/sbin/nologin\n"
	"proxy:x:13:13:proxy:/bin:/usr/sbin/nologin\n"
	"www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin\n"
	"backup:x:34:34:backup:/var/backups:/usr/sbin/nologin\n"
	"list:x:38:38:list:/var/list:/usr/sbin/nologin\n"
	"irc:x:39:39:irc:/run/ircd:/usr/sbin/nologin\n"
	"_apt:x:42:65534::/nonexistent:/usr/sbin/nologin\n"
	"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";

static const char group_base[] =
	"root:x:0:\ndaemon:x:1:\nbin:x:2:\nsys:x:3:\nadm:x:4:\ntty:x:5:\ndisk:x:6:\nlp:x:7:\n"
	"mail:x:8:\nnews:x:9:\nuucp:x:10:\nman:x:12:\nproxy:x:13:\nkmem:x:15:\ndialout:x:20:\n"
	"fax:x:21:\nvoice:x:22:\ncdrom:x:24:\nfloppy:x:25:\ntape:x:26:\naudio:x:29:\ndip:x:30:\n"
	"www-data:x:33:\nbackup:x:34:\noperator:x:37:\nlist:x:38:\nirc:x:39:\nsrc:x:40:\n"
	"shadow:x:42:\nutmp:x:43:\nvideo:x:44:\nsasl:x:45:\nplugdev:x:46:\nstaff:x:50:\ngames:x:60:\n"
	"users:x:100:\ncrontab:x:101:\nnogroup:x:65534:\n";

#define GID_SHADOW 42u

/* The host's names below /etc that a guest may read. */
static const struct {
	const char *dir; /* below /etc; "" = /etc itself */
	const char *names[32];
} lower_names[] = {
	/* linker, certificates, time, types, packages */
	{ "", { "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "ca-certificates",
		"ca-certificates.conf", "debian_version", "localtime", "timezone", "mime.types",
		"mailcap", "magic", "magic.mime", "services", "protocols", "rpc", "ethertypes",
		"gai.conf", "locale.alias", "terminfo", "xattr.conf", "mke2fs.conf", "papersize",
		"redhat-release", "crypto-policies" } },
	{ "ssl", { "certs", "openssl.cnf", "cert.pem" } },
	{ "pki/ca-trust", { "extracted" } },
	{ "pki/tls", { "certs", "cert.pem", "openssl.cnf" } },
	/* languages and editors */
	{ "", { "python3", "python3.9", "python3.10", "python3.11", "python3.12", "python3.13",
		"python3.14", "perl", "java", "java-8-openjdk", "java-11-openjdk",
		"java-17-openjdk", "java-21-openjdk", "java-25-openjdk", "R", "mono", "dotnet",
		"octave.conf", "fpc.cfg", "gnucobol", "matplotlibrc", "texmf", "emacs", "vim",
		"nanorc", "tmux.conf", "screenrc", "gdb", "bash_completion", "bash_completion.d" } },
	/* graphics, documents, data bases */
	{ "", { "fonts", "ImageMagick-6", "ImageMagick-7", "ghostscript", "groff", "glvnd",
		"OpenCL", "xml", "sgml", "manpath.config", "lynx", "postgresql-common", "odbcinst.ini" } },
	{ "X11", { "rgb.txt", "app-defaults", "fonts" } },
	{ "maven", { "m2.conf", "logging", "toolchains.xml" } },
};

/* ---- making them ---- */

static int etc_dir(struct inode *root, const char *below, struct inode **ret)
{
	struct inode *etc;
	int err = tree_add_path(root, "etc", 0755, 0, 0, &etc);

	return err < 0 ? err : tree_add_path(etc, below, 0755, 0, 0, ret);
}

static int put_text(struct inode *root, const struct text *t, uint32_t gid)
{
	struct inode *dir;
	int err = etc_dir(root, t->dir, &dir);

	return err < 0 ? err : tree_add_file(dir, t->name, t->mode, 0, gid, t->content,
					     strlen(t->content));
}

__attribute__((format(printf, 5, 6)))
static int put_format(struct inode *root, const char *name, uint16_t mode, uint32_t gid,
		      const char *format, ...)
{
	char content[3072];
	va_list args;

	va_start(args, format);
	int n = vsnprintf(content, sizeof(content), format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(content))
		return -ENAMETOOLONG;
	struct text t = { .dir = "", .name = name, .mode = mode, .content = content };
	return put_text(root, &t, gid);
}

/* The same names as passwd, every password locked. */
static int put_shadow(struct inode *root, const char *user)
{
	char content[1536];
	size_t length = 0;

	for (const char *line = passwd_base; *line; line = strchr(line, '\n') + 1) {
		int n = snprintf(content + length, sizeof(content) - length,
				 "%.*s:*:20000:0:99999:7:::\n", (int)strcspn(line, ":"), line);
		length += (size_t)n;
		if (length >= sizeof(content))
			return -ENAMETOOLONG;
	}
	return put_format(root, "shadow", 0640, GID_SHADOW, "%s%s:*:20000:0:99999:7:::\n", content,
			  user);
}

static int put_users(struct inode *root, const struct fs_plan *plan)
{
	const char *user = plan->user;
	int err = put_format(root, "passwd", 0644, 0, "%s%s:x:%u:%u:%s:/home/%s:/bin/bash\n",
			     passwd_base, user, plan->uid, plan->gid, user, user);

	if (err == 0)
		err = put_format(root, "group", 0644, 0, "%ssudo:x:27:%s\n%s:x:%u:\n", group_base,
				 user, user, plan->gid);
	if (err == 0)
		err = put_format(root, "gshadow", 0640, GID_SHADOW, "root:*::\nsudo:*::%s\n%s:!::\n",
				 user, user);
	if (err == 0)
		err = put_shadow(root, user);
	if (err == 0)
		err = put_format(root, "subuid", 0644, 0, "%s:100000:65536\n", user);
	if (err == 0)
		err = put_format(root, "subgid", 0644, 0, "%s:100000:65536\n", user);
	if (err == 0)
		err = put_format(root, "sudoers", 0440, 0,
				 "Defaults env_reset, !lecture, !use_pty\n"
				 "Defaults secure_path=\"" SYSTEM_PATH "\"\n"
				 "root ALL=(ALL:ALL) ALL\n%%sudo ALL=(ALL:ALL) ALL\n"
				 "%s ALL=(ALL:ALL) NOPASSWD: ALL\n@includedir /etc/sudoers.d\n",
				 user);
	return err;
}

static int put_names(struct inode *root, const struct fs_plan *plan)
{
	int err = put_format(root, "hostname", 0644, 0, "%s\n", plan->hostname);

	if (err == 0)
		err = put_format(root, "hosts", 0644, 0, HOSTS_FORMAT, plan->hostname);
	return err;
}

int setup_etc(struct inode *root, const struct fs_plan *plan)
{
	static const char *const empty_dirs[] = { "sudoers.d", "profile.d", "apt", "apt/apt.conf.d",
						  "apt/preferences.d", "apt/sources.list.d",
						  "apt/trusted.gpg.d", "opt", "init.d", "cron.d",
						  "dpkg", "dpkg/dpkg.cfg.d", "security" };
	struct inode *dir;
	int err = put_users(root, plan);

	if (err == 0)
		err = put_names(root, plan);
	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(texts); i++)
		err = put_text(root, &texts[i], 0);
	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(empty_dirs); i++)
		err = etc_dir(root, empty_dirs[i], &dir);
	if (err == 0)
		err = etc_dir(root, "", &dir);
	if (err == 0)
		err = tree_add_symlink(dir, "mtab", "/proc/self/mounts");
	if (err == 0)
		err = tree_add_symlink(dir, "os-release", "../usr/lib/os-release");
	return err;
}

int setup_dotfiles(struct inode *home, uint32_t uid, uint32_t gid)
{
	int err = tree_add_file(home, ".bashrc", 0644, uid, gid, BASHRC, sizeof(BASHRC) - 1);

	if (err == 0)
		err = tree_add_file(home, ".profile", 0644, uid, gid, PROFILE, sizeof(PROFILE) - 1);
	return err;
}

int setup_etc_lower(struct inode *root, unsigned host_root)
{
	char path[128];
	struct inode *dir;

	for (size_t i = 0; i < ARRAY_SIZE(lower_names); i++) {
		const char *below = lower_names[i].dir;
		int err = etc_dir(root, below, &dir);
		if (err < 0)
			return err;
		for (size_t k = 0; k < ARRAY_SIZE(lower_names[i].names); k++) {
			const char *name = lower_names[i].names[k];
			if (!name)
				break;
			snprintf(path, sizeof(path), "%s%s%s", below, below[0] ? "/" : "", name);
			err = tree_add_lower(dir, name, host_root, path);
			if (err < 0 && err != -EEXIST)
				return err;
		}
	}
	return 0;
}

/*
 * Which packages and versions are installed can be told from /usr anyway; the package lists make
 * dpkg -l, dpkg -S and apt's solver work. Configuration answers of the administrator
 * (/var/cache/debconf) and logs stay outside.
 */
int setup_dpkg_lower(struct inode *root, unsigned host_root)
{
	static const char *const names[] = { "status", "info", "alternatives", "available", "arch",
					     "diversions", "statoverride", "triggers" };
	struct inode *dir;
	int err = tree_add_path(root, "var/lib/dpkg", 0755, 0, 0, &dir);

	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(names); i++)
		err = tree_add_lower(dir, names[i], host_root, names[i]);
	return err;
}
