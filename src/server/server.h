/*
 * What the parts of the daemon share: one struct, made by main.c, that hands out the parts. Each part
 * is opaque here; whoever needs one includes its header.
 */
#pragma once

typedef struct uv_loop_s uv_loop_t;

struct config;
struct store;
struct http_server;
struct launcher;
struct sandboxes;
struct snapshots;
struct observer;
struct cell_service;

struct server {
	uv_loop_t *loop;
	struct config *config;	     /* server/config */
	struct store *store;	     /* server/store */
	struct launcher *launcher;   /* server/runtime: client of hotcell-launcher */
	struct sandboxes *sandboxes; /* server/sandbox */
	struct snapshots *snapshots; /* server/snapshot */
	struct observer *observer;   /* server/observe */
	struct http_server *http;    /* http */
	const struct cell_service *inside; /* server/sandbox/cell.h; NULL = none */
	const char *domain;	     /* of port-id.domain hosts, as clients are told; NULL = none */
};
