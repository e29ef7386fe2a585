import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.PrimitiveIterator;

/** As it was: each node makes a chain of its children's chains and, between them, of lists with one row each. */
final class NestedChains extends BTree {
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
                List<Object> one = new ArrayList<>();
                one.add(node.rows[at]);
                chain.add(one.listIterator());
            }
        }
        return chain;
    }
}
