/**
 * A back end with RavenDB's Java client: it stores users, and prints their ids.
 * Arguments: URL, database, number of users.
 */
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
      for (int i = 0; i < Integer.parseInt(args[2]); i++) {
        try (IDocumentSession session = store.openSession()) {
          User user = new User();
          session.store(user);
          System.out.println(user.getId());
        }
      }
    }
  }
}
