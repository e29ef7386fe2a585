// A cache of recently used values. What makes it slow is the heap that it is given.
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;

public class GarbageCollection {
    private static final int MOST = 150_000;

    public static void main(String[] arguments) {
        Map<Integer, byte[]> cache = new LinkedHashMap<>(16, 0.75f, true) {
            @Override
            protected boolean removeEldestEntry(Map.Entry<Integer, byte[]> eldest) {
                return size() > MOST;
            }
        };
        Random random = new Random(1);
        long bytes = 0;
        for (int i = 0; i < 2_500_000; i++) {
            int key = random.nextInt(2 * MOST);
            bytes += cache.computeIfAbsent(key, missing -> new byte[100 + missing % 100]).length;
        }
        System.out.println(bytes);
    }
}
