import java.io.*;

public class Numbers {
    static long sum(DataInputStream input) throws IOException {
        long sum = 0;
        for (int number = 0; number < 500000; number++)
            sum += input.readInt();
        return sum;
    }

    public static void main(String[] arguments) throws IOException {
        InputStream file = new FileInputStream(arguments[0]);
        if (arguments.length > 1)
            file = new BufferedInputStream(file);
        System.out.println(sum(new DataInputStream(file)));
    }
}
