/** A B-tree of keys with their rows. How its rows are handed out is what its kinds differ in. */
abstract class BTree implements Index {
    /** But for the root, a node has at least so many keys less one, and at most twice as many less one. */
    private static final int DEGREE = 10;

    static final class Node {
        final int[] keys = new int[2 * DEGREE - 1];
        final int[] rows = new int[2 * DEGREE - 1];
        final Node[] children;
        int count;

        Node(boolean isLeaf) {
            children = isLeaf ? null : new Node[2 * DEGREE];
        }

        boolean isLeaf() {
            return children == null;
        }

        boolean isFull() {
            return count == keys.length;
        }

        /** Where the first key is that is greater. */
        int firstAbove(int key) {
            int at = 0;
            while (at < count && keys[at] <= key) {
                at++;
            }
            return at;
        }

        /** Makes room for a key, and for a child on its right. */
        private void openAt(int at) {
            System.arraycopy(keys, at, keys, at + 1, count - at);
            System.arraycopy(rows, at, rows, at + 1, count - at);
            if (!isLeaf()) {
                System.arraycopy(children, at + 1, children, at + 2, count - at);
            }
            count++;
        }

        /** A full child becomes two, and its middle key ours. */
        private void splitChild(int at) {
            Node left = children[at];
            Node right = new Node(left.isLeaf());
            right.count = DEGREE - 1;
            System.arraycopy(left.keys, DEGREE, right.keys, 0, DEGREE - 1);
            System.arraycopy(left.rows, DEGREE, right.rows, 0, DEGREE - 1);
            if (!left.isLeaf()) {
                System.arraycopy(left.children, DEGREE, right.children, 0, DEGREE);
            }
            left.count = DEGREE - 1;
            openAt(at);
            keys[at] = left.keys[DEGREE - 1];
            rows[at] = left.rows[DEGREE - 1];
            children[at + 1] = right;
        }
    }

    Node root = new Node(true);

    @Override
    public void insert(int key, int row) {
        if (root.isFull()) {
            Node above = new Node(false);
            above.children[0] = root;
            above.splitChild(0);
            root = above;
        }
        Node node = root;
        while (!node.isLeaf()) {
            int at = node.firstAbove(key);
            if (node.children[at].isFull()) {
                node.splitChild(at);
                at = node.firstAbove(key);
            }
            node = node.children[at];
        }
        int at = node.firstAbove(key);
        node.openAt(at);
        node.keys[at] = key;
        node.rows[at] = row;
    }
}
