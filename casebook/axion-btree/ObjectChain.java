import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.PrimitiveIterator;

/** One iterator of anything after the other. */
final class ObjectChain implements Iterator<Object> {
    private final List<Iterator<?>> parts = new ArrayList<>();
    private int at;

    void add(Iterator<?> part) {
        parts.add(part);
    }

    @Override
    public boolean hasNext() {
        while (at < parts.size() && !parts.get(at).hasNext()) {
            at++;
        }
        return at < parts.size();
    }

    @Override
    public Object next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        return parts.get(at).next();
    }

    /** What it holds, as numbers. */
    static PrimitiveIterator.OfInt asNumbers(Iterator<?> objects) {
        return new PrimitiveIterator.OfInt() {
            @Override
            public boolean hasNext() {
                return objects.hasNext();
            }

            @Override
            public int nextInt() {
                return (Integer) objects.next();
            }
        };
    }
}
