/**
 * A back end with RavenDB's Java client. Reads numbers from its input; for each it stores so many
 * users, one in a session, and prints their ids, then a dot. Arguments: URL, database.
 */
import java.util.Scanner;
import net.ravendb.client.documents.DocumentStore;
import net.ravendb.client.documents.session.IDocumentSession;

public class RavenTaker {
  public static class User {
    private String id;
    public String getId() { return id; }
    public void setId(String id) { this.id = id; }
  }

  public static void main(String[] args) {
    try (DocumentStore store = new DocumentStore(args[0], args[1])) {
      store.initialize();
      System.out.println(".");
      Scanner input = new Scanner(System.in);
      while (input.hasNextInt()) {
        int count = input.nextInt();
        for (int i = 0; i < count; i++) {
          try (IDocumentSession session = store.openSession()) {
            User user = new User();
            session.store(user);
            System.out.println(user.getId());
          }
        }
        System.out.println(".");
      }
    }
  }
}
