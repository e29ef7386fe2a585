/** Known methods: on a processor, in a read of a pipe, and asleep. */
public class Runtimes {
    static double leaf(int n) {
        double sum = 0;
        for (int i = 0; i < n; i++) sum += Math.sqrt(i * 3 + sum % 7);
        return sum;
    }

    static double inCpu() {
        double sum = 0;
        for (long end = System.nanoTime() + 800_000_000L; System.nanoTime() < end; ) sum += leaf(2000);
        return sum;
    }

    static void inPipe() throws Exception {
        System.in.read();
    }

    static void inSleep() throws Exception {
        Thread.sleep(100);
    }

    static void middle(int what) throws Exception {
        if (what == 0) inCpu();
        if (what == 1) inPipe();
        if (what == 2) inSleep();
    }

    static void outer(int what) throws Exception {
        middle(what);
    }

    public static void main(String[] arguments) throws Exception {
        for (int what = 0; what < 3; what++) outer(what);
    }
}
