import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Random;

/**
 * The same queries of the database engine that this retells, in its release of November 2003.
 *
 *   java RealAxion array|btree COUNT
 */
public class RealAxion {
    private static final int ROWS = 5_000;
    private static final int WANTED = 10;

    private static void fill(Connection database, String kind, Random chance) throws SQLException {
        try (Statement make = database.createStatement()) {
            make.execute("create table t (k integer, v varchar(20))");
            make.execute("create " + kind + " index t_k on t (k)");
        }
        try (PreparedStatement insert = database.prepareStatement("insert into t values (?, ?)")) {
            for (int row = 0; row < ROWS; row++) {
                insert.setInt(1, chance.nextInt(ROWS));
                insert.setString(2, "row " + row);
                insert.executeUpdate();
            }
        }
    }

    private static long select(PreparedStatement query, int key) throws SQLException {
        query.setInt(1, key);
        long characters = 0;
        try (ResultSet rows = query.executeQuery()) {
            for (int taken = 0; taken < WANTED && rows.next(); taken++) {
                characters += rows.getString(1).length();
            }
        }
        return characters;
    }

    public static void main(String[] arguments) throws Exception {
        Class.forName("org.axiondb.jdbc.AxionDriver");
        Random chance = new Random(42);
        int count = Integer.parseInt(arguments[1]);
        long characters = 0;
        try (Connection database = DriverManager.getConnection("jdbc:axiondb:sequences")) {
            fill(database, arguments[0], chance);
            try (PreparedStatement query = database.prepareStatement("select v from t where k > ?")) {
                for (int asked = 0; asked < count; asked++) {
                    characters += select(query, chance.nextInt(ROWS));
                }
            }
        }
        System.out.println(characters);
    }
}
