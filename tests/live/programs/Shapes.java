/** Methods that look the same to the processor while they are interpreted, and sleep for different times. */
public class Shapes {
    static void two() throws Exception {
        Thread.sleep(2);
    }

    static void five() throws Exception {
        Thread.sleep(5);
    }

    static void nine() throws Exception {
        Thread.sleep(9);
    }

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 40; i++) {
            two();
            five();
            nine();
        }
    }
}
