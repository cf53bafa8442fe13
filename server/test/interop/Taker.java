/**
 * A back end with Hibernate: four threads store orders through one SessionFactory, as an application does, and the ids are printed.
 * Arguments: JDBC URL, ids per thread, class of the generator, its parameters as name=value.
 */
import java.util.HashMap;
import java.util.Map;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;

public class Taker {
  private static final int THREADS = 4;
  private static final int PER_TRANSACTION = 10;

  public static void main(String[] args) throws Exception {
    StringBuilder parameters = new StringBuilder();
    for (int i = 3; i < args.length; i++) {
      String[] parameter = args[i].split("=", 2);
      parameters.append("<param name='" + parameter[0] + "'>" + parameter[1] + "</param>");
    }
    final SessionFactory factory = new Configuration()
        .setProperty("hibernate.connection.driver_class", "org.postgresql.Driver")
        .setProperty("hibernate.connection.url", args[0])
        .setProperty("hibernate.connection.pool_size", "16")
        .setProperty("hibernate.dialect", "org.hibernate.dialect.PostgreSQLDialect")
        .setProperty("hibernate.default_entity_mode", "dynamic-map")
        .addXML("<!DOCTYPE hibernate-mapping PUBLIC '-//Hibernate/Hibernate Mapping DTD 3.0//EN' "
            + "'http://www.hibernate.org/dtd/hibernate-mapping-3.0.dtd'>"
            + "<hibernate-mapping><class entity-name='Order' table='orders' lazy='false'><id name='id' type='long' column='id'>"
            + "<generator class='" + args[2] + "'>" + parameters + "</generator></id></class></hibernate-mapping>")
        .buildSessionFactory();
    final int count = Integer.parseInt(args[1]);
    Thread[] threads = new Thread[count == 1 ? 1 : THREADS];
    for (int i = 0; i < threads.length; i++) {
      threads[i] = new Thread() {
        @Override
        public void run() {
          for (int stored = 0; stored < count; stored += PER_TRANSACTION) store(factory, Math.min(PER_TRANSACTION, count - stored));
        }
      };
      threads[i].start();
    }
    for (Thread thread : threads) thread.join();
    factory.close();
  }

  private static void store(SessionFactory factory, int count) {
    Session session = factory.openSession();
    session.beginTransaction();
    for (int i = 0; i < count; i++) {
      Map<String, Object> order = new HashMap<String, Object>();
      System.out.println(session.save("Order", order));
    }
    session.getTransaction().commit();
    session.close();
  }
}
