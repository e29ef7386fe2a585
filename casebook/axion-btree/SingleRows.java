import java.util.Iterator;
import java.util.PrimitiveIterator;

/** The first round: the same chains, with an iterator of one row where a list was. */
final class SingleRows extends BTree {
    private static final class Single implements Iterator<Object> {
        private Object row;

        Single(Object row) {
            this.row = row;
        }

        @Override
        public boolean hasNext() {
            return row != null;
        }

        @Override
        public Object next() {
            Object next = row;
            row = null;
            return next;
        }
    }

    @Override
    public PrimitiveIterator.OfInt getAllFrom(int key) {
        return ObjectChain.asNumbers(getAllFrom(root, key));
    }

    private static Iterator<?> getAllFrom(Node node, int key) {
        ObjectChain chain = new ObjectChain();
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
