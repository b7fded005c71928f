/** Threads add to one counter under one monitor. Usage: Counter THREADS INCREMENTS */
public final class Counter {
    private static long count;

    private static synchronized void add() {
        count++;
    }

    public static void main(String[] arguments) throws InterruptedException {
        int threads = Integer.parseInt(arguments[0]);
        long increments = Long.parseLong(arguments[1]);
        Thread[] crew = new Thread[threads];
        long begin = System.nanoTime();
        for (int i = 0; i < threads; i++) {
            crew[i] = new Thread(() -> {
                for (long n = 0; n < increments; n++) {
                    add();
                }
            });
            crew[i].start();
        }
        for (Thread thread : crew) {
            thread.join();
        }
        double seconds = (System.nanoTime() - begin) / 1e9;
        System.out.println("count " + count);
        System.out.printf(java.util.Locale.ROOT, "%.0f increments/s%n", threads * increments / seconds);
    }
}
