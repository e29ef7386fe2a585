import java.text.SimpleDateFormat;
import java.util.*;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/** Slow functions of the JDK and what replaces them, measured as bench/faster.py does: `java Forms.java`, or `java Forms.java run NAME`. */
class Forms {
    static volatile Object kept;
    record Form(Supplier<Object> slow, List<Supplier<Object>> others) {}

    static final class Refused extends Exception {
        Refused(boolean hasStack) { super("refused", null, false, hasStack); }
    }

    static int deep(int n, boolean hasStack) throws Refused {
        if (n > 0) return 1 + deep(n - 1, hasStack);
        throw new Refused(hasStack);
    }

    static int refused(boolean hasStack) {
        int many = 0;
        for (int n = 0; n < 2000; n++) {
            try { many += deep(n % 40, hasStack); } catch (Refused e) { many++; }
        }
        return many;
    }

    static String numbers() {
        var text = new StringBuilder();
        for (int n = 0; n < 20000; n++) text.append(n * 37).append(n % 10 == 9 ? '\n' : ' ');
        return text.toString();
    }

    static Map<String, Form> forms() {
        var forms = new LinkedHashMap<String, Form>();
        forms.put("format", new Form(() -> {
            int sum = 0;
            for (int n = 0; n < 2000; n++) sum += String.format("%d: %s at %d", n, "name", n * 3).length();
            return sum;
        }, List.of(() -> {
            int sum = 0;
            for (int n = 0; n < 2000; n++) sum += new StringBuilder().append(n).append(": ").append("name").append(" at ").append(n * 3).toString().length();
            return sum;
        })));
        forms.put("exceptions", new Form(() -> refused(true), List.of(() -> refused(false))));
        var text = numbers();
        forms.put("scanner", new Form(() -> {
            var scanner = new Scanner(text);
            long sum = 0;
            while (scanner.hasNextInt()) sum += scanner.nextInt();
            return sum;
        }, List.of(() -> {
            long sum = 0;
            var words = new StringTokenizer(text);
            while (words.hasMoreTokens()) sum += Integer.parseInt(words.nextToken());
            return sum;
        })));
        for (int size : new int[] {100, 1000}) {
            var list = new ArrayList<String>();
            for (int n = 0; n < size; n++) list.add("key-" + n);
            var set = new HashSet<>(list);
            forms.put("list_contains_" + size, new Form(() -> {
                int found = 0;
                for (int n = 0; n < 2 * size; n++) found += list.contains("key-" + n) ? 1 : 0;
                return found;
            }, List.of(() -> {
                int found = 0;
                for (int n = 0; n < 2 * size; n++) found += set.contains("key-" + n) ? 1 : 0;
                return found;
            })));
            var linked = new LinkedList<>(list);
            forms.put("linked_get_" + size, new Form(() -> {
                int sum = 0;
                for (int n = 0; n < size; n++) sum += linked.get(n).length();
                return sum;
            }, List.of(() -> {
                int sum = 0;
                for (int n = 0; n < size; n++) sum += list.get(n).length();
                return sum;
            })));
        }
        forms.put("pattern_once", new Form(() -> Pattern.compile("(\\d+)-([a-z]+)@(\\w+)\\.com"), null));
        forms.put("date_format_once", new Form(() -> new SimpleDateFormat("yyyy-MM-dd HH:mm:ss"), null));
        return forms;
    }

    static double seconds(Supplier<Object> form) {
        long start = System.nanoTime();
        kept = form.get();
        return (System.nanoTime() - start) / 1e9;
    }

    static double median(List<Double> all) {
        Collections.sort(all);
        return all.get(all.size() / 2);
    }

    public static void main(String[] args) {
        var forms = forms();
        if (args.length == 2) {
            var form = forms.get(args[1]).slow;
            long until = System.nanoTime() + 2_000_000_000L;
            while (System.nanoTime() < until) kept = form.get();
            return;
        }
        forms.forEach((name, form) -> {
            for (int n = 0; n < 300; n++) seconds(form.slow);
            if (form.others == null) {
                for (int n = 0; n < 20000; n++) seconds(form.slow);
                var each = new ArrayList<Double>();
                for (int n = 0; n < 1001; n++) each.add(seconds(form.slow));
                System.out.printf("%-28s one takes %.4f ms%n", name, median(each) * 1e3);
                return;
            }
            for (var other : form.others) {
                for (int n = 0; n < 300; n++) seconds(other);
                var ratios = new ArrayList<Double>();
                for (int n = 0; n < 51; n++) ratios.add(seconds(form.slow) / seconds(other));
                System.out.printf("%-28s %8.2f%n", name, median(ratios));
            }
        });
    }
}
