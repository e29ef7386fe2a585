import java.net.InetAddress;
import java.util.List;

import org.jgroups.JChannel;
import org.jgroups.PhysicalAddress;
import org.jgroups.protocols.TCP;
import org.jgroups.protocols.TCPPING;
import org.jgroups.protocols.UNICAST3;
import org.jgroups.protocols.pbcast.GMS;
import org.jgroups.protocols.pbcast.NAKACK2;
import org.jgroups.protocols.pbcast.STABLE;
import org.jgroups.stack.IpAddress;

/** The first member of a cluster of two, as a service or its test starts it. */
public class Join {
    public static void main(String[] words) throws Exception {
        List<PhysicalAddress> hosts = List.of(new IpAddress("127.0.0.1", 18474), new IpAddress("127.0.0.1", 18475));
        GMS membership = new GMS();
        if (words.length > 0) {
            membership.setJoinTimeout(Long.parseLong(words[0]));
        }
        JChannel channel = new JChannel(
            new TCP().setBindAddress(InetAddress.getByName("127.0.0.1")).setBindPort(18474),
            new TCPPING().setInitialHosts2(hosts),
            new NAKACK2(), new UNICAST3(), new STABLE(), membership);
        channel.connect("orders");
        System.out.println(channel.getView());
        channel.close();
    }
}
