/** A method that becomes part of another, and two sleeps in one method. */
public class Lines {
    static double small(double x) {
        return Math.sqrt(x * 3 + 1) / (x % 7 + 1); // in small
    }

    static double hot(int n) {
        double sum = 0;
        for (int i = 0; i < n; i++) sum += small(sum + i); // in hot
        return sum;
    }

    static void sleeps() throws Exception {
        Thread.sleep(3); // three
        Thread.sleep(12); // twelve
    }

    public static void main(String[] arguments) throws Exception {
        double sum = 0;
        for (long end = System.nanoTime() + 800_000_000L; System.nanoTime() < end; ) sum += hot(2000);
        for (int i = 0; i < 40; i++) sleeps();
        if (sum == 1) System.out.println(sum);
    }
}
