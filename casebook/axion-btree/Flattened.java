import java.util.PrimitiveIterator;

/** The third round: no chains. One list goes through the tree, and each row is put into it. */
final class Flattened extends BTree {
    @Override
    public PrimitiveIterator.OfInt getAllFrom(int key) {
        IntList found = new IntList();
        getAllFrom(root, key, found);
        return found.iterator();
    }

    private static void getAllFrom(Node node, int key, IntList found) {
        for (int at = node.firstAbove(key); at <= node.count; at++) {
            if (!node.isLeaf()) {
                getAllFrom(node.children[at], key, found);
            }
            if (at < node.count) {
                found.add(node.rows[at]);
            }
        }
    }
}
