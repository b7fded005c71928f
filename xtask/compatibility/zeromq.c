/* Threads that push numbers to one that pulls, inside of one process. */
#include <pthread.h>
#include <stdio.h>
#include <zmq.h>

#define THREADS 4
#define NUMBERS 10000

static void *context;

static void *push(void *first)
{
    void *socket = zmq_socket(context, ZMQ_PUSH);

    zmq_connect(socket, "inproc://numbers");
    for (long i = 0, number = (long)first; i < NUMBERS; i++, number += THREADS)
        zmq_send(socket, &number, sizeof number, 0);
    zmq_close(socket);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    long sum = 0, number, count = 0;

    context = zmq_ctx_new();
    zmq_ctx_set(context, ZMQ_IO_THREADS, 4);
    void *socket = zmq_socket(context, ZMQ_PULL);
    zmq_bind(socket, "inproc://numbers");
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, push, (void *)i);
    while (count < THREADS * NUMBERS && zmq_recv(socket, &number, sizeof number, 0) == sizeof number) {
        sum += number;
        count++;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    zmq_close(socket);
    zmq_ctx_term(context);
    printf("%ld %ld\n", count, sum);
    return 0;
}
