import java.nio.file.Path;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StringField;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.store.FSDirectory;

public class Index {
    public static void main(String[] arguments) throws Exception {
        int together = Integer.parseInt(arguments[0]);
        var configuration = new IndexWriterConfig();
        try (var writer = new IndexWriter(FSDirectory.open(Path.of("index")), configuration)) {
            for (int number = 1; number <= 120; number++) {
                Document document = new Document();
                document.add(new StringField("id", "document " + number, Field.Store.YES));
                writer.addDocument(document);
                if (number % together == 0)
                    writer.commit();
            }
        }
    }
}
