import java.util.PrimitiveIterator;

/** Finds the rows of a table by a column of whole numbers. */
interface Index {
    void insert(int key, int row);

    /** The rows whose key is greater, in the order of their keys. */
    PrimitiveIterator.OfInt getAllFrom(int key);
}
