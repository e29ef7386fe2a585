import com.hazelcast.config.Config;
import com.hazelcast.config.JoinConfig;
import com.hazelcast.core.Hazelcast;
import com.hazelcast.core.HazelcastInstance;

/** A service of one member puts a few values into its map; "alone" says that there are no others. */
public class Start {
    public static void main(String[] words) {
        Config config = new Config();
        config.setProperty("hazelcast.phone.home.enabled", "false");
        config.setProperty("hazelcast.logging.type", "none");
        config.getNetworkConfig().getInterfaces().setEnabled(true).addInterface("127.0.0.1");
        JoinConfig join = config.getNetworkConfig().getJoin();
        join.getAutoDetectionConfig().setEnabled(false);
        join.getMulticastConfig().setEnabled(words.length == 0);
        HazelcastInstance member = Hazelcast.newHazelcastInstance(config);
        for (int n = 0; n < 100; n++) {
            member.getMap("prices").put(n, "price " + n);
        }
        System.out.println(member.getMap("prices").size());
        member.shutdown();
    }
}
