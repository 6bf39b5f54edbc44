import java.nio.file.Path;
import org.apache.solr.client.solrj.embedded.JettySolrRunner;

/** Serves a Solr home over HTTP until the standard input ends; prints the port. */
public class SolrServer {
  public static void main(String[] arguments) throws Exception {
    JettySolrRunner server = new JettySolrRunner(Path.of(arguments[0]).toString(), "/solr", 0);
    server.start();
    System.out.println("port " + server.getLocalPort());
    while (System.in.read() >= 0) {
    }
    server.stop();
    System.exit(0);
  }
}
