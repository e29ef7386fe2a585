import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;

public class Rows {
    public static void main(String[] arguments) throws Exception {
        try (Connection connection = DriverManager.getConnection("jdbc:derby:rows;create=true")) {
            connection.createStatement().execute("create table t(a int, b varchar(40))");
            connection.setAutoCommit(Boolean.parseBoolean(arguments[0]));
            PreparedStatement insert = connection.prepareStatement("insert into t values (?, ?)");
            for (int number = 0; number < 6000; number++) {
                insert.setInt(1, number);
                insert.setString(2, "row " + number);
                insert.executeUpdate();
            }
            if (!connection.getAutoCommit())
                connection.commit();
        }
    }
}
