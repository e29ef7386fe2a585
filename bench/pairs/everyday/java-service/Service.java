import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;

/** Answers with a number that is computed under one lock. */
public class Service {
    private static final Object LOCK = new Object();
    private static long total;

    private static long compute() {
        long sum = 0;
        for (int i = 1; i < 400_000; i++) {
            sum += Long.bitCount(i * 0x9E3779B97F4A7C15L) % i;
        }
        return sum;
    }

    public static void main(String[] arguments) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 64);
        server.createContext("/", exchange -> {
            byte[] body;
            synchronized (LOCK) {
                total += compute();
                body = Long.toString(total).getBytes(StandardCharsets.UTF_8);
            }
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.start();
    }
}
