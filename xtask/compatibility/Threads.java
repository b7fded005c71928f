import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;
import java.util.stream.*;

/** Monitors, locks with conditions, executors and parallel streams. */
class Threads {
    static long guarded;
    static final Object monitor = new Object();

    public static void main(String[] args) throws Exception {
        var pool = Executors.newFixedThreadPool(4);
        var locked = new long[1];
        var lock = new ReentrantLock();
        var tasks = new java.util.ArrayList<Future<?>>();
        for (int i = 0; i < 4; i++) {
            tasks.add(pool.submit(() -> {
                for (int turn = 0; turn < 100000; turn++) {
                    synchronized (monitor) { guarded++; }
                    lock.lock();
                    try { locked[0]++; } finally { lock.unlock(); }
                }
            }));
        }
        for (var task : tasks) task.get();
        var queue = new ArrayBlockingQueue<Integer>(4);
        var summed = pool.submit(() -> {
            int sum = 0;
            for (int i = 0; i < 1000; i++) sum += queue.take();
            return sum;
        });
        for (int i = 0; i < 1000; i++) queue.put(i);
        long sum = summed.get();
        if (IntStream.range(0, 1000).parallel().asLongStream().sum() != sum) throw new AssertionError("streams");
        pool.shutdown();
        System.out.println(guarded + " " + locked[0] + " " + sum);
    }
}
