/* OpenSSL 3 on several threads. `openssl fetch THREADS N` fetches an algorithm N times in each thread, as each
 * handshake does; `openssl tls THREADS N` makes N TLS handshakes in each, client and server in memory, resumed sessions
 * but for the first. All threads share the library's context, and the server's and the client's. */
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static SSL_CTX *server_context, *client_context;
static long rounds;

static void must(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "openssl.c: failed: %s\n", what);
        exit(1);
    }
}

static void *fetch(void *unused)
{
    for (long i = 0; i < rounds; i++) {
        EVP_MD *digest = EVP_MD_fetch(NULL, "SHA256", NULL);
        must(digest != NULL, "EVP_MD_fetch");
        EVP_MD_free(digest);
    }
    return unused;
}

/* Makes one handshake, with this session if there is one; returns the session for the next one. */
static SSL_SESSION *handshake(SSL_SESSION *session, long *resumed)
{
    SSL *server = SSL_new(server_context), *client = SSL_new(client_context);
    BIO *ours, *theirs;
    must(server && client && BIO_new_bio_pair(&ours, 0, &theirs, 0), "SSL_new");
    SSL_set_bio(server, ours, ours);
    SSL_set_bio(client, theirs, theirs);
    SSL_set_accept_state(server);
    SSL_set_connect_state(client);
    if (session)
        must(SSL_set_session(client, session), "SSL_set_session");
    SSL_SESSION_free(session);
    for (int step = 0; SSL_in_init(server) || SSL_in_init(client); step++) {
        must(step < 100, "a handshake that ends");
        SSL_do_handshake(client);
        SSL_do_handshake(server);
    }
    *resumed += SSL_session_reused(client);
    char byte;
    must(SSL_write(server, "x", 1) == 1 && SSL_read(client, &byte, 1) == 1, "a byte"); /* brings the ticket, too */
    session = SSL_get1_session(client);
    /* As if both had said goodbye: a session that ends otherwise is not resumed. */
    SSL_set_shutdown(client, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_set_shutdown(server, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(server);
    SSL_free(client);
    return session;
}

static void *tls(void *unused)
{
    long resumed = 0;
    SSL_SESSION *session = NULL;
    for (long i = 0; i < rounds; i++)
        session = handshake(session, &resumed);
    SSL_SESSION_free(session);
    must(resumed == rounds - 1, "all sessions but the first are resumed");
    return unused;
}

static void prepare_tls(void)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    must(key && certificate && ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1), "a key");
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    must(X509_set_pubkey(certificate, key) && X509_sign(certificate, key, EVP_sha256()), "a certificate");
    server_context = SSL_CTX_new(TLS_server_method());
    client_context = SSL_CTX_new(TLS_client_method());
    must(server_context && client_context, "SSL_CTX_new");
    must(SSL_CTX_use_certificate(server_context, certificate), "SSL_CTX_use_certificate");
    must(SSL_CTX_use_PrivateKey(server_context, key), "SSL_CTX_use_PrivateKey");
    SSL_CTX_set_verify(client_context, SSL_VERIFY_NONE, NULL);
}

int main(int count, char **words)
{
    pthread_t thread[64];
    int threads = count == 4 ? atoi(words[2]) : 0;
    rounds = count == 4 ? atol(words[3]) : 0;
    if (threads < 1 || threads > 64 || rounds < 1 || (strcmp(words[1], "fetch") && strcmp(words[1], "tls"))) {
        fprintf(stderr, "usage: openssl fetch|tls THREADS ROUNDS (at most 64 threads)\n");
        return 2;
    }
    int is_tls = !strcmp(words[1], "tls");
    if (is_tls)
        prepare_tls();
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < threads; i++)
        must(!pthread_create(&thread[i], NULL, is_tls ? tls : fetch, NULL), "pthread_create");
    for (int i = 0; i < threads; i++)
        must(!pthread_join(thread[i], NULL), "pthread_join");
    clock_gettime(CLOCK_MONOTONIC, &to);
    double seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
    printf("done %ld\n%.0f operations/s\n", threads * rounds, (double)threads * (double)rounds / seconds);
    return 0;
}
