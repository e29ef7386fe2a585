import static org.awaitility.Awaitility.await;

import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Hands in 20 orders; each is done 5 ms later, on another thread. Waits for each before the next. */
public class Orders {
    public static void main(String[] args) {
        ScheduledExecutorService service = Executors.newSingleThreadScheduledExecutor();
        AtomicInteger done = new AtomicInteger();
        for (int order = 1; order <= 20; order++) {
            int wanted = order;
            service.schedule(done::incrementAndGet, 5, TimeUnit.MILLISECONDS);
            if (args.length > 0) {
                await().pollDelay(0, TimeUnit.MILLISECONDS).pollInterval(2, TimeUnit.MILLISECONDS)
                    .until(() -> done.get() == wanted);
            } else {
                await().until(() -> done.get() == wanted);
            }
        }
        service.shutdown();
    }
}
