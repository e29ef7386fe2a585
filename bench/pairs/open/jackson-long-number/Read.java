import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;

public class Read {
    public static void main(String[] arguments) throws Exception {
        try (JsonParser parser = new JsonFactory().createParser("1".repeat(300000) + ".5 ")) {
            parser.nextToken();
            System.out.println(parser.getDecimalValue().precision());
        } catch (JsonProcessingException refused) {
            System.out.println("refused");
        }
    }
}
