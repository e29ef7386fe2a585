import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/** Logs 1,500,000 readings with Log4j, to the appender that the configuration file names. */
public class Readings {
    private static final Logger LOG = LogManager.getLogger(Readings.class);

    static void log(int readings) {
        for (int reading = 0; reading < readings; reading++)
            LOG.info("the meter has been read");
    }

    public static void main(String[] arguments) {
        log(1_500_000);
        LogManager.shutdown();
    }
}
