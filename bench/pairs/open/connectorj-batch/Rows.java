import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.Statement;

/** Inserts 10,000 rows as one JDBC batch, in one transaction. */
public class Rows {
    public static void main(String[] arguments) throws Exception {
        String address = "jdbc:mysql://127.0.0.1:" + System.getenv("PORT") + "/mysql?user=root&sslMode=DISABLED" + arguments[0];
        try (Connection connection = DriverManager.getConnection(address)) {
            try (Statement statement = connection.createStatement()) {
                statement.execute("create table numbers (n int primary key, word varchar(20)) engine=innodb");
            }
            connection.setAutoCommit(false);
            try (PreparedStatement insert = connection.prepareStatement("insert into numbers values (?, ?)")) {
                for (int n = 0; n < 10000; n++) {
                    insert.setInt(1, n);
                    insert.setString(2, "word " + n);
                    insert.addBatch();
                }
                insert.executeBatch();
            }
            connection.commit();
        }
    }
}
