import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Asks the remote store for the lengths of sequences.
 *
 *   java Client PORT kept|closed|old IDENTIFIER...
 *
 * kept speaks HTTP/1.1 and says nothing about the connection, closed asks for its end, old speaks HTTP/1.0.
 */
public class Client {
    private final int port;
    private final String version;
    private final String header;

    Client(int port, String manner) {
        this.port = port;
        version = manner.equals("old") ? "HTTP/1.0" : "HTTP/1.1";
        header = manner.equals("closed") ? "Connection: close\r\n" : "";
    }

    /** One call: the name of a function with its argument goes out, text comes back. */
    String call(String function, String argument) {
        String body = "fnct=" + function + "&gi=" + argument;
        String request = "POST /cgi-bin/seqrem " + version + "\r\n"
                + "Host: localhost\r\n"
                + "Content-Type: application/x-www-form-urlencoded\r\n"
                + "Content-Length: " + body.length() + "\r\n"
                + header + "\r\n" + body;
        try (Socket socket = new Socket("127.0.0.1", port)) {
            socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
            return answerOf(readAnswer(socket.getInputStream()));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static String readAnswer(InputStream stream) throws IOException {
        return new String(stream.readAllBytes(), StandardCharsets.US_ASCII);
    }

    /** The line that the store answered with; an answer in pieces has their lengths around it. */
    private static String answerOf(String response) {
        for (String line : response.split("\r?\n")) {
            if (line.startsWith("SEQHOUND")) {
                return line.substring("SEQHOUND ".length());
            }
        }
        throw new IllegalStateException("no answer in: " + response);
    }

    public static void main(String[] arguments) {
        Client client = new Client(Integer.parseInt(arguments[0]), arguments[1]);
        List<String> identifiers = List.of(arguments).subList(2, arguments.length);
        ExecutorService callers = Executors.newFixedThreadPool(identifiers.size());
        List<CompletableFuture<String>> answers = identifiers.stream()
                .map(id -> CompletableFuture.supplyAsync(() -> client.call("SHoundGetSequenceLength", id), callers))
                .toList();
        for (int at = 0; at < answers.size(); at++) {
            System.out.println(identifiers.get(at) + " " + answers.get(at).join());
        }
        callers.shutdown();
    }
}
