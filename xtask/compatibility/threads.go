// Goroutines on Go's locks, and C threads' locks through cgo.
package main

/*
#cgo LDFLAGS: -pthread
#include <pthread.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long count;
static void add(void) { pthread_mutex_lock(&mutex); count++; pthread_mutex_unlock(&mutex); }
static long counted(void) { return count; }
*/
import "C"

import (
	"fmt"
	"sync"
)

func main() {
	var group sync.WaitGroup
	var mutex sync.Mutex
	count := 0
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for j := 0; j < 10000; j++ {
				mutex.Lock()
				count++
				mutex.Unlock()
				if j%2 == 0 {
					C.add()
				}
			}
		}()
	}
	group.Wait()
	fmt.Println(count, C.counted())
}
