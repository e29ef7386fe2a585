import java.util.PrimitiveIterator;
import java.util.Random;

/**
 * Asks a table of 5,000 rows for the first ten whose indexed column is greater than a number.
 *
 *   java Queries array|nested|single|typed|flat|leaves COUNT
 */
public class Queries {
    private static final int ROWS = 5_000;
    private static final int WANTED = 10;

    private final String[] table = new String[ROWS];
    private final Index index;

    Queries(Index index, Random chance) {
        this.index = index;
        for (int row = 0; row < ROWS; row++) {
            table[row] = "row " + row;
            index.insert(chance.nextInt(ROWS), row);
        }
    }

    private static Index made(String kind) {
        return switch (kind) {
            case "array" -> new SortedArray();
            case "nested" -> new NestedChains();
            case "single" -> new SingleRows();
            case "typed" -> new TypedChains();
            case "flat" -> new Flattened();
            case "leaves" -> new LeavesApart();
            default -> throw new IllegalArgumentException(kind);
        };
    }

    /** How many characters the first rows have whose key is greater. */
    private long select(int key) {
        long characters = 0;
        PrimitiveIterator.OfInt rows = index.getAllFrom(key);
        for (int taken = 0; taken < WANTED && rows.hasNext(); taken++) {
            characters += table[rows.nextInt()].length();
        }
        return characters;
    }

    public static void main(String[] arguments) {
        Random chance = new Random(42);
        Queries queries = new Queries(made(arguments[0]), chance);
        int count = Integer.parseInt(arguments[1]);
        long characters = 0;
        for (int query = 0; query < count; query++) {
            characters += queries.select(chance.nextInt(ROWS));
        }
        System.out.println(characters);
    }
}
