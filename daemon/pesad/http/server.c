// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers requests for profiles and metrics.  See server.h. */
#include "daemon/pesad/http/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "decoder/base/clock.h"
#include "daemon/pesad/http/answer.h"
#include "daemon/pesad/http/page.h"
#include "daemon/pesad/http/clients.h"
#include "daemon/pesad/http/request.h"
#include "daemon/pesad/http/listen.h"
#include "daemon/pesad/http/peer.h"
#include "daemon/pesad/http/response.h"
#include "decoder/base/secret.h"
#include "decoder/base/read_file.h"

#define NS_PER_SECOND	   UINT64_C(1000000000)
#define NS_PER_MILLISECOND UINT64_C(1000000)
#define LISTEN_AGAIN_MS	   10000		    /* until the next attempt to listen */
#define TICK_MS		   1000			    /* between checks for late clients */
#define STACK_BYTES	   (2u << 20)		    /* of a thread that answers */
#define NOBODY		   65534		    /* a user without rights */
#define GRACE		   (NS_PER_SECOND * 3 / 10) /* for unfinished answers at the end */

struct listener {
	struct server *server;
	struct MHD_Daemon *daemon;
	struct pesad_clients *clients;
	enum pesad_reach reach;
};

struct server {
	const struct pesad_worker_context *context;
	struct pesad_intervals *intervals;
	struct pesad_answerer answerer;
	struct pesad_pager pager;
	struct pesa_secret token;
	bool has_token;
	char *certificate, *key, *authority; /* PEM; NULL: no TLS, no certificates of clients */
	struct listener port, socket;
	pthread_mutex_t lock; /* of what follows, and of the log */
	pthread_cond_t done;
	unsigned int answers; /* being made */
	bool stop;
};

/* A request and its state. */
struct exchange {
	struct server *server;
	struct listener *listener;
	struct MHD_Connection *connection;
	struct pesad_judgement judgement;
	bool hide_kernel;
	struct pesad_answer answer;
	bool begun, made;
};

static void __attribute__((format(printf, 2, 3)))
say(struct server *server, const char *format, ...)
{
	char line[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	pthread_mutex_lock(&server->lock);
	pesad_log_limited(server->context->log, PESAD_LOG_HTTP, PESAD_LOG_WARNING, "http: %s",
			  line);
	pthread_mutex_unlock(&server->lock);
}

/* ---- Answers that take time ---------------------------------------------------------------- */

static enum MHD_Result send_answer(struct exchange *exchange)
{
	struct pesad_answer *answer = &exchange->answer;

	if (answer->status != MHD_HTTP_OK && answer->status != MHD_HTTP_NO_CONTENT) {
		say(exchange->server, "%.*s", (int)strcspn(answer->text, "\n"), answer->text);
		return pesad_send_plain(exchange->connection, answer->status, answer->text);
	}
	return pesad_send_answer(exchange->connection, answer, exchange->judgement.resource);
}

static void *make_answer(void *context)
{
	struct exchange *exchange = context;
	struct server *server = exchange->server;

	if (exchange->judgement.resource == PESAD_RESOURCE_PROFILE)
		pesad_answer_profile(&server->answerer, exchange->hide_kernel,
				     exchange->judgement.seconds, &exchange->answer);
	else if (exchange->judgement.resource == PESAD_RESOURCE_PAGE)
		pesad_answer_page(&server->pager, exchange->hide_kernel, &exchange->judgement.range,
				  &exchange->answer);
	else
		pesad_answer_interval(&server->answerer, exchange->hide_kernel,
				      (uint32_t)exchange->judgement.after,
				      exchange->judgement.seconds, &exchange->answer);
	exchange->made = true;
	MHD_resume_connection(exchange->connection);
	pthread_mutex_lock(&server->lock);
	server->answers--;
	pthread_cond_signal(&server->done);
	pthread_mutex_unlock(&server->lock);
	return NULL;
}

static bool start_thread(struct exchange *exchange)
{
	pthread_attr_t attributes;
	pthread_t thread;
	bool started;

	if (pthread_attr_init(&attributes))
		return false;
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	started = !pthread_create(&thread, &attributes, make_answer, exchange);
	pthread_attr_destroy(&attributes);
	return started;
}

static enum MHD_Result begin_answer(struct exchange *exchange)
{
	struct server *server = exchange->server;
	bool room;

	pthread_mutex_lock(&server->lock);
	room = !server->stop && server->answers < PESAD_ANSWERS_MAX;
	server->answers += room;
	pthread_mutex_unlock(&server->lock);
	if (!room)
		return pesad_send_plain(exchange->connection, MHD_HTTP_SERVICE_UNAVAILABLE,
					"too many profiles are being made; ask again later\n");
	MHD_suspend_connection(exchange->connection);
	if (start_thread(exchange))
		return MHD_YES;
	exchange->answer = (struct pesad_answer){.status = MHD_HTTP_SERVICE_UNAVAILABLE,
						 .text = "no thread can be started\n",
						 .file = -1};
	exchange->made = true;
	pthread_mutex_lock(&server->lock);
	server->answers--;
	pthread_mutex_unlock(&server->lock);
	MHD_resume_connection(exchange->connection);
	return MHD_YES;
}

/* ---- Requests ------------------------------------------------------------------------------ */

static enum MHD_Result look_for_proxy(void *context, enum MHD_ValueKind kind, const char *name,
				      const char *value __attribute__((unused)))
{
	bool *forwarded = context;

	if (kind == MHD_HEADER_KIND && pesad_header_of_proxy(name))
		*forwarded = true;
	return MHD_YES;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* A query argument; one without "=" is empty. */
static const char *argument(struct MHD_Connection *connection, const char *name)
{
	const char *value = NULL;
	size_t size = 0;

	if (!MHD_lookup_connection_value_n(connection, MHD_GET_ARGUMENT_KIND, name, strlen(name),
					   &value, &size))
		return NULL;
	/* A zero byte would cut the string. */
	return value && strlen(value) == size ? value : "";
}

static int socket_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *information =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	return information ? information->connect_fd : -1;
}

/* The client of the connection, see clients.h; NULL: refused. */
static struct pesad_client *client_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *information =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return information ? information->socket_context : NULL;
}

/* Return whether the client has a certificate of the configured CA. */
static bool has_certificate(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *information =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	unsigned int problems;

	return information && information->tls_session &&
	       !gnutls_certificate_verify_peers2(information->tls_session, &problems) && !problems;
}

static bool reads_store(const struct server *server, struct MHD_Connection *connection)
{
	return pesad_peer_reads(socket_of(connection), server->context->config->store.directory);
}

/* Users are known on the unix socket only. */
static bool sees_kernel(const struct listener *listener, struct MHD_Connection *connection)
{
	uid_t user = NOBODY;

	if (listener->server->context->config->http.kernel_addresses)
		return true;
	if (listener->reach == PESAD_REACH_SOCKET)
		pesad_peer_user(socket_of(connection), &user);
	return pesad_peer_sees_kernel("", user);
}

static void judge(struct exchange *exchange, const char *method, const char *path)
{
	const struct listener *listener = exchange->listener;
	struct server *server = exchange->server;
	struct MHD_Connection *connection = exchange->connection;
	char token[PESA_SECRET_SIZE] = "";
	struct pesad_request request = {
		.method = method,
		.path = path,
		.host = header(connection, MHD_HTTP_HEADER_HOST),
		.authorization = header(connection, MHD_HTTP_HEADER_AUTHORIZATION),
		.seconds = argument(connection, "seconds"),
		.after = argument(connection, "after"),
		.since = argument(connection, "since"),
		.until = argument(connection, "until"),
		.unit = argument(connection, "unit"),
		.cgroup = argument(connection, "cgroup"),
		.host_name = argument(connection, "host"),
	};
	struct pesad_access access = {
		.reach = listener->reach,
		.wants_token = server->has_token,
		.token = token,
		.wants_certificate = *server->context->config->http.authority,
		.open = server->context->config->http.open,
		.seconds_most = server->context->config->http.profile_most / NS_PER_SECOND,
	};
	struct pesa_error *error;

	MHD_get_connection_values(connection, MHD_HEADER_KIND, look_for_proxy, &request.forwarded);
	if (access.reach == PESAD_REACH_SOCKET) {
		access.reads_store = reads_store(server, connection);
	} else {
		access.has_certificate = access.wants_certificate && has_certificate(connection);
		error = access.wants_token ? pesa_secret_get(&server->token, token) : NULL;
		if (error) {
			/* Without a readable token file all requests are refused. */
			say(server, "%s", error->message);
			pesa_error_free(error);
			*token = '\0';
		}
	}
	pesad_request_judge(&request, &access, &exchange->judgement);
	exchange->hide_kernel = !sees_kernel(listener, connection);
	explicit_bzero(token, sizeof(token));
}

static enum MHD_Result answer_at_once(struct exchange *exchange)
{
	struct MHD_Connection *connection = exchange->connection;

	switch (exchange->judgement.resource) {
	case PESAD_RESOURCE_INDEX:
		return pesad_send_index(connection);
	case PESAD_RESOURCE_PPROF_INDEX:
		return pesad_send_pprof_index(connection);
	case PESAD_RESOURCE_HEALTH:
		return pesad_send_plain(connection, MHD_HTTP_OK, "ok\n");
	case PESAD_RESOURCE_METRICS:
		return pesad_send_metrics(connection, exchange->server->context->metrics);
	case PESAD_RESOURCE_PROFILE:
	case PESAD_RESOURCE_INTERVAL:
	case PESAD_RESOURCE_PAGE:
		return begin_answer(exchange);
	case PESAD_RESOURCE_NONE:
		break;
	}
	return pesad_send_plain(connection, exchange->judgement.status, exchange->judgement.text);
}

/* Called by libmicrohttpd after the headers, after the complete request, and after a suspension. */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path,
			      const char *method, const char *version __attribute__((unused)),
			      const char *upload __attribute__((unused)), size_t *upload_size,
			      void **of_request)
{
	struct listener *listener = context;
	struct server *server = listener->server;
	struct pesad_metrics *metrics = server->context->metrics;
	struct exchange *exchange = *of_request;

	if (!exchange) {
		exchange = calloc(1, sizeof(*exchange));
		if (!exchange)
			return MHD_NO;
		exchange->server = server;
		exchange->listener = listener;
		exchange->connection = connection;
		exchange->answer.file = -1;
		*of_request = exchange;
		judge(exchange, method, path);
		pesad_count(exchange->judgement.status == MHD_HTTP_OK ? &metrics->requests
								      : &metrics->requests_refused,
			    1);
		/* Do not wait for the body of a refused request. */
		if (exchange->judgement.status == MHD_HTTP_OK)
			return MHD_YES;
	}
	if (exchange->made)
		return send_answer(exchange);
	if (*upload_size) {
		*upload_size = 0; /* nothing here wants a body */
		return MHD_YES;
	}
	if (exchange->begun)
		return MHD_YES;
	exchange->begun = true;
	pesad_client_request_complete(listener->clients, client_of(connection));
	return answer_at_once(exchange);
}

static void completed(void *context __attribute__((unused)), struct MHD_Connection *connection,
		      void **of_request,
		      enum MHD_RequestTerminationCode why __attribute__((unused)))
{
	struct exchange *exchange = *of_request;

	if (!exchange)
		return;
	pesad_client_was_answered(exchange->listener->clients, client_of(connection));
	if (exchange->answer.file >= 0)
		close(exchange->answer.file);
	free(exchange->answer.data);
	free(exchange);
	*of_request = NULL;
}

/* Users without access share one key; so do the addresses of an IPv6 network that one host has. */
static struct pesad_client_key key_of(const struct listener *listener,
				      struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *information =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr *address = information ? information->client_addr : NULL;
	struct pesad_client_key key = {.family = AF_UNSPEC};
	uid_t user;

	if (listener->reach == PESAD_REACH_SOCKET) {
		if (reads_store(listener->server, connection) &&
		    pesad_peer_user(socket_of(connection), &user))
			key = (struct pesad_client_key){AF_UNIX, user};
	} else if (address && address->sa_family == AF_INET) {
		key.family = AF_INET;
		key.value = ((const struct sockaddr_in *)address)->sin_addr.s_addr;
	} else if (address && address->sa_family == AF_INET6) {
		key.family = AF_INET6;
		memcpy(&key.value, &((const struct sockaddr_in6 *)address)->sin6_addr,
		       sizeof(key.value));
	}
	return key;
}

static void connected(void *context, struct MHD_Connection *connection, void **of_connection,
		      enum MHD_ConnectionNotificationCode what)
{
	struct listener *listener = context;
	struct pesad_metrics *metrics = listener->server->context->metrics;

	if (what != MHD_CONNECTION_NOTIFY_STARTED) {
		pesad_count(&metrics->clients, (uint64_t)-1);
		pesad_clients_remove(listener->clients, *of_connection);
		*of_connection = NULL;
		return;
	}
	pesad_count(&metrics->clients, 1);
	*of_connection = pesad_clients_add(listener->clients, socket_of(connection),
					   key_of(listener, connection));
	if (*of_connection)
		return;
	pesad_count(&metrics->clients_refused, 1);
	shutdown(socket_of(connection), SHUT_RDWR);
}

/* Suppress libmicrohttpd's messages about bad clients, which are counted elsewhere. */
static void ignore_message(void *context __attribute__((unused)),
			   const char *format __attribute__((unused)),
			   va_list arguments __attribute__((unused)))
{
}

/* Do not decode a text with a zero byte: undecoded it is neither a path nor a number. */
static size_t unescape(void *context __attribute__((unused)),
		       struct MHD_Connection *connection __attribute__((unused)), char *text)
{
	return strstr(text, "%00") ? strlen(text) : MHD_http_unescape(text);
}

/* ---- Start and end ------------------------------------------------------------------------- */

static struct pesa_error *serve(struct listener *listener, int socket, bool tls)
{
	struct server *server = listener->server;
	unsigned int connections = (unsigned int)server->context->config->http.connections;
	unsigned int share = connections / PESAD_PEER_SHARE;
	unsigned int flags = MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
			     MHD_USE_ERROR_LOG | (tls ? MHD_USE_TLS : 0);

	listener->clients =
		pesad_clients_create(share > PESAD_PEER_LEAST ? share : PESAD_PEER_LEAST,
				     PESAD_HEADER_SECONDS * NS_PER_SECOND);
	if (!listener->clients) {
		close(socket);
		return pesa_error_no_memory();
	}
	listener->daemon = MHD_start_daemon(
		flags, 0, NULL, NULL, handle, listener, MHD_OPTION_EXTERNAL_LOGGER, ignore_message,
		NULL, MHD_OPTION_LISTEN_SOCKET, socket, MHD_OPTION_CONNECTION_LIMIT, connections,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)PESAD_REQUEST_BYTES,
		MHD_OPTION_CONNECTION_TIMEOUT, PESAD_IDLE_SECONDS, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL, MHD_OPTION_NOTIFY_COMPLETED,
		completed, NULL, MHD_OPTION_NOTIFY_CONNECTION, connected, listener,
		MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES,
		tls ? MHD_OPTION_HTTPS_MEM_CERT : MHD_OPTION_END, server->certificate,
		MHD_OPTION_HTTPS_MEM_KEY, server->key,
		server->authority ? MHD_OPTION_HTTPS_MEM_TRUST : MHD_OPTION_END, server->authority,
		MHD_OPTION_END);
	if (listener->daemon)
		return NULL;
	pesad_clients_free(listener->clients);
	listener->clients = NULL;
	close(socket);
	return pesa_error_create(PESA_ERROR_OTHER, "libmicrohttpd does not start%s",
				 tls ? ": does it have TLS, and do certificate and key fit?" : "");
}

/* Certificate and key, read once. */
static struct pesa_error *read_tls(struct server *server)
{
	const struct pesad_config *config = server->context->config;
	struct pesa_error *error = NULL;
	size_t size;

	if (!server->certificate)
		error = pesa_read_file(config->http.certificate, &server->certificate, &size);
	if (!error && !server->key)
		error = pesa_read_file(config->http.key, &server->key, &size);
	if (!error && !server->authority && *config->http.authority)
		error = pesa_read_file(config->http.authority, &server->authority, &size);
	return error;
}

static struct pesa_error *listen_port(struct server *server)
{
	const struct pesad_config *config = server->context->config;
	struct pesa_error *error;
	bool loopback, tls = *config->http.certificate;
	int socket;

	if (!*config->http.listen || server->port.daemon)
		return NULL;
	if (tls) {
		error = read_tls(server);
		if (error)
			return error;
	}
	error = pesad_listen_port(config->http.listen, &socket, &loopback);
	if (error)
		return error;
	server->port.reach = loopback ? PESAD_REACH_LOOPBACK : PESAD_REACH_NETWORK;
	error = serve(&server->port, socket, tls);
	if (!error && config->http.open)
		pesad_log(server->context->log, PESAD_LOG_WARNING,
			  "http: http.open: %s who reaches %s may ask for profiles of all programs",
			  loopback ? "every user of this host" : "everybody", config->http.listen);
	return error;
}

static struct pesa_error *listen_path(struct server *server)
{
	const struct pesad_config *config = server->context->config;
	const char *path = config->http.socket;
	struct pesa_error *error;
	int socket;

	if (!*path || server->socket.daemon)
		return NULL;
	error = pesad_listen_path(path, pesad_peer_socket_mode(config->store.directory), &socket);
	if (error)
		return error;
	server->socket.reach = PESAD_REACH_SOCKET;
	return serve(&server->socket, socket, false);
}

static bool wants_port(const struct server *server)
{
	return *server->context->config->http.listen && !server->port.daemon;
}

static bool wants_path(const struct server *server)
{
	return *server->context->config->http.socket && !server->socket.daemon;
}

/* Open the listeners that are not open yet; failures are retried later. */
static void listen_where_wanted(struct server *server)
{
	struct pesa_error *errors[] = {listen_port(server), listen_path(server)};

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (errors[i]) {
			say(server, "%s", errors[i]->message);
			pesa_error_free(errors[i]);
		}
}

static void look_at_clients(struct server *server)
{
	const struct listener *listeners[] = {&server->port, &server->socket};

	for (size_t i = 0; i < sizeof(listeners) / sizeof(*listeners); i++)
		if (listeners[i]->clients)
			pesad_count(&server->context->metrics->clients_late,
				    pesad_clients_drop_late(listeners[i]->clients));
}

/* Process messages until SIGTERM, or until the collector ends. */
static void follow_channel(struct server *server, int signals)
{
	const struct pesad_worker_context *context = server->context;
	struct pollfd polled[] = {{.fd = context->channel, .events = POLLIN},
				  {.fd = signals, .events = POLLIN}};
	uint64_t tried = pesa_monotonic();
	struct pesad_message message;
	bool gone = false;

	while (!gone && !(polled[1].revents & POLLIN)) {
		bool wants = wants_port(server) || wants_path(server);

		if (poll(polled, 2, TICK_MS) < 0 && errno != EINTR)
			break;
		look_at_clients(server);
		while (pesad_channel_take(context->channel, &message, &gone))
			if (message.kind == PESAD_MESSAGE_INTERVAL ||
			    message.kind == PESAD_MESSAGE_FLUSHED)
				pesad_intervals_add(server->intervals, &message);
		if (wants && pesa_monotonic() - tried >= LISTEN_AGAIN_MS * NS_PER_MILLISECOND) {
			listen_where_wanted(server);
			tried = pesa_monotonic();
		}
	}
}

/* Return whether all answers have finished. */
static bool wait_for_answers(struct server *server)
{
	uint64_t end = pesa_monotonic() + GRACE;
	struct timespec deadline = {.tv_sec = (time_t)(end / NS_PER_SECOND),
				    .tv_nsec = (long)(end % NS_PER_SECOND)};
	bool all;

	pesad_intervals_stop(server->intervals);
	pthread_mutex_lock(&server->lock);
	server->stop = true;
	while (server->answers && !pthread_cond_timedwait(&server->done, &server->lock, &deadline))
		;
	all = !server->answers;
	pthread_mutex_unlock(&server->lock);
	return all;
}

static void destroy(struct server *server)
{
	if (server->port.daemon)
		MHD_stop_daemon(server->port.daemon);
	if (server->socket.daemon) {
		unlink(server->context->config->http.socket);
		MHD_stop_daemon(server->socket.daemon);
	}
	pesad_clients_free(server->port.clients);
	pesad_clients_free(server->socket.clients);
	pesad_intervals_free(server->intervals);
	pesa_secret_close(&server->token);
	pesad_pager_end(&server->pager);
	pthread_mutex_destroy(&server->answerer.exporting);
	pthread_mutex_destroy(&server->lock);
	pthread_cond_destroy(&server->done);
	free(server->certificate);
	free(server->authority);
	if (server->key)
		explicit_bzero(server->key, strlen(server->key));
	free(server->key);
	free(server);
}

static struct pesa_error *create(const struct pesad_worker_context *context, struct server **result)
{
	const char *directory = getenv("TMPDIR");
	struct server *server = calloc(1, sizeof(*server));
	pthread_condattr_t attributes;
	struct pesa_error *error = NULL;

	if (!server)
		return pesa_error_no_memory();
	server->context = context;
	server->port.server = server->socket.server = server;
	pthread_mutex_init(&server->lock, NULL);
	pthread_mutex_init(&server->answerer.exporting, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&server->done, &attributes);
	pthread_condattr_destroy(&attributes);
	server->intervals = pesad_intervals_create(context->channel);
	server->answerer.intervals = server->intervals;
	server->answerer.directory = directory ? directory : "/tmp";
	server->answerer.metrics = context->metrics;
	server->pager.answerer = &server->answerer;
	server->pager.store = context->config->store.directory;
	server->pager.time = context->config->http.page_most;
	server->pager.size = context->config->http.memory;
	pesad_pager_begin(&server->pager);
	server->answerer.compression = (int)context->config->store.compression;
	if (!server->intervals)
		error = pesa_error_no_memory();
	else if (*context->config->http.token_file)
		error = pesa_secret_open(&server->token, context->config->http.token_file);
	server->has_token = !error && *context->config->http.token_file;
	if (error)
		destroy(server);
	else
		*result = server;
	return error;
}

struct pesa_error *pesad_server_run(const struct pesad_worker_context *context)
{
	struct pesa_error *error;
	struct server *server;
	int signals;

	error = pesad_worker_begin(&signals);
	if (error)
		return error;
	error = create(context, &server);
	if (error) {
		close(signals);
		return error;
	}
	pesad_set(&context->metrics->clients, 0);
	listen_where_wanted(server);
	follow_channel(server, signals);
	close(signals);
	/* Unfinished answers still use the server's memory: then leave it to the exit. */
	if (wait_for_answers(server))
		destroy(server);
	else if (server->socket.daemon)
		unlink(context->config->http.socket);
	return NULL;
}
