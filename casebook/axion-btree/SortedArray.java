import java.util.Arrays;
import java.util.PrimitiveIterator;
import java.util.stream.IntStream;

/** Keys in order, rows beside them: slow to fill, quick to ask. */
final class SortedArray implements Index {
    private int[] keys = new int[16];
    private int[] rows = new int[16];
    private int count;

    private int firstAbove(int key) {
        int found = Arrays.binarySearch(keys, 0, count, key);
        return found < 0 ? -found - 1 : found + 1;
    }

    @Override
    public void insert(int key, int row) {
        if (count == keys.length) {
            keys = Arrays.copyOf(keys, count * 2);
            rows = Arrays.copyOf(rows, count * 2);
        }
        int at = firstAbove(key);
        System.arraycopy(keys, at, keys, at + 1, count - at);
        System.arraycopy(rows, at, rows, at + 1, count - at);
        keys[at] = key;
        rows[at] = row;
        count++;
    }

    @Override
    public PrimitiveIterator.OfInt getAllFrom(int key) {
        return IntStream.range(firstAbove(key), count).map(at -> rows[at]).iterator();
    }
}
