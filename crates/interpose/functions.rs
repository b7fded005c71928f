// The functions that our libraries export, or call in the next library. Both take the signatures from here
// (`src/table.rs`), and the linker the versions that glibc gives them on x86-64 today (`build.rs`).
//
// | kind | what |
// |---|---|
// | `plain` | exported by its name |
// | `asked` | the same; `dlsym` calls it, so it must be found without that |
// | `cond` | has two ABIs on x86-64: exported as `turnwise_` and the name, and by default under this version |
// | `old` | the other ABI, of programs of 2002: exported as `turnwise_` and the name |
// | `passing` | the same, and only under its version: calls of the library itself, which have no version until they are
// linked, go to whichever library is first, as without it |
// | `start` | exported by `src/exec.rs`, whatever its arguments |
// | `ours` | the preload library's own, for a recorder in front of it |
functions! { $ // stands for itself in the macro that is made
    plain "GLIBC_2.2.5" {
        pthread_mutex_init(mutex: c::Mutex, attributes: *const libc::pthread_mutexattr_t);
        pthread_mutex_destroy(mutex: c::Mutex);
        pthread_mutex_lock(mutex: c::Mutex);
        pthread_mutex_unlock(mutex: c::Mutex);
        __pthread_mutex_init(mutex: c::Mutex, attributes: *const libc::pthread_mutexattr_t);
        __pthread_mutex_destroy(mutex: c::Mutex);
        __pthread_mutex_lock(mutex: c::Mutex);
        __pthread_mutex_trylock(mutex: c::Mutex);
        __pthread_mutex_unlock(mutex: c::Mutex);
        __pthread_rwlock_init(lock: c::RwLock, attributes: *const libc::pthread_rwlockattr_t);
        __pthread_rwlock_destroy(lock: c::RwLock);
        __pthread_rwlock_rdlock(lock: c::RwLock);
        __pthread_rwlock_tryrdlock(lock: c::RwLock);
        __pthread_rwlock_wrlock(lock: c::RwLock);
        __pthread_rwlock_trywrlock(lock: c::RwLock);
        __pthread_rwlock_unlock(lock: c::RwLock);
        chroot(path: *const libc::c_char);
        setuid(user: libc::uid_t);
        seteuid(user: libc::uid_t);
        setreuid(real: libc::uid_t, effective: libc::uid_t);
        setresuid(real: libc::uid_t, effective: libc::uid_t, saved: libc::uid_t);
        setrlimit(resource: libc::c_int, limit: *const libc::rlimit);
        setrlimit64(resource: libc::c_int, limit: *const libc::rlimit64);
    }
    plain "GLIBC_2.2.5" "GLIBC_2.34" {
        pthread_mutex_trylock(mutex: c::Mutex);
        pthread_mutex_timedlock(mutex: c::Mutex, at: c::Time);
        pthread_rwlock_init(lock: c::RwLock, attributes: *const libc::pthread_rwlockattr_t);
        pthread_rwlock_destroy(lock: c::RwLock);
        pthread_rwlock_rdlock(lock: c::RwLock);
        pthread_rwlock_tryrdlock(lock: c::RwLock);
        pthread_rwlock_timedrdlock(lock: c::RwLock, at: c::Time);
        pthread_rwlock_wrlock(lock: c::RwLock);
        pthread_rwlock_trywrlock(lock: c::RwLock);
        pthread_rwlock_timedwrlock(lock: c::RwLock, at: c::Time);
        pthread_rwlock_unlock(lock: c::RwLock);
        pthread_spin_init(lock: c::Spin, shared: libc::c_int);
        pthread_spin_destroy(lock: c::Spin);
        pthread_spin_lock(lock: c::Spin);
        pthread_spin_trylock(lock: c::Spin);
        pthread_spin_unlock(lock: c::Spin);
        pthread_create(id: c::Thread, with: *const libc::pthread_attr_t, run: c::Routine, argument: *mut libc::c_void);
        dlclose(handle: *mut libc::c_void);
        sem_wait(semaphore: c::Semaphore);
        sem_timedwait(semaphore: c::Semaphore, at: c::Time);
        sem_post(semaphore: c::Semaphore);
        pthread_barrier_wait(barrier: c::Barrier);
        pthread_join(id: libc::pthread_t, result: c::Result);
        pthread_once(control: c::Once, run: c::Initialiser);
    }
    plain "GLIBC_2.3.3" "GLIBC_2.34" {
        pthread_timedjoin_np(id: libc::pthread_t, result: c::Result, at: c::Time);
    }
    plain "GLIBC_2.30" "GLIBC_2.34" {
        sem_clockwait(semaphore: c::Semaphore, clock: libc::clockid_t, at: c::Time);
    }
    plain "GLIBC_2.31" "GLIBC_2.34" {
        pthread_clockjoin_np(id: libc::pthread_t, result: c::Result, clock: libc::clockid_t, at: c::Time);
    }
    asked "GLIBC_2.2.5" "GLIBC_2.34" {
        pthread_key_create(key: *mut libc::pthread_key_t, destructor: c::Destructor);
        __pthread_key_create(key: *mut libc::pthread_key_t, destructor: c::Destructor);
        pthread_key_delete(key: libc::pthread_key_t);
        pthread_setspecific(key: libc::pthread_key_t, value: *const libc::c_void);
    }
    plain "GLIBC_2.28" "GLIBC_2.34" {
        mtx_init(mutex: c::Mutex, kind: libc::c_int);
        mtx_destroy(mutex: c::Mutex) -> ();
        mtx_lock(mutex: c::Mutex);
        mtx_trylock(mutex: c::Mutex);
        mtx_timedlock(mutex: c::Mutex, at: c::Time);
        mtx_unlock(mutex: c::Mutex);
        cnd_init(cond: c::Cond);
        cnd_destroy(cond: c::Cond) -> ();
        cnd_wait(cond: c::Cond, mutex: c::Mutex);
        cnd_timedwait(cond: c::Cond, mutex: c::Mutex, at: c::Time);
        cnd_signal(cond: c::Cond);
        cnd_broadcast(cond: c::Cond);
        thrd_create(id: c::Thread, run: c::Routine, argument: *mut libc::c_void);
        tss_create(key: *mut libc::pthread_key_t, destructor: c::Destructor);
        tss_delete(key: libc::pthread_key_t) -> ();
        tss_set(key: libc::pthread_key_t, value: *mut libc::c_void);
    }
    plain "GLIBC_2.30" "GLIBC_2.34" {
        pthread_mutex_clocklock(mutex: c::Mutex, clock: libc::clockid_t, at: c::Time);
        pthread_cond_clockwait(cond: c::Cond, mutex: c::Mutex, clock: libc::clockid_t, at: c::Time);
        pthread_rwlock_clockrdlock(lock: c::RwLock, clock: libc::clockid_t, at: c::Time);
        pthread_rwlock_clockwrlock(lock: c::RwLock, clock: libc::clockid_t, at: c::Time);
    }
    cond "GLIBC_2.3.2" {
        pthread_cond_init(cond: c::Cond, attributes: *const libc::pthread_condattr_t);
        pthread_cond_destroy(cond: c::Cond);
        pthread_cond_wait(cond: c::Cond, mutex: c::Mutex);
        pthread_cond_timedwait(cond: c::Cond, mutex: c::Mutex, at: c::Time);
        pthread_cond_signal(cond: c::Cond);
        pthread_cond_broadcast(cond: c::Cond);
    }
    old "GLIBC_2.2.5" {
        pthread_cond_init_2_2_5(cond: c::Cond, attributes: *const libc::pthread_condattr_t);
        pthread_cond_destroy_2_2_5(cond: c::Cond);
        pthread_cond_wait_2_2_5(cond: c::Cond, mutex: c::Mutex);
        pthread_cond_timedwait_2_2_5(cond: c::Cond, mutex: c::Mutex, at: c::Time);
        pthread_cond_signal_2_2_5(cond: c::Cond);
        pthread_cond_broadcast_2_2_5(cond: c::Cond);
    }
    passing "GLIBC_2.2.5" {
        prctl(option: libc::c_int, a: usize, b: usize, c: usize, d: usize);
        syscall(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize, g: usize) -> libc::c_long;
    }
    start "GLIBC_2.2.5" { execve(); execv(); execvp(); execl(); execlp(); execle(); fexecve(); }
    start "GLIBC_2.11" { execvpe(); }
    start "GLIBC_2.34" { execveat(); }
    start "GLIBC_2.2.5" "GLIBC_2.15" { posix_spawn(); posix_spawnp(); }
    ours {
        turnwise_mutex_trylock(mutex: c::Mutex);
        turnwise_rwlock_trywrlock(lock: c::RwLock);
        turnwise_thread_events(class: libc::c_int, object: *mut libc::c_void, counts: *mut u32, room: usize) -> usize;
    }
}
