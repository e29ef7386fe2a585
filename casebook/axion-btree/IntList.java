import java.util.Arrays;
import java.util.PrimitiveIterator;

/** Numbers, as many as are added. */
final class IntList {
    private int[] numbers = new int[64];
    private int count;

    void add(int number) {
        if (count == numbers.length) {
            numbers = Arrays.copyOf(numbers, count * 2);
        }
        numbers[count++] = number;
    }

    /** Those from here to there in an array. */
    void addAll(int[] from, int start, int end) {
        int length = end - start;
        if (count + length > numbers.length) {
            numbers = Arrays.copyOf(numbers, Math.max(count + length, count * 2));
        }
        System.arraycopy(from, start, numbers, count, length);
        count += length;
    }

    PrimitiveIterator.OfInt iterator() {
        return Arrays.stream(numbers, 0, count).iterator();
    }
}
