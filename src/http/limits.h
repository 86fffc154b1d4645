/* Limits of the HTTP server; struct http_limits of http/server.h overrides some of them. */
#pragma once

#define HTTP_HEAD_BYTES		     32768 /* request line and fields, or pseudo-fields and fields */
#define HTTP_HEAD_FIELDS	     100
#define HTTP_HEAD_TIMEOUT_MS	     10000 /* first to last byte of a head; also the TLS handshake */
#define HTTP_IDLE_TIMEOUT_MS	     75000 /* between requests */
#define HTTP_STALL_TIMEOUT_MS	     30000 /* no byte moves although one could */
#define HTTP_CONNECTIONS	     16384
#define HTTP_CONNECTIONS_PER_ADDRESS 8192
#define HTTP_STREAMS_PER_CONNECTION  128 /* HTTP/2 */

#define HTTP_LINGER_MS	     2000     /* how long a closed connection's input is thrown away */
#define HTTP_DISCARD_BYTES   262144   /* rest of a request body that is read and thrown away */
#define HTTP_PIPELINED_BYTES 16384    /* requests kept while one is being answered */
#define HTTP_UNSENT_BYTES    262144   /* of answers that are not taken: no further request is looked at */
#define HTTP_REQUESTS_PER_TURN 64     /* of one connection; then it is the others' turn */
#define HTTP_HELD_BYTES	       65536  /* of one connection: counted from there on (http_origin) */
#define HTTP_EXCHANGE_BYTES  16777216 /* memory of http_alloc() and the head of one exchange */
#define HTTP_QUEUE_BYTES     67108864 /* response bytes queued by a handler that does not wait */
#define HTTP_RESPONSE_FIELDS 128
#define HTTP_PARAMS	     8
#define HTTP_SWEEP_MS	     250 /* how often timeouts are looked at */

#define HTTP2_STREAM_WINDOW  262144
#define HTTP2_SESSION_WINDOW 1048576
#define HTTP2_RESETS_BURST   200 /* streams that a client may reset at once, and per second */
#define HTTP2_RESETS_RATE    20
#define HTTP2_CONTINUATIONS  8
