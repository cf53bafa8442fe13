/**
 * A back end with Hibernate. Reads lines from its input. For a number, four threads store so many
 * orders through one SessionFactory, as an application does, and print their ids. After "=" stand
 * ids of orders that a device has made. After "merge" and "insert" stand such ids, too, and it
 * prints what Hibernate makes of them by these methods. Prints a dot when it is done.
 * Arguments: JDBC URL; "create" for a first process, which makes the schema; what maps the orders:
 * the name of a class below, or a generator of a mapping file; then the generator's parameters, or
 * for a class Hibernate's settings, as name=value.
 */
import java.io.ByteArrayInputStream;
import java.util.HashMap;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.atomic.AtomicInteger;
import javax.persistence.Entity;
import javax.persistence.GeneratedValue;
import javax.persistence.GenerationType;
import javax.persistence.Id;
import javax.persistence.SequenceGenerator;
import javax.persistence.Table;
import javax.persistence.TableGenerator;
import org.hibernate.ReplicationMode;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.StatelessSession;
import org.hibernate.cfg.Configuration;

public class HibernateTaker {
  private static final int THREADS = 4;
  private static final int PER_TRANSACTION = 10;

  interface Order {
    Long getId();
  }

  /** As most people write it: every name and size is Hibernate's. */
  @Entity(name = "Order")
  @Table(name = "orders")
  public static class DefaultSequence implements Order {
    @Id @GeneratedValue(strategy = GenerationType.SEQUENCE)
    Long id;
    public Long getId() { return id; }
  }

  @Entity(name = "Order")
  @Table(name = "orders")
  public static class OwnSequence implements Order {
    @Id @GeneratedValue(strategy = GenerationType.SEQUENCE, generator = "ids")
    @SequenceGenerator(name = "ids", sequenceName = "order_seq", allocationSize = 10)
    Long id;
    public Long getId() { return id; }
  }

  @Entity(name = "Order")
  @Table(name = "orders")
  public static class DefaultTable implements Order {
    @Id @GeneratedValue(strategy = GenerationType.TABLE)
    Long id;
    public Long getId() { return id; }
  }

  /** Hibernate names the table after the generator, and the row after the entity's table. */
  @Entity(name = "Order")
  @Table(name = "orders")
  public static class NamedTable implements Order {
    @Id @GeneratedValue(strategy = GenerationType.TABLE, generator = "order_ids")
    @TableGenerator(name = "order_ids")
    Long id;
    public Long getId() { return id; }
  }

  @Entity(name = "Order")
  @Table(name = "orders")
  public static class OwnTable implements Order {
    @Id @GeneratedValue(strategy = GenerationType.TABLE, generator = "ids")
    @TableGenerator(
        name = "ids", table = "id_rows", pkColumnName = "kind", valueColumnName = "last_id",
        pkColumnValue = "Order", allocationSize = 10)
    Long id;
    public Long getId() { return id; }
  }

  private final SessionFactory factory;
  private final Class<?> type;

  HibernateTaker(String[] args) {
    Map<String, String> parameters = new HashMap<String, String>();
    for (int i = 3; i < args.length; i++)
      parameters.put(args[i].split("=")[0], args[i].split("=")[1]);
    boolean isMaria = args[0].startsWith("jdbc:mariadb");
    Configuration configuration = new Configuration()
        .setProperty(
            "hibernate.connection.driver_class",
            isMaria ? "org.mariadb.jdbc.Driver" : "org.postgresql.Driver")
        .setProperty("hibernate.connection.url", args[0])
        .setProperty("hibernate.connection.pool_size", "16")
        .setProperty(
            "hibernate.dialect",
            "org.hibernate.dialect." + (isMaria ? "MariaDBDialect" : "PostgreSQLDialect"));
    if (args[1].equals("create")) configuration.setProperty("hibernate.hbm2ddl.auto", "create");
    type = mapped(args[2]);
    if (type == null)
      configuration.addInputStream(
          new ByteArrayInputStream(mapping(args[2], parameters).getBytes()));
    else {
      configuration.addAnnotatedClass(type);
      for (Map.Entry<String, String> one : parameters.entrySet())
        configuration.setProperty(one.getKey(), one.getValue());
    }
    factory = configuration.buildSessionFactory();
  }

  private static Class<?> mapped(String name) {
    for (Class<?> each : HibernateTaker.class.getDeclaredClasses())
      if (each.getSimpleName().equals(name)) return each;
    return null;
  }

  private static String mapping(String generator, Map<String, String> parameters) {
    StringBuilder text = new StringBuilder();
    for (Map.Entry<String, String> one : parameters.entrySet())
      text.append("<param name='" + one.getKey() + "'>" + one.getValue() + "</param>");
    return "<!DOCTYPE hibernate-mapping PUBLIC '-//Hibernate/Hibernate Mapping DTD 3.0//EN' "
        + "'http://www.hibernate.org/dtd/hibernate-mapping-3.0.dtd'>"
        + "<hibernate-mapping><class entity-name='Order' table='orders' lazy='false'>"
        + "<id name='id' type='long' column='id'>"
        + "<generator class='" + generator + "'>" + text + "</generator>"
        + "</id></class></hibernate-mapping>";
  }

  public static void main(String[] args) throws Exception {
    HibernateTaker taker = new HibernateTaker(args);
    System.out.println(".");
    Scanner input = new Scanner(System.in);
    while (input.hasNextLine()) {
      String[] words = input.nextLine().trim().split(" ");
      if (words.length == 1) taker.take(Integer.parseInt(words[0]));
      for (int i = 1; i < words.length; i++)
        if (words[0].equals("=")) taker.storeGiven(Long.valueOf(words[i]));
        else System.out.println(taker.storedAs(words[0], Long.valueOf(words[i])));
      System.out.println(".");
    }
    taker.factory.close();
  }

  private void take(int count) throws Exception {
    final AtomicInteger left = new AtomicInteger(count);
    Thread[] threads = new Thread[THREADS];
    for (int i = 0; i < THREADS; i++) {
      threads[i] = new Thread() {
        @Override
        public void run() {
          for (;;) {
            int rest = left.getAndAdd(-PER_TRANSACTION);
            if (rest <= 0) return;
            try {
              store(Math.min(rest, PER_TRANSACTION));
            } catch (Throwable failure) {
              failure.printStackTrace();
              System.exit(1);
            }
          }
        }
      };
      threads[i].start();
    }
    for (Thread thread : threads) thread.join();
  }

  private void store(int count) throws Exception {
    Session session = factory.openSession();
    session.beginTransaction();
    for (int i = 0; i < count; i++)
      System.out.println(type == null ? storeMap(session) : storeObject(session));
    System.out.flush();
    session.getTransaction().commit();
    session.close();
  }

  private Order given(Long id) throws Exception {
    Order order = (Order) type.getDeclaredConstructor().newInstance();
    type.getDeclaredField("id").set(order, id);
    return order;
  }

  private void storeGiven(Long id) throws Exception {
    Session session = factory.openSession();
    session.beginTransaction();
    session.replicate(given(id), ReplicationMode.EXCEPTION);
    session.getTransaction().commit();
    session.close();
  }

  /** @return the id that the row gets, or the exception */
  private Object storedAs(String method, Long id) throws Exception {
    Order order = given(id);
    Session session = factory.openSession();
    StatelessSession stateless = factory.openStatelessSession();
    try {
      if (method.equals("merge")) {
        session.beginTransaction();
        order = (Order) session.merge(order);
        session.getTransaction().commit();
      } else {
        stateless.beginTransaction();
        stateless.insert(order);
        stateless.getTransaction().commit();
      }
      return order.getId();
    } catch (RuntimeException failure) {
      return failure.getClass().getSimpleName();
    } finally {
      session.close();
      stateless.close();
    }
  }

  private Object storeMap(Session session) {
    Map<String, Object> order = new HashMap<String, Object>();
    session.persist("Order", order);
    return order.get("id");
  }

  private Object storeObject(Session session) throws Exception {
    Order order = (Order) type.getDeclaredConstructor().newInstance();
    session.persist(order);
    return order.getId();
  }
}
