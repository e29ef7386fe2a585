import java.io.File;
import java.io.FileWriter;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.commons.io.input.Tailer;
import org.apache.commons.io.input.TailerListenerAdapter;

/** Writes a line to a log once its follower has read the line before to the file's end, four times. */
public class Follow {
    public static void main(String[] arguments) throws Exception {
        File log = new File("app.log");
        LinkedBlockingQueue<String> seen = new LinkedBlockingQueue<>();
        TailerListenerAdapter listener = new TailerListenerAdapter() {
            private String last;

            @Override
            public void handle(String line) {
                last = line;
            }

            @Override
            public void endOfFileReached() {
                if (last != null) {
                    seen.add(last);
                    last = null;
                }
            }
        };
        try (FileWriter writer = new FileWriter(log)) {
            Tailer tailer = arguments.length > 0 ? new Tailer(log, listener, Long.parseLong(arguments[0])) : new Tailer(log, listener);
            Thread follower = new Thread(tailer, "follower");
            follower.setDaemon(true);
            follower.start();
            for (int n = 0; n < 4; n++) {
                writer.write("line " + n + "\n");
                writer.flush();
                seen.take();
            }
        }
    }
}
