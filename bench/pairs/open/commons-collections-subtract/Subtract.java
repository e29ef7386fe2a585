import java.util.ArrayList;
import java.util.List;

public class Subtract {
    public static void main(String[] arguments) throws Exception {
        List<Integer> first = new ArrayList<>(), second = new ArrayList<>();
        for (int number = 0; number < 60000; number++) {
            first.add(number);
            second.add(60000 - number);
        }
        var subtract = Class.forName(arguments[0]).getMethod("subtract", List.class, List.class);
        System.out.println(((List<?>) subtract.invoke(null, first, second)).size());
    }
}
