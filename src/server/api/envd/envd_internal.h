#pragma once

#include "server/api/envd/rpc.h"
#include "wire/wire.h"

/* process.c */
void envd_process_start(struct http_exchange *x, struct sandbox *s);
void envd_process_connect(struct http_exchange *x, struct sandbox *s);
void envd_process_list(struct rpc_call *c);
void envd_process_send_input(struct rpc_call *c);
void envd_process_close_stdin(struct rpc_call *c);
void envd_process_send_signal(struct rpc_call *c);
void envd_process_update(struct rpc_call *c);

/* filesystem.c */
void envd_fs_stat(struct rpc_call *c);
void envd_fs_list(struct rpc_call *c);
void envd_fs_make_dir(struct rpc_call *c);
void envd_fs_move(struct rpc_call *c);
void envd_fs_remove(struct rpc_call *c);

/* entry.c */
json_t *envd_entry_json(const struct wire_entry *e);

/* watch.c */
void envd_watch_dir(struct http_exchange *x, struct sandbox *s);
void envd_create_watcher(struct rpc_call *c);
void envd_get_watcher_events(struct rpc_call *c);
void envd_remove_watcher(struct rpc_call *c);

/* download.c, upload.c: authorised already */
void envd_download(struct http_exchange *x, struct sandbox *s);
void envd_upload(struct http_exchange *x, struct sandbox *s);

/* auth.c: false = answered with 401 */
/* The token, or a signature of this operation ("read", "write"). */
bool envd_file_allowed(struct http_exchange *x, struct sandbox *s, const char *operation);
