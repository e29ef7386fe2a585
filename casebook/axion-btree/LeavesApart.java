import java.util.PrimitiveIterator;

/** The fourth round: a leaf has no children to come between its rows, so they are put into the list at once. */
final class LeavesApart extends BTree {
    @Override
    public PrimitiveIterator.OfInt getAllFrom(int key) {
        IntList found = new IntList();
        getAllFrom(root, key, found);
        return found.iterator();
    }

    private static void getAllFrom(Node node, int key, IntList found) {
        int first = node.firstAbove(key);
        if (node.isLeaf()) {
            found.addAll(node.rows, first, node.count);
            return;
        }
        for (int at = first; at < node.count; at++) {
            getAllFrom(node.children[at], key, found);
            found.add(node.rows[at]);
        }
        getAllFrom(node.children[node.count], key, found);
    }
}
