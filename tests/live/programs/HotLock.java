import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.locks.ReentrantLock;

/** Four threads that ask a peer, twenty questions each: in a monitor or under a lock (fires), or each as it likes (silent). */
public class HotLock {
    static final ReentrantLock lock = new ReentrantLock();

    static byte[] question() {
        var question = ByteBuffer.allocate(28).order(ByteOrder.LITTLE_ENDIAN);
        return question.putInt(8, 10).putInt(24, -1).array();
    }

    static void ask(Socket peer) throws Exception {
        peer.getOutputStream().write(question());
        if (peer.getInputStream().readNBytes(10).length != 10) throw new Exception("no answer");
    }

    static synchronized void askInMonitor(Socket peer) throws Exception {
        ask(peer);
    }

    static void askUnderLock(Socket peer) throws Exception {
        lock.lock();
        try {
            ask(peer);
        } finally {
            lock.unlock();
        }
    }

    static void work(String form) {
        try (var peer = new Socket("10.77.0.2", 7000)) {
            for (int i = 0; i < 20; i++) {
                switch (form) {
                    case "monitor" -> askInMonitor(peer);
                    case "lock" -> askUnderLock(peer);
                    default -> ask(peer);
                }
            }
        } catch (Exception error) {
            throw new RuntimeException(error);
        }
    }

    public static void main(String[] arguments) throws Exception {
        var threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> work(arguments[1].equals("fires") ? arguments[0] : "none"));
            threads[i].start();
        }
        for (var thread : threads) thread.join();
    }
}
