import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.Proxy;
import java.net.URI;
import java.nio.charset.StandardCharsets;

/** Adds up the lengths of sequences, by a call of the remote interface for each: java Client PORT PATH COUNT. */
public class Client {
    static long remoteCall(URI server, long gi) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) server.toURL().openConnection(Proxy.NO_PROXY);
        connection.setDoOutput(true);
        connection.setRequestMethod("POST");
        byte[] body = ("fnct=SHoundGetSequenceLength&gi=" + gi).getBytes(StandardCharsets.US_ASCII);
        connection.getOutputStream().write(body);
        try (InputStream answer = connection.getInputStream()) {
            return Long.parseLong(new String(answer.readAllBytes(), StandardCharsets.US_ASCII).strip());
        }
    }

    public static void main(String[] arguments) throws IOException {
        URI server = URI.create("http://127.0.0.1:" + arguments[0] + arguments[1]);
        long count = Long.parseLong(arguments[2]);
        long sum = 0;
        for (long number = 0; number < count; number++) {
            sum += remoteCall(server, number * 801 % 50000 * 3 + 1);
        }
        System.out.println(sum);
    }
}
