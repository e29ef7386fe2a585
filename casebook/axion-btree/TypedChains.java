import java.util.Arrays;
import java.util.PrimitiveIterator;

/** The second round: chains of numbers instead of objects. */
final class TypedChains extends BTree {
    private static final class Single implements PrimitiveIterator.OfInt {
        private final int row;
        private boolean isTaken;

        Single(int row) {
            this.row = row;
        }

        @Override
        public boolean hasNext() {
            return !isTaken;
        }

        @Override
        public int nextInt() {
            isTaken = true;
            return row;
        }
    }

    private static final class IntChain implements PrimitiveIterator.OfInt {
        private PrimitiveIterator.OfInt[] parts = new PrimitiveIterator.OfInt[16];
        private int count;
        private int at;

        void add(PrimitiveIterator.OfInt part) {
            if (count == parts.length) {
                parts = Arrays.copyOf(parts, count * 2);
            }
            parts[count++] = part;
        }

        @Override
        public boolean hasNext() {
            while (at < count && !parts[at].hasNext()) {
                at++;
            }
            return at < count;
        }

        @Override
        public int nextInt() {
            return parts[at].nextInt();
        }
    }

    @Override
    public PrimitiveIterator.OfInt getAllFrom(int key) {
        return getAllFrom(root, key);
    }

    private static IntChain getAllFrom(Node node, int key) {
        IntChain chain = new IntChain();
        for (int at = node.firstAbove(key); at <= node.count; at++) {
            if (!node.isLeaf()) {
                chain.add(getAllFrom(node.children[at], key));
            }
            if (at < node.count) {
                chain.add(new Single(node.rows[at]));
            }
        }
        return chain;
    }
}
