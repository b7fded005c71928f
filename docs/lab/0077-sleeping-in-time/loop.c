#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t mx = PTHREAD_MUTEX_INITIALIZER;
static int mode, S, O; static long N;
static double now(void){struct timespec t;clock_gettime(CLOCK_MONOTONIC,&t);return t.tv_sec+1e-9*t.tv_nsec;}
static double per; // loops per ns
static void work(int loops){for(volatile int i=0;i<loops;i++);}
static void *run(void *a){ unsigned long x=(long)a*7919+1; int s=S*per,o=O*per;
  for(long i=0;i<N;i++){ x=x*6364136223846793005ul+1; 
    int reader = mode==2 || (mode==3 && (x>>60&3)!=0);
    if(mode==0) pthread_mutex_lock(&mx); else if(reader) pthread_rwlock_rdlock(&rw); else pthread_rwlock_wrlock(&rw);
    work(s); if(mode==0) pthread_mutex_unlock(&mx); else pthread_rwlock_unlock(&rw); work(o);} return 0;}
int main(int c,char**v){ mode=atoi(v[1]);S=atoi(v[2]);O=atoi(v[3]);int T=atoi(v[4]);N=atol(v[5]);
  double b=now();work(10000000);b=now()-b; per=10000000/(b*1e9);
  struct rusage r0,r1; getrusage(RUSAGE_SELF,&r0); double t=now(); pthread_t p[64]; for(long i=0;i<T;i++)pthread_create(p+i,0,run,(void*)i); for(int i=0;i<T;i++)pthread_join(p[i],0); t=now()-t; getrusage(RUSAGE_SELF,&r1);
  double n=(double)N*T; double cpu=(r1.ru_utime.tv_sec-r0.ru_utime.tv_sec+r1.ru_stime.tv_sec-r0.ru_stime.tv_sec)+1e-6*(r1.ru_utime.tv_usec-r0.ru_utime.tv_usec+r1.ru_stime.tv_usec-r0.ru_stime.tv_usec);
  printf("mode %d S %d O %d T %d: %.0f k/s, vol %.2f%%, invol %.3f%%, busy %.2f\n",mode,S,O,T,n/t/1e3,100*(r1.ru_nvcsw-r0.ru_nvcsw)/n,100*(r1.ru_nivcsw-r0.ru_nivcsw)/n,cpu/t);}
