import org.apache.http.client.methods.CloseableHttpResponse;
import org.apache.http.client.methods.HttpGet;
import org.apache.http.impl.client.CloseableHttpClient;
import org.apache.http.impl.client.HttpClients;
import org.apache.http.util.EntityUtils;

public class Ask {
    public static void main(String[] arguments) throws Exception {
        try (CloseableHttpClient client = HttpClients.createDefault()) {
            for (int number = 0; number < 1500; number++) {
                try (CloseableHttpResponse response = client.execute(new HttpGet("http://127.0.0.1:18500/"))) {
                    EntityUtils.consume(response.getEntity());
                }
            }
        }
    }
}
