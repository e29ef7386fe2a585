import java.sql.*;

/** The work is 4,000 short queries; a second connection asks long ones as long as that takes. */
public class Queries {
    static final String DATABASE = "jdbc:h2:mem:t;DB_CLOSE_DELAY=-1";

    static void longQueries() {
        try (Connection connection = DriverManager.getConnection(DATABASE)) {
            while (true) {
                connection.createStatement().executeQuery(
                    "select count(*) from t a, t b, system_range(1, 2) s where mod(a.id * b.id + s.x, 7) = 3").next();
            }
        } catch (SQLException error) {
            throw new RuntimeException(error);
        }
    }

    public static void main(String[] arguments) throws Exception {
        try (Connection connection = DriverManager.getConnection(DATABASE)) {
            connection.createStatement().execute("create table t(id int primary key, v int)");
            connection.createStatement().execute("insert into t select x, x from system_range(1, 1000)");
            Thread other = new Thread(Queries::longQueries);
            other.setDaemon(true);
            other.start();
            Thread.sleep(50);
            PreparedStatement query = connection.prepareStatement("select v from t where id = ?");
            for (int number = 0; number < 4000; number++) {
                query.setInt(1, 1 + number % 1000);
                query.executeQuery().next();
            }
        }
        Runtime.getRuntime().halt(0);
    }
}
